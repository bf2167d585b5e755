//! How far the change of a retention policy is, and what is left of it.

use std::collections::BTreeSet;

use crate::model::{Action, ObjectRef, RetentionPolicy};
use crate::plan::{ObjectDetails, ProposedChange, Purpose};
use crate::remedies::{RetentionPart, RetentionRequest, retention_set};

/// How many claims a message names at most.
const NAMED: usize = 5;

/// How far a change is.
#[derive(Default)]
pub(super) struct RetentionProgress {
    /// The claims whose references were removed.
    pub(super) released: BTreeSet<ObjectRef>,
    /// Whether the policy was patched by this run.
    pub(super) patched: bool,
    /// Whether the patch was sent, and its effect is unknown.
    pub(super) unanswered: bool,
    /// Why owner references remain that contradict the policy: other owners count.
    pub(super) remain: Vec<String>,
    /// The journal entry of the last write.
    pub(super) entry: Option<u64>,
    /// Other errors.
    pub(super) notes: Vec<String>,
}

impl RetentionProgress {
    /// Describes the state of everything after an early end.
    pub(super) fn in_words(&self, change: &ProposedChange) -> String {
        let mut words = Vec::new();
        let names: Vec<_> = self.released.iter().map(ToString::to_string).collect();
        match &*names {
            [] => {}
            few if few.len() <= NAMED => words.push(format!(
                "{} has no owner reference that contradicts the new policy",
                few.join(", ")
            )),
            [first, ..] => words.push(format!(
                "{first} and {} more claims have no owner reference that contradicts the new policy",
                names.len() - 1
            )),
        }
        let policy = match (policies(change), self.patched) {
            (Some((from, to)), false) if self.unanswered => format!(
                "unknown whether the policy is changed (whenDeleted {}, whenScaled {} before; {}, {} afterwards)",
                from.when_deleted, from.when_scaled, to.when_deleted, to.when_scaled
            ),
            (Some((_, to)), true) => {
                format!("whenDeleted is {}, whenScaled is {}", to.when_deleted, to.when_scaled)
            }
            (Some((from, _)), false) => format!(
                "the policy is not changed (whenDeleted {}, whenScaled {})",
                from.when_deleted, from.when_scaled
            ),
            (None, _) => String::new(),
        };
        words.extend(Some(policy).filter(|it| !it.is_empty()));
        format!("{}{}", words.join("; "), again(change))
    }
}

/// What to do after an early end.
pub(super) fn again(change: &ProposedChange) -> String {
    let key = &change.object.key;
    let namespace = key.namespace.as_deref().unwrap_or("default");
    let name = &key.name;
    // An entry is undone once.
    let next = match change.purpose.undoes() {
        Some(_) => format!(
            "`kubectl storage retention apply sts/{name} -n {namespace}` continues with what remains"
        ),
        None => "run the command again, which continues with what remains".to_owned(),
    };
    format!("; {next}; `kubectl storage retention show sts/{name} -n {namespace}` shows the claims")
}

/// The policies between which a change goes, if it patches the policy.
pub(super) fn policies(change: &ProposedChange) -> Option<(RetentionPolicy, RetentionPolicy)> {
    change.proposal.steps.iter().find_map(|it| match it {
        Action::SetRetentionPolicy { from, to, .. } => Some((from.clone(), to.clone())),
        _ => None,
    })
}

/// One write of a change, which was confirmed with it.
pub(super) fn part_of(
    change: &ProposedChange,
    request: &RetentionRequest,
    part: RetentionPart,
    object: &ObjectRef,
    steps: Vec<Action>,
) -> ProposedChange {
    let about = match object == &change.object {
        true => change.about.clone(),
        false => ObjectDetails::default(),
    };
    ProposedChange {
        purpose: Purpose::SetRetentionPart(Box::new(request.clone()), Box::new(part)),
        object: object.clone(),
        about,
        proposal: retention_set::steps_alone(steps),
    }
}
