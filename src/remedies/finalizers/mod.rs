//! Finalizers: removes them one at a time, by position and name, and only where the controller that
//! should remove one is proven absent; adds a missing deletion protection.
//!
//! The decision about one finalizer is made in one place, for the verdict of a finding, for the
//! plan and again before the write. The proposal for an object is the sequence of these decisions,
//! each for the object as the step before leaves it.

mod attachment;
mod claim;
mod volume;

use std::{collections::BTreeSet, fmt::Write as _};

use super::{Remedy, checks};
use crate::cluster::{Cx, Seen};
use crate::facts::{self, FinalizerController, PV_PROTECTION};
use crate::model::{
    Action, Effect, Kind, Liveness, Loss, Metadata, Proposal, Refusal, Text, Undo, Volume,
};

pub use attachment::{REMEDY as FIX_ATTACHMENT, propose as attachment};
pub use claim::{PROTECT as PROTECT_CLAIM, REMEDY as FIX_CLAIM, propose as claim};
pub use volume::{
    ATTACHER as REMOVE_ATTACHER_FINALIZER, EXTERNAL as REMOVE_EXTERNAL_FINALIZER,
    IN_TREE_FINALIZER as REMOVE_IN_TREE_FINALIZER, THIRD_PARTY as REMOVE_THIRD_PARTY_FINALIZER,
    fix as volume,
};

/// The name of this purpose in plans and in the journal.
pub const ID: &str = "fix-finalizers";

/// The user's request about finalizers, besides the settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FinalizerRequest {
    /// Whether the user named the object: some steps are never proposed for what a filter chose.
    pub named: bool,
    /// Volumes that do not exist any more and that, by the journal, referenced other backend
    /// volumes than those that are repaired.
    pub elsewhere: BTreeSet<Box<str>>,
}

impl FinalizerRequest {
    /// Returns the request for an object that the user named.
    pub fn named() -> Self {
        Self { named: true, ..Self::default() }
    }
}

/// Adds to a command the danger flags on which a proposal relies, with their values; of several
/// `--driver-absent` only the one for `absent`, where that is known.
fn add_flags(cx: &Cx, command: &mut String, relies_on: &[&'static str], absent: Option<&Text>) {
    let settings = cx.settings();
    for flag in relies_on {
        let values: Vec<&str> = match *flag {
            "--driver-absent" => {
                let all = settings.absent_drivers.iter();
                all.filter(|it| absent.is_none_or(|only| only == *it)).map(|it| &**it).collect()
            }
            "--remove-finalizer" => settings.remove_finalizer.iter().map(|it| &**it).collect(),
            _ => {
                let _ = write!(command, " {flag}");
                continue;
            }
        };
        for value in values {
            let _ = write!(command, " {flag} {value}");
        }
    }
}

/// Describes the controller that should remove a third-party finalizer.
pub(super) fn describe_third_party(metadata: &Metadata, finalizer: &str) -> String {
    let managers = facts::managers_of(metadata, finalizer);
    let set_by = match managers.is_empty() {
        true => String::new(),
        false => format!(" (managedFields name {})", managers.join(", ")),
    };
    format!("the controller that set it{set_by} should remove it; whether it exists is unknown")
}

/// The known state of the controller that should remove a finalizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ControllerLiveness {
    /// Running. kube-controller-manager: it always honors the reclaim policy.
    Alive,
    /// Running, but it may still have to finish something before it removes the finalizer.
    Working,
    /// Proven absent. kube-controller-manager: it can be one that does not remove the finalizer.
    Absent,
    /// None of the above is certain.
    Unknown,
    /// Unknown, because it is unknown which controller it is.
    Nameless,
    /// Unknown, because an object was not read.
    Unread,
}

impl ControllerLiveness {
    /// Returns the known state of a controller.
    fn of(controller: &FinalizerController) -> Self {
        match (controller.liveness(), controller.was_seen()) {
            (Liveness::Alive, _) => Self::Alive,
            (Liveness::Absent, _) => Self::Absent,
            (Liveness::Unknown, Ok(())) => Self::Unknown,
            (Liveness::Unknown, Err(_)) => Self::Unread,
        }
    }
}

/// Whether `--remove-finalizer` names a third-party finalizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Consent {
    /// The flag does not name the finalizer.
    Missing,
    /// The flag names the finalizer.
    Given,
}

impl Consent {
    /// Returns `Given` where the flag names the finalizer.
    const fn new(is_named_by_flag: bool) -> Self {
        if is_named_by_flag { Self::Given } else { Self::Missing }
    }
}

/// The decision of a table about a finalizer or an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FinalizerDecision<Step, Reason> {
    /// This step is done.
    Do(Step),
    /// Nothing is done, for this reason.
    Leave(Reason),
}

/// The input of a decision that was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NotRead {
    /// The state of the controller that should remove the finalizer.
    Controller,
    /// The objects that may use the volume.
    Users,
}

/// Adds `kubernetes.io/pv-protection`, the one finalizer that may be added by hand (P-FIN-ADD).
pub static ADD_PROTECTION: Remedy = Remedy {
    id: "add-protection",
    needs: &[Kind::PersistentVolume],
    writes: &[("patch", "persistentvolumes")],
    command: |_, volume| {
        Some(format!("fix-finalizers {}", facts::on_command_line(&volume.object())))
    },
    propose,
};

fn propose(cx: &Cx, volume: &Volume) -> Seen<Result<Proposal, Refusal>> {
    let effect = Effect {
        what: format!("adds finalizer {PV_PROTECTION}, which keeps the object while it is bound"),
        risk: "none while kube-controller-manager runs; without it, deleting the volume will hang"
            .to_owned(),
    };
    let refuse =
        |reason: &str| Ok(Err(Refusal { reason: reason.to_owned(), effect: effect.clone() }));
    if let Err(reason) = checks::not_exempt(cx, &volume.metadata) {
        return refuse(&reason);
    }
    if volume.metadata.deleting.is_some() {
        return refuse("the API server allows no new finalizer on a terminating object");
    }
    if volume.metadata.has_finalizer(PV_PROTECTION) {
        return refuse("it has the finalizer");
    }
    Ok(Ok(Proposal {
        steps: vec![Action::AddFinalizer {
            object: volume.object(),
            finalizer: PV_PROTECTION.into(),
        }],
        effect,
        undo: Undo::Never("every volume has this finalizer: it would be added again"),
        notices: Vec::new(),
        relies_on: Vec::new(),
        keeps_backend: false,
        loses: Loss::default(),
    }))
}

#[cfg(test)]
pub(super) mod fixture;
#[cfg(test)]
mod tests;
