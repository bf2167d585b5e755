//! Confirmation at a terminal, after a note about what earlier runs left unfinished.

use std::io::{self, IsTerminal as _};

use chrono::Utc;
use dialoguer::{Confirm, Input};

use super::journal::read;
use crate::{
    cli::{Exit, Failure, collect::Collected, terminal},
    journal::{Entry, History, Outcome},
    model::{
        Action, Bytes, Kind, Loss, ObjectKey, Time, counted, escape_control, format_bytes,
        format_time,
    },
    plan::{DataFate, Plan, ProposedChange},
    watch::acting::Breaker,
};

/// Answer of the user to a plan.
pub(super) enum Confirmation {
    Yes(Box<Plan>),
    No,
}

/// Whether stdin and stderr are terminals, so that the user can be asked.
pub(super) fn somebody_there() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks a yes-or-no question that has no plan.
///
/// # Errors
/// When the terminal goes away.
pub(super) async fn agrees(question: &'static str) -> Result<bool, Failure> {
    let ask = move || Confirm::new().with_prompt(question).default(false).interact();
    tokio::task::spawn_blocking(ask).await.map_err(Failure::error)?.map_err(Failure::error)
}

/// Asks whether a plan may be carried out at a place. Every change that relies on a danger flag is asked about by
/// itself; a no removes it from the plan.
///
/// # Errors
/// When the terminal goes away.
pub(super) async fn ask(plan: Plan, place: String) -> Result<Confirmation, Failure> {
    // On a thread of its own: a prompt blocks, and a signal must not have to wait for it.
    tokio::task::spawn_blocking(move || blocking(plan, &place))
        .await
        .map_err(Failure::error)?
        .map_err(Failure::error)
}

fn blocking(mut plan: Plan, place: &str) -> Result<Confirmation, dialoguer::Error> {
    let mut kept = Vec::new();
    for change in plan.changes {
        let asks = !change.proposal.relies_on.is_empty();
        // Its effect and its risk stand in the plan above: a prompt is drawn twice.
        let question = format!(
            "{}: allowed only by {}. Continue?",
            escape_control(&change.object.to_string()),
            change.proposal.relies_on.join(", ")
        );
        let confirmed = match foreign_finalizer(&change) {
            Some(finalizer) => typed_again(&question, finalizer)?,
            None => !asks || Confirm::new().with_prompt(question).default(false).interact()?,
        };
        if confirmed {
            kept.push(change);
        }
    }
    plan.changes = kept;
    if plan.changes.is_empty() {
        return Ok(Confirmation::No);
    }
    let question = format!("{} in {}?", effect(&plan), escape_control(place));
    let destroyed = plan.changes.iter().map(ProposedChange::loses).sum::<Loss>().count();
    // What destroys data takes more than a letter: how much it destroys has to be read.
    let yes = if destroyed > 0 {
        let typed: String = Input::new()
            .with_prompt(format!("{question} Type \"{destroyed}\" to go on"))
            .allow_empty(true)
            .interact_text()?;
        typed.trim() == destroyed.to_string()
    } else {
        Confirm::new().with_prompt(question).default(false).interact()?
    };
    Ok(if yes { Confirmation::Yes(Box::new(plan)) } else { Confirmation::No })
}

/// Returns the third-party finalizer that a change removes.
fn foreign_finalizer(change: &ProposedChange) -> Option<&str> {
    if !change.proposal.relies_on.contains(&"--remove-finalizer") {
        return None;
    }
    change.proposal.steps.iter().rev().find_map(|step| match step {
        Action::RemoveFinalizer { finalizer, .. } => Some(&**finalizer),
        _ => None,
    })
}

/// Asks the user to type the finalizer: skipping another controller's clean-up takes more than a letter.
fn typed_again(question: &str, finalizer: &str) -> Result<bool, dialoguer::Error> {
    let finalizer = escape_control(finalizer);
    let typed: String = Input::new()
        .with_prompt(format!("{question} Type `{finalizer}` to remove it"))
        .allow_empty(true)
        .interact_text()?;
    Ok(typed.trim() == finalizer)
}

