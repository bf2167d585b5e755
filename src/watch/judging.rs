//! Judging of what a change touched, with the questions that this raises and their answers: the same for one look as
//! for every turn of a watch.

use std::collections::BTreeSet;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use std::{iter, panic, thread};

use tokio::time::Instant;

use crate::client::Reader;
use crate::cluster::{Cluster, Dirty, Facts, Subject};
use crate::dump::DumpError;
use crate::model::{Question, Settings};
use crate::rules::{Assessor, PartialAssessment};
use crate::sources::answers;
use crate::sources::intake::Intake;

/// Number of subjects from which a second thread is used.
const CROWD: usize = 4096;
/// Number of subjects that a thread takes at a time: costs differ, so that halves would not be done together.
const SHARE: usize = 1024;
/// Largest number of threads: more would find little left to do.
const MOST_THREADS: usize = 8;

/// Updates the judgements after a change, as [`Assessor::update`] does, and returns the subjects that were judged.
pub(crate) fn update(
    assessor: &mut Assessor,
    cluster: &Cluster,
    settings: &Settings,
    dirty: Dirty,
) -> Vec<Subject> {
    let subjects = assessor.begin(cluster, settings, dirty);
    let threads = match subjects.len() < CROWD {
        true => 1,
        false => thread::available_parallelism().map_or(1, NonZero::get).min(MOST_THREADS),
    };
    let facts = assessor.facts();
    assessor.end(cluster, spread(cluster, settings, &subjects, &facts, threads, SHARE));
    subjects
}

/// Has threads judge subjects, some at a time.
fn spread(
    cluster: &Cluster,
    settings: &Settings,
    subjects: &[Subject],
    facts: &Facts,
    threads: usize,
    share: usize,
) -> Vec<PartialAssessment> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = PartialAssessment::new(facts.clone());
        let shares = iter::from_fn(|| {
            let begin = next.fetch_add(share, Ordering::Relaxed);
            let left = subjects.get(begin..).filter(|left| !left.is_empty())?;
            Some(&left[..left.len().min(share)])
        });
        done.judge(cluster, settings, shares.flatten());
        done
    };
    let work = &work;
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let own = work();
        let others = others.into_iter();
        let others =
            others.map(|it| it.join().unwrap_or_else(|reason| panic::resume_unwind(reason)));
        iter::once(own).chain(others).collect()
    })
}

/// Largest number of rounds of questions: an answer may raise another question, but not for ever.
pub(crate) const ROUNDS: usize = 4;

