//! Refresh of what no watch keeps current: answers to questions, records of kept backend volumes, and since when no
//! trace of a controller was found.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::cluster::{Change, Cluster};
use crate::dump::DumpError;
use crate::journal::{self, History, sightings};
use crate::model::{Answer, Question, Row, Text};
use crate::rules::Assessor;
use crate::sources::answers::Replies;
use crate::sources::intake::Intake;

/// Time for which an answer counts.
const ANSWERED: Duration = Duration::from_secs(300);
/// Time for which it counts that the server did not answer, or refused.
const UNANSWERED: Duration = Duration::from_secs(60);
/// Number of answers that are forgotten at a time, so that few questions are asked at once.
const AT_A_TIME: usize = 100;
/// Time between two searches for old answers.
const LOOK: Duration = Duration::from_secs(1);

/// Time until which each answer counts.
#[derive(Debug, Default)]
pub(super) struct AnswerAges {
    until: BTreeMap<Question, Duration>,
    /// Time of the next search for old answers.
    next_look: Duration,
}

impl AnswerAges {
    /// Forgets answers that are too old, oldest first. Whatever still depends on them asks again.
    /// Call it only when no question is open: what is asked in vain must not crowd out the others.
    pub(super) fn forget_old(&mut self, intake: &mut Intake, at: Duration) {
        if at < self.next_look {
            return;
        }
        self.next_look = at + LOOK;
        let answers = intake.cluster.answers();
        self.until.retain(|question, _| answers.contains_key(question));
        // What is read again, and not asked by any rule, has no age.
        let aging = answers.iter().filter(|it| !matches!(it.0, Question::KeptBackends { .. }));
        let new = aging.filter(|it| !self.until.contains_key(it.0));
        let (silent, answered): (Vec<_>, Vec<_>) =
            new.partition(|it| matches!(it.1, Answer::Unanswered(_) | Answer::Forbidden));
        // Many answers of one moment, such as those of the first look, are not asked again at one.
        let (mut until, parts) = (Vec::new(), answered.chunks(AT_A_TIME));
        let part = ANSWERED / u32::try_from(parts.len()).unwrap_or(u32::MAX).max(1);
        for (number, answers) in (1..).zip(parts) {
            until.extend(answers.iter().map(|it| (it.0.clone(), at + part * number)));
        }
        until.extend(silent.iter().map(|it| (it.0.clone(), at + UNANSWERED)));
        self.until.extend(until);
        let old = self.until.iter().filter(|(_, until)| **until <= at);
        let mut old: Vec<_> = old.map(|(question, until)| (*until, question.clone())).collect();
        old.sort();
        for (_, question) in old.into_iter().take(AT_A_TIME) {
            self.until.remove(&question);
            intake.apply(Change::Forgotten(question));
        }
    }
}

/// The records that are read beside the cluster's objects.
#[derive(Debug, Clone)]
pub(crate) struct Records {
    /// The folder of this machine's journal; `None` where there is none.
    pub(crate) folder: Option<PathBuf>,
    /// The namespace of the record in the cluster.
    pub(crate) namespace: Text,
}

impl Records {
    /// Returns the question about the record in the cluster.
    pub(super) fn question(&self) -> Question {
        Question::KeptBackends { namespace: Text::clone(&self.namespace) }
    }

    /// Reads the records anew. What cannot be read now stays as it was read last.
    ///
    /// # Errors
    /// When an answer cannot be saved.
    pub(super) fn take_in(
        &self,
        replies: Replies,
        intake: &mut Intake,
        notes: &mut Vec<String>,
    ) -> Result<(), DumpError> {
        let history = match self.folder.as_deref().map(journal::history).transpose() {
            Ok(history) => history,
            Err(error) => {
                notes.push(format!("{:#}", anyhow::Error::new(error)));
                return Ok(());
            }
        };
        if let Some(history) = &history {
            for (volume, finalizer) in history.added_finalizers() {
                let finalizer = Text::from(finalizer);
                if !intake.cluster.has_added_finalizer(volume, &finalizer) {
                    intake.added_finalizer(volume.clone(), finalizer)?;
                }
            }
        }
        if replies.are_answers() {
            intake.apply(Change::Forgotten(self.question()));
            let mut kept = history.iter().flat_map(History::kept_backends);
            kept.try_for_each(|it| intake.kept(it))?;
        }
        replies.take_in(intake)
    }

    /// Notes which controllers were found and which were not, and records it for later runs.
    pub(super) fn note_absences(
        &self,
        assessor: &Assessor,
        intake: &mut Intake,
        notes: &mut Vec<String>,
    ) {
        let Some(now) = intake.cluster.clock() else { return };
        let (known, found) = (sorted(&intake.cluster), assessor.absences());
        let mut next = sightings::update(known.clone(), &found, now);
        if next == known {
            return;
        }
        if let Some(folder) = &self.folder {
            match sightings::record(folder, known.clone(), &found, now) {
                Ok(recorded) => next = recorded,
                Err(error) => notes.push(format!(
                    "{:#}: this run does not count as evidence that a driver is absent",
                    anyhow::Error::new(error)
                )),
            }
        }
        for sighting in known.iter().filter(|it| !next.contains(it)) {
            intake.apply(Change::Traced(sighting.role, Text::clone(&sighting.driver)));
        }
        for sighting in next.iter().filter(|it| !known.contains(it)) {
            intake.apply(Change::Seen(Row::Sighting(sighting.clone())));
        }
    }
}