/// Returns what a plan does, in numbers: `Reclaim 2 volumes (800Gi, data destroyed)`.
fn effect(plan: &Plan) -> String {
    let losses: Loss = plan.changes.iter().map(ProposedChange::loses).sum();
    let all = plan.changes.len();
    let verb = match plan.command {
        "gc" if plan.changes.iter().all(ProposedChange::destroys) => "Reclaim",
        "retain" => "Retain",
        "fix-finalizers" => "Repair",
        "delete" => "Delete",
        "rebind" => "Rebind",
        "adopt" => "Create and bind",
        "disown" => "Disown",
        "expand" => "Expand",
        "destroy-orphan" => "Destroy the backend volume of",
        _ => "Change",
    };
    let mut kinds = plan.changes.iter().map(|it| it.object.key.kind);
    let first = kinds.next();
    let noun = match first.filter(|first| kinds.all(|it| it == *first)) {
        Some(Kind::PersistentVolume) => "volume",
        Some(Kind::PersistentVolumeClaim) => "claim",
        Some(kind @ (Kind::StatefulSet | Kind::VolumeAttachment | Kind::Namespace)) => kind.name(),
        _ => "object",
    };
    let is_each = plan.changes.iter().all(|it| it.loses().volumes == 1) && losses.snapshots == 0;
    let what = losses.words().map(|it| if is_each { "data".to_owned() } else { it });
    let becomes = losses.becomes();
    let is_kept = || plan.changes.iter().all(|it| it.data_fate() == Some(DataFate::Kept));
    let told = match what {
        Some(what) => Some(format!("{what} {becomes}")),
        None => is_kept().then(|| "data kept".to_owned()),
    };
    let bytes = match losses.count() {
        0 => {
            plan.changes.iter().filter_map(ProposedChange::capacity).fold(0, Bytes::saturating_add)
        }
        _ => losses.bytes,
    };
    let size = Some(bytes).filter(|it| *it > 0).map(format_bytes);
    let parts: Vec<_> = size.into_iter().chain(told).collect();
    let parts = if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) };
    format!("{verb} {}{parts}", counted(all, noun))
}

/// Refuses changes that rest on an age where the clocks of the API server and this machine differ: one answer with a
/// wrong date makes everything old.
pub(super) fn by_the_same_clock(plan: &Plan, server: Option<Time>) -> Result<(), Failure> {
    let Some(differ) = server.and_then(|it| Breaker::of_clocks(it, Utc::now())) else {
        return Ok(());
    };
    let Some(change) = plan.changes.iter().find(|it| it.rests_on_age()) else { return Ok(()) };
    let told = format!(
        "{differ}, and the plan for {} depends on how old something is: nothing was changed",
        escape_control(&change.object.to_string())
    );
    let help = format!(
        "{}, or ask another API server with --server; --dry-run=client shows the plan",
        differ.help()
    );
    Err(Failure { exit: Exit::Refused, error: anyhow::anyhow!(told), hint: Some(help) })
}

/// Refuses where the clocks of the API server and this machine differ.
pub(super) fn same_clock(server: Option<Time>) -> Result<(), Failure> {
    match server.and_then(|it| Breaker::of_clocks(it, Utc::now())) {
        None => Ok(()),
        Some(differ) => {
            let error = anyhow::anyhow!("{differ}: nothing was changed");
            Err(Failure { exit: Exit::Refused, error, hint: Some(differ.help().to_owned()) })
        }
    }
}

/// Notes every open entry of the journal about an object that a plan changes or refuses. Nothing is sent again on its
/// account: the present state was judged anew.
pub(super) async fn tell_unfinished(collected: &Collected, plan: &Plan) {
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