/// Judges, asks the questions that have no answer yet, and judges again with the answers, until
/// nothing is open. `judge` returns what is open; `patience` is how long all answers together may
/// take, [`Duration::MAX`] for as long as the reader waits. What has arrived by then is taken in, and
/// what was asked in vain is unanswered; what could not even be asked stays open.
///
/// # Errors
/// When an answer cannot be saved.
pub(crate) async fn settle(
    reader: &Reader,
    intake: &mut Intake,
    patience: Duration,
    judge: &mut dyn FnMut(&mut Intake) -> BTreeSet<Question>,
) -> Result<(), DumpError> {
    let end = Instant::now().checked_add(patience);
    let mut open = judge(intake);
    for _ in 0..ROUNDS {
        if open.is_empty() || end.is_some_and(|end| end <= Instant::now()) {
            break;
        }
        answers::replies_by(reader, open, end).await.take_in(intake)?;
        open = judge(intake);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::client::test_server::{TestReply, TestServer, json};
    use crate::dump::Input;
    use crate::model::Answer;
    use crate::sources::documents;
    use crate::sources::documents::DumpOptions;
    use crate::sources::intake::Intake;

    #[test]
    fn many_threads_find_what_one_finds() {
        let dump = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/leaky-cluster.json.gz");
        let dump = [Input::Path(PathBuf::from(dump))];
        let mut intake = Intake::new(None);
        documents::read(&dump, &mut std::io::empty(), &DumpOptions::default(), &mut intake)
            .expect("it ships with us");
        let (cluster, settings) = (&intake.cluster, &Settings::default());
        let found = |threads, share| {
            let mut assessor = Assessor::default();
            let subjects = assessor.begin(cluster, settings, Dirty::everything());
            assert!(subjects.len() > 50, "{}", subjects.len());
            let facts = assessor.facts();
            let shares = spread(cluster, settings, &subjects, &facts, threads, share);
            assessor.end(cluster, shares);
            format!("{assessor:?}")
        };
        let mut alone = Assessor::default();
        alone.update(cluster, settings, Dirty::everything());
        assert!(alone.findings(cluster, settings).count() > 10);
        let alone = format!("{alone:?}");
        for (threads, share) in [(1, 1000), (1, 1), (2, 1), (2, 7), (5, 1), (8, 16)] {
            assert_eq!(found(threads, share), alone, "{threads} threads, {share} at a time");
        }
    }

    fn secret(name: &str) -> Question {
        Question::SecretExists { namespace: "s".into(), name: name.into() }
    }

    /// A server that answers nothing about secrets whose names begin with "silent".
    async fn server() -> TestServer {
        TestServer::start(|asked| match asked.path.contains("/secrets/silent") {
            true => TestReply::Hang(Vec::new()),
            false => json(format!(
                r#"{{"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": {{"name": "{}", "namespace": "s"}}}}"#,
                asked.path.rsplit('/').next().unwrap_or_default()
            )),
        })
        .await
    }

    /// Settles these questions, and returns what was answered.
    async fn settled(
        reader: &Reader,
        intake: &mut Intake,
        patience: Duration,
        questions: &BTreeSet<Question>,
    ) -> Vec<(Question, Answer)> {
        let judge = &mut |intake: &mut Intake| {
            let is_open = |it: &&Question| !intake.cluster.answers().contains_key(*it);
            questions.iter().filter(is_open).cloned().collect()
        };
        settle(reader, intake, patience, judge).await.expect("because nothing is saved");
        let answers = intake.cluster.answers().iter();
        answers.map(|(question, answer)| (question.clone(), answer.clone())).collect()
    }

    /// The reader's own limits end no request before this patience does.
    const PATIENCE: Duration = Duration::from_secs(3);

    #[tokio::test]
    async fn one_silent_question_costs_no_answer_to_the_others() {
        let server = server().await;
        let reader = Reader::new(&server.connect().await);
        let mut intake = Intake::new(None);
        let questions = ["a", "silent", "z"].map(secret).into();
        let silence = Answer::Unanswered("no answer in time".into());
        assert_eq!(
            settled(&reader, &mut intake, PATIENCE, &questions).await,
            [(secret("a"), Answer::Yes), (secret("silent"), silence), (secret("z"), Answer::Yes)]
        );
    }

    #[tokio::test]
    async fn what_could_not_be_asked_stays_open_and_comes_first_the_next_time() {
        let server = server().await;
        let reader = Reader::new(&server.connect().await);
        let mut intake = Intake::new(None);
        let silent = (0..16).map(|number| secret(&format!("silent-{number:02}")));
        let questions = silent.chain([secret("z")]).collect();
        let answers = settled(&reader, &mut intake, PATIENCE, &questions).await;
        assert_eq!(answers.len(), 16);
        assert!(answers.iter().all(|(question, _)| *question != secret("z")));
        let answers = settled(&reader, &mut intake, PATIENCE, &questions).await;
        assert_eq!(answers.last(), Some(&(secret("z"), Answer::Yes)));
        // No silent one was asked twice.
        assert!(server.asked().len() <= 17);
    }

    #[tokio::test]
    async fn whoever_has_time_waits_for_every_answer() {
        let server = server().await;
        // Its limits end a silent request after less than a second, several times.
        let reader = server.reader().await;
        let mut intake = Intake::new(None);
        let questions = ["silent", "z"].map(secret).into();
        let answers = settled(&reader, &mut intake, Duration::MAX, &questions).await;
        let [(_, Answer::Unanswered(reason)), (_, Answer::Yes)] = &answers[..] else {
            panic!("{answers:?}");
        };
        assert_ne!(&**reason, "no answer in time");
    }
}