/// Returns the sightings, in the order of the record.
fn sorted(cluster: &Cluster) -> Vec<crate::model::Sighting> {
    let mut known: Vec<_> = cluster.sightings().collect();
    known.sort_by(|a, b| (a.role, &a.driver).cmp(&(b.role, &b.driver)));
    known
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::Dirty;
    use crate::dump::Input;
    use crate::model::{ControllerRole, Lease, Metadata, Settings};
    use crate::sources::documents::{self, DumpOptions};

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn answers_are_forgotten_when_they_are_old_and_silence_sooner() {
        let secret =
            |name: &str| Question::SecretExists { namespace: "s".into(), name: name.into() };
        let kept = Question::KeptBackends { namespace: "s".into() };
        let mut intake = Intake::new(None);
        for (question, answer) in [
            (secret("there"), Answer::Yes),
            (secret("silent"), Answer::Unanswered("timed out".into())),
            (secret("secret"), Answer::Forbidden),
            (kept.clone(), Answer::Yes),
        ] {
            intake.answer(question, answer).expect("because nothing is saved");
        }
        let mut ages = AnswerAges::default();
        let mut left = |intake: &mut Intake, seconds| {
            ages.forget_old(intake, at(seconds));
            intake.cluster.answers().keys().cloned().collect::<Vec<_>>()
        };
        assert_eq!(left(&mut intake, 0).len(), 4);
        assert_eq!(left(&mut intake, 59).len(), 4);
        assert_eq!(left(&mut intake, 60), [secret("there"), kept.clone()]);
        // What was asked again counts anew.
        intake.answer(secret("silent"), Answer::No).expect("because nothing is saved");
        assert_eq!(left(&mut intake, 299).len(), 3);
        assert_eq!(left(&mut intake, 300), [secret("silent"), kept.clone()]);
        assert_eq!(left(&mut intake, 600), [kept]);
    }

    #[test]
    fn few_answers_are_forgotten_at_a_time() {
        let mut intake = Intake::new(None);
        for number in 0..250 {
            let name = number.to_string().as_str().into();
            let question = Question::SecretExists { namespace: "s".into(), name };
            intake.answer(question, Answer::Yes).expect("because nothing is saved");
        }
        let mut ages = AnswerAges::default();
        let mut left = |seconds| {
            ages.forget_old(&mut intake, at(seconds));
            intake.cluster.answers().len()
        };
        // What was answered at one moment is spread over the time that it counts.
        let spread = [left(0), left(99), left(100), left(101), left(199), left(200), left(299)];
        assert_eq!(spread, [250, 250, 150, 150, 150, 50, 50]);
        assert_eq!(left(300), 0);
    }

    #[test]
    fn what_was_not_looked_through_for_long_is_forgotten_a_hundred_a_second() {
        let mut intake = Intake::new(None);
        for number in 0..250 {
            let name = number.to_string().as_str().into();
            let question = Question::SecretExists { namespace: "s".into(), name };
            let silence = Answer::Unanswered("timed out".into());
            intake.answer(question, silence).expect("because nothing is saved");
        }
        let mut ages = AnswerAges::default();
        let mut left = |milliseconds| {
            ages.forget_old(&mut intake, Duration::from_millis(milliseconds));
            intake.cluster.answers().len()
        };
        let forgotten = [left(0), left(59_999), left(60_500), left(61_000), left(61_500)];
        assert_eq!(forgotten, [250, 250, 250, 150, 150]);
        assert_eq!([left(62_000), left(62_999), left(63_000)], [50, 50, 0]);
    }

    #[test]
    fn an_absence_is_recorded_until_a_trace_is_found() {
        let dump = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/leaky-cluster.json.gz");
        let dump = [Input::Path(PathBuf::from(dump))];
        let mut intake = Intake::new(None);
        documents::read(&dump, &mut std::io::empty(), &DumpOptions::default(), &mut intake)
            .expect("it ships with us");
        let folder = tempfile::tempdir().expect("a folder");
        let records =
            Records { folder: Some(folder.path().to_owned()), namespace: "kube-system".into() };
        let (settings, mut assessor, mut notes) =
            (Settings::default(), Assessor::default(), Vec::new());
        let mut turn = |intake: &mut Intake| {
            let dirty = std::mem::take(&mut intake.dirty);
            assessor.update(&intake.cluster, &settings, dirty);
            records.note_absences(&assessor, intake, &mut notes);
            sorted(&intake.cluster)
        };
        let absent = turn(&mut intake);
        let provisioner = absent.iter().find(|it| it.role == ControllerRole::Provisioner);
        let provisioner = provisioner.expect("a driver of the example is absent").clone();
        assert_eq!(sightings::read(folder.path()).expect("written"), absent);
        assert_eq!(turn(&mut intake), absent);
        // Its Lease is renewed.
        let name: String = provisioner
            .driver
            .chars()
            .map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' })
            .collect();
        let lease = Lease {
            metadata: Metadata { name: name.as_str().into(), ..Metadata::default() },
            namespace: "kube-system".into(),
            holder: Some("somebody".into()),
            renewed: intake.cluster.clock(),
            duration_seconds: Some(15),
            read: crate::model::LeaseMoment::Clock,
        };
        intake.apply(Change::Seen(Row::Lease(Box::new(lease))));
        let left = turn(&mut intake);
        assert!(!left.contains(&provisioner), "{left:?}");
        assert_eq!(left.len() + 1, absent.len());
        assert_eq!(sightings::read(folder.path()).expect("written"), left);
        assert_eq!(
            intake.dirty,
            Dirty { drivers: [provisioner.driver].into(), ..Dirty::default() }
        );
        assert_eq!(notes, Vec::<String>::new());
    }
}
