//! Check that namespaces which the user names exist: one that does not has no findings, which is no good news.

use std::{collections::BTreeSet, io};

use super::{Failure, collect::Collected};
use crate::{
    cluster::{Cluster, Gap},
    model::{Answer, Kind, ObjectKey, Question, Text, did_you_mean, nearest},
    rules::UnreadGap,
};

impl Collected {
    /// Fails if a namespace does not exist, by lists, by what is in it, or by asking, and no volume's claim was in it.
    /// Returns gaps for namespaces of which that is unknown.
    ///
    /// # Errors
    /// When one does not exist.
    pub(super) async fn expect_namespaces<'a>(
        &mut self,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Result<Vec<Gap>, Failure> {
        let (doubts, absent) = self.find_namespaces(names).await?;
        match absent.first() {
            Some(name) => Err(self.no_namespace(name)),
            None => Ok(doubts),
        }
    }

    /// Returns gaps for namespaces of which it is unknown whether they exist, and the names of those that do not.
    ///
    /// # Errors
    /// When the cluster cannot be asked.
    pub(super) async fn find_namespaces<'a>(
        &mut self,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Result<(Vec<Gap>, Vec<&'a str>), Failure> {
        let (mut doubts, mut absent) = (Vec::new(), Vec::new());
        for name in names {
            let exists = self.namespace_exists(name).await?;
            let is_named = exists != Some(true) && is_claimed(&self.intake.cluster, name);
            match exists {
                Some(true) => {}
                Some(false) if is_named => self.notes.push(format!(
                    "namespace {name} does not exist any more; volumes of claims that were in it do"
                )),
                Some(false) => absent.push(name),
                None if is_named => {}
                None => doubts.push(self.doubt(name)),
            }
        }
        let blind = |gap: &Gap| UnreadGap { gap: gap.clone(), rules: Vec::new() };
        self.blind.extend(doubts.iter().map(blind));
        Ok((doubts, absent))
    }

    /// Whether a namespace exists; `None` where that cannot be known.
    async fn namespace_exists(&mut self, name: &str) -> Result<Option<bool>, Failure> {
        let cluster = &self.intake.cluster;
        let exists = Question::Exists(ObjectKey::cluster_wide(Kind::Namespace, name));
        match existence(cluster, name) {
            Some(known) => return Ok(Some(known)),
            None if self.live.is_none() || cluster.answers().contains_key(&exists) => {}
            None => drop(Box::pin(self.ask([exists.clone()].into())).await?),
        }
        Ok(match self.intake.cluster.answers().get(&exists) {
            Some(Answer::Yes | Answer::Is(_)) => Some(true),
            Some(Answer::No) => Some(false),
            _ => None,
        })
    }

    /// Returns the failure that a namespace does not exist, with others that may be meant.
    fn no_namespace(&self, name: &str) -> Failure {
        let place = self.this_place();
        let error =
            io::Error::new(io::ErrorKind::NotFound, format!("no namespace {name} in {place}"));
        let near = similar(&self.intake.cluster, name);
        Failure::error(error).hint(did_you_mean(&near))
    }

    /// Returns the words for the cluster or the dump that was read.
    pub(super) fn this_place(&self) -> &'static str {
        if self.live.is_some() { "this cluster" } else { "this dump" }
    }

    fn doubt(&self, name: &str) -> Gap {
        let near = similar(&self.intake.cluster, name);
        let near = near.first().map(|near| format!(" (did you mean {near}?)"));
        let doubt = format!("namespace {name} may not exist{}", near.unwrap_or_default());
        let reason = match self.intake.cluster.reach(Kind::Namespace, None) {
            Err(unseen) if self.live.is_some() => format!("{}; {doubt}", unseen.reason),
            _ => format!("{doubt}: the dump does not tell"),
        };
        Gap { kind: Kind::Namespace, namespace: None, reason }
    }
}

/// Whether a namespace exists, by what was read; `None` where that is unknown.
pub(super) fn existence(cluster: &Cluster, name: &str) -> Option<bool> {
    let is_listed = cluster.namespaces().any(|(_, it)| *it.metadata.name == *name);
    if is_listed || inhabited(cluster).any(|it| **it == *name) {
        return Some(true);
    }
    cluster.reach(Kind::Namespace, None).is_ok().then_some(false)
}

/// Returns the names nearest to one that does not exist.
pub(super) fn similar(cluster: &Cluster, name: &str) -> Vec<String> {
    nearest(name, known(cluster).iter().map(ToString::to_string))
}

/// Returns all namespaces of which anything was read.
pub(super) fn known(cluster: &Cluster) -> BTreeSet<Text> {
    let listed = cluster.namespaces().map(|(_, it)| Text::from(&*it.metadata.name));
    inhabited(cluster).cloned().chain(listed).collect()
}

/// Returns the namespaces of objects that were read, once for each object.
fn inhabited(cluster: &Cluster) -> impl Iterator<Item = &Text> {
    let claims = cluster.claims().map(|(_, it)| &it.namespace);
    let pods = cluster.pods().map(|(_, it)| &it.namespace);
    let sets = cluster.sets().map(|(_, it)| &it.namespace);
    let snapshots = cluster.volume_snapshots().map(|(_, it)| &it.namespace);
    claims.chain(pods).chain(sets).chain(snapshots)
}

/// Whether a volume, or a kept backend volume, belongs to a claim that is or was in a namespace.
fn is_claimed(cluster: &Cluster, name: &str) -> bool {
    let of_volume = |it: &crate::model::Volume| {
        it.claim_ref.as_ref().is_some_and(|it| *it.key.namespace == *name)
    };
    let of_kept =
        |it: &crate::model::KeptBackend| it.claim.as_ref().is_some_and(|it| *it.namespace == *name);
    cluster.volumes().any(|(_, it)| of_volume(it)) || cluster.kept_backends().any(of_kept)
}
