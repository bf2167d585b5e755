//! What is told of several clusters: which namespaces some of them lack.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
};

use super::{AbsentNamespaces, JudgedCluster};
use crate::{
    cli::Failure,
    model::{did_you_mean, first_of},
};

/// How many clusters or namespaces are named in one line.
const NAMED: usize = 3;

/// Returns notes on the given namespaces that some clusters lack.
///
/// # Errors
/// When all of them lack one.
pub(super) fn absent_namespaces(
    clusters: &[JudgedCluster<AbsentNamespaces>],
) -> Result<Vec<String>, Failure> {
    let mut lacking: BTreeMap<&str, (Vec<&str>, BTreeSet<&String>)> = BTreeMap::new();
    for cluster in clusters {
        for (namespace, near) in cluster.taken.iter().flatten() {
            let (names, meant) = lacking.entry(namespace).or_default();
            names.push(&cluster.name);
            meant.extend(near);
        }
    }
    let note = |(namespace, (names, near)): (&str, (Vec<&str>, BTreeSet<&String>))| {
        if names.len() < clusters.len() {
            let names = first_of(&names, NAMED);
            return Ok(format!("namespace {namespace} does not exist in {names}"));
        }
        let told = format!("no namespace {namespace} in any of these clusters");
        let near: Vec<_> = near.into_iter().take(NAMED).cloned().collect();
        let error = io::Error::new(io::ErrorKind::NotFound, told);
        Err(Failure::error(error).hint(did_you_mean(&near)))
    };
    lacking.into_iter().map(note).collect()
}
