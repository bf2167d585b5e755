//! What is told of several clusters: how far reading them is, and which namespaces some of them lack.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
};

use super::JudgedCluster;
use crate::{
    cli::{Failure, collect::ProgressLine},
    model::{Text, did_you_mean, first_of},
};

/// How many clusters or namespaces are named in one line.
const NAMED: usize = 3;

/// Returns notes on the given namespaces that some clusters lack.
///
/// # Errors
/// When all of them lack one.
pub(super) fn absent_namespaces(clusters: &[JudgedCluster]) -> Result<Vec<String>, Failure> {
    let mut lacking: BTreeMap<&str, (Vec<&str>, BTreeSet<&String>)> = BTreeMap::new();
    for cluster in clusters {
        for (namespace, near) in &cluster.absent {
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

/// Line that shows how many clusters were read so far, and which are being read.
pub(super) struct ClustersProgress {
    /// `None` where no cluster is read over a network.
    line: Option<ProgressLine>,
    all: usize,
    read: usize,
    reading: Vec<Text>,
}

impl ClustersProgress {
    /// Starts the line of so many clusters.
    pub(super) fn of(all: usize) -> Self {
        let line = (all > 0).then(ProgressLine::start);
        Self { line, all, read: 0, reading: Vec::new() }
    }

    /// Shows that a cluster is being read.
    pub(super) fn begin(&mut self, name: &Text) {
        self.reading.push(Text::clone(name));
        self.show();
    }

    /// Shows that a cluster was read, or could not be.
    pub(super) fn end(&mut self, name: &Text) {
        self.read += 1;
        self.reading.retain(|it| it != name);
        self.show();
    }

    fn show(&self) {
        let Self { line, all, read, reading } = self;
        if let Some(line) = line {
            line.say(format!(
                "{read} of {all} clusters read; reading {}",
                first_of(reading, NAMED)
            ));
        }
    }
}
