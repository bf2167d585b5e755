//! Warnings about changes to the same objects that earlier runs began, and whose end is not recorded.

use super::journal::read;
use crate::cli::{collect::Collected, terminal};
use crate::journal::{Entry, History, Outcome};
use crate::model::{Kind, ObjectKey, escape_control, format_time};
use crate::plan::{Plan, ProposedChange};

/// Tells of every open entry of the journal about an object that a plan changes or refuses. Nothing
/// is sent again on its account: what is there now was judged anew.
pub(super) async fn tell(collected: &Collected, plan: &Plan) {
    let history = match read(collected).await {
        Ok((_, history)) => history,
        Err(failure) => {
            if collected.live.is_some() {
                let missing = "what earlier runs left unfinished is not told";
                let told = format!("{:#}: {missing}", failure.error);
                terminal::note(&format!("note: {}", escape_control(&told)));
            }
            return;
        }
    };
    let steps = |it: &'_ ProposedChange| {
        it.proposal.steps.iter().map(|step| step.object().key.clone()).collect::<Vec<_>>()
    };
    let stepped: Vec<_> = plan.changes.iter().flat_map(steps).collect();
    let changed = plan.changes.iter().map(|it| &it.object.key).chain(&stepped);
    let concerned: Vec<_> = changed.chain(plan.refusals.iter().map(|it| &it.object.key)).collect();
    let concerns = |entry: &&Entry| {
        concerned.contains(&&entry.intent.object.key)
            || snapshot_of(entry).is_some_and(|it| concerned.contains(&&it))
    };
    for entry in history.open().filter(concerns) {
        terminal::note(&format!("note: {}", escape_control(&told(&history, entry))));
    }
}

/// Returns the claim of which an entry created a snapshot, as the first step of its deletion.
fn snapshot_of(entry: &Entry) -> Option<ObjectKey> {
    let claim =
        entry.intent.pre_image.as_ref().filter(|_| entry.intent.action == "create-snapshot")?;
    let text = |field: &str| claim["metadata"][field].as_str();
    Some(ObjectKey::named(Kind::PersistentVolumeClaim, text("namespace")?, text("name")?))
}

fn told(history: &History, entry: &Entry) -> String {
    let state = match entry.last() {
        Some(Outcome::Sent) => "the request succeeded, but its effect was not verified",
        Some(Outcome::Unanswered) => "the request was sent but not answered",
        _ => "unknown whether the request was sent",
    };
    let at = entry.at.as_ref().map_or_else(String::new, |at| format!(" at {}", format_time(at)));
    format!(
        "entry {} of the journal, about {}, is open: {}{at}, {state}; it is not sent again, and \
         this plan rests on the present state",
        history.numbered(entry.sequence),
        entry.intent.object,
        entry.intent.command
    )
}
