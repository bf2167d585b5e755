//! Judging, and asking what that raises: the same for one look as for every turn of a watch.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::Instant;

use crate::client::Reader;
use crate::dump::DumpError;
use crate::model::Question;
use crate::sources::answers;
use crate::sources::intake::Intake;

/// Rounds of questions: an answer may raise another question, but not for ever.
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
    use super::*;
    use crate::client::test_server::{TestReply, TestServer, json};
    use crate::model::Answer;

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
