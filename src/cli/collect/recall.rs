//! Records of earlier runs, on this machine and in the cluster, and how they are taken in.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::{Collected, LiveConnection, dump_failure};
use crate::{
    apply::cluster_history,
    cli::Failure,
    facts,
    journal::{self, History, kept_backend::CONFIG_MAP, sightings},
    model::{Answer, Question, Sighting, Text},
    sources::answers::Replies,
};

impl Collected {
    /// Takes in kept backend volumes and announcements, as the records in the cluster have them.
    pub(super) fn take_in_kept(
        &mut self,
        namespace: &Text,
        replies: Replies,
    ) -> Result<(), Failure> {
        replies.take_in(&mut self.intake).map_err(dump_failure)?;
        let asked = Question::KeptBackends { namespace: Text::clone(namespace) };
        if self.intake.cluster.answers().get(&asked) == Some(&Answer::Forbidden) {
            self.notes.push(format!(
                "you may not read configmap {namespace}/{CONFIG_MAP}, the record of kept backend \
                 volumes: those kept from other machines are not listed"
            ));
        }
        Ok(())
    }

    /// Notes that announcements are unknown, where the user may not read them.
    pub(super) fn note_unknown_announcements(&mut self, namespace: &Text) {
        let asked = facts::announcements_question(namespace);
        if self.intake.cluster.answers().get(&asked) == Some(&Answer::Forbidden) {
            self.notes.push(facts::unreadable(namespace));
        }
    }

    /// Notes other namespaces that have records of announcements, as far as they are known.
    pub(super) fn note_records_elsewhere(&mut self, namespaces: Option<BTreeSet<String>>) {
        self.notes.extend(facts::records_elsewhere(&namespaces.unwrap_or_default()));
    }

    /// Reads the journal of this machine; notes what is missing where it cannot be read.
    pub(super) fn history(&mut self, folder: &Path, missing: &str) -> Option<History> {
        match journal::history(folder) {
            Ok(history) => Some(history),
            Err(error) => {
                self.notes.push(format!("{:#}: {missing}", anyhow::Error::new(error)));
                None
            }
        }
    }

    /// Reads the journal in the cluster, if it exists; notes what is missing where it cannot be read.
    pub(super) async fn cluster_history(&mut self, missing: &str) -> Option<History> {
        let (live, namespace) = self.live.as_ref().zip(self.cluster_journal.as_ref())?;
        match cluster_history(&live.reader, namespace).await {
            Ok(History { distrusted: Some(why), .. }) => {
                self.notes.push(format!("the journal in namespace {namespace}: {why}: {missing}"));
                None
            }
            Ok(history) => Some(history),
            Err(error) => {
                self.notes.push(format!("{:#}: {missing}", anyhow::Error::new(error)));
                None
            }
        }
    }

    /// Takes in the finalizers that this tool added, from a journal.
    pub(super) fn recall_finalizers(&mut self, history: &History) -> Result<(), Failure> {
        let mut added = history.added_finalizers().into_iter();
        added
            .try_for_each(|(volume, finalizer)| {
                self.intake.added_finalizer(volume.clone(), finalizer.into())
            })
            .map_err(dump_failure)
    }

    /// Takes in the kept backend volumes, from a journal.
    fn recall_kept(&mut self, history: &History) -> Result<(), Failure> {
        history.kept_backends().try_for_each(|it| self.intake.kept(it)).map_err(dump_failure)
    }

    /// Returns the folder of the records of the cluster that was read; `None` where there is none.
    pub(super) fn journal_folder(&self) -> Option<PathBuf> {
        let LiveConnection { connection, .. } = self.live.as_ref()?;
        let uid = self.intake.cluster.server().and_then(|server| server.cluster_uid.clone());
        journal::folder(uid.as_deref(), &connection.server, &connection.authority)
    }

    /// Takes in the records of earlier runs, and returns their sightings; `None` without a usable record.
    pub(super) async fn recall(&mut self) -> Result<Option<Vec<Sighting>>, Failure> {
        let missing = "backend volumes kept by its entries are not listed";
        if let Some(history) = self.cluster_history(missing).await {
            self.recall_finalizers(&history)?;
            self.recall_kept(&history)?;
        }
        let Some(folder) = self.journal_folder() else { return Ok(None) };
        if let Some(history) =
            self.history(&folder, "backend volumes kept from this machine are not listed")
        {
            self.recall_finalizers(&history)?;
            self.recall_kept(&history)?;
        }
        let known = match sightings::read(&folder) {
            Ok(known) => known,
            Err(error) => {
                self.notes.push(format!(
                    "{:#}: no driver is proven absent by earlier runs",
                    anyhow::Error::new(error)
                ));
                return Ok(None);
            }
        };
        self.journal = Some(folder);
        for sighting in &known {
            self.intake.sighting(sighting.clone()).map_err(dump_failure)?;
        }
        Ok(Some(known))
    }

    /// Records which controllers were found to be absent, for later runs.
    pub(super) fn record(&mut self, known: &[Sighting]) {
        let (Some(folder), Some(now)) = (&self.journal, self.intake.cluster.clock()) else {
            return;
        };
        let found = self.assessor.absences();
        if sightings::update(known.to_vec(), &found, now) == known {
            return;
        }
        if let Err(error) = sightings::record(folder, known.to_vec(), &found, now) {
            self.notes.push(format!(
                "{:#}: this run does not count as evidence that a driver is absent",
                anyhow::Error::new(error)
            ));
        }
    }
}
