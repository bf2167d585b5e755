//! Judging, and asking what that raises: the same for one look as for every turn of a watch.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::timeout;

use crate::client::Reader;
use crate::dump::DumpError;
use crate::model::Question;
use crate::sources::answers;
use crate::sources::intake::Intake;

/// Rounds of questions: an answer may raise another question, but not for ever.
pub(crate) const ROUNDS: usize = 4;

/// Judges, asks the questions that have no answer yet, and judges again with the answers, until
/// nothing is open. `judge` returns what is open; `patience` is how long the answers of a round may
/// take. What was asked in vain stays open.
///
/// # Errors
/// When an answer cannot be saved.
pub(crate) async fn settle(
    reader: &Reader,
    intake: &mut Intake,
    patience: Duration,
    judge: &mut dyn FnMut(&mut Intake) -> BTreeSet<Question>,
) -> Result<(), DumpError> {
    let mut open = judge(intake);
    for _ in 0..ROUNDS {
        if open.is_empty() {
            break;
        }
        let Ok(replies) = timeout(patience, answers::replies(reader, open)).await else { break };
        replies.take_in(intake)?;
        open = judge(intake);
    }
    Ok(())
}
