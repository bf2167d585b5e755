//! One finalizer of a claim: whose it is, who should remove it, and what is done about it.

use super::super::{Asked, remover::whoever_set};
use super::decision::{Decision, Keeper, Row, Whose, Why, Word, decide};
use crate::cluster::{Cx, Seen};
use crate::facts::{self, FinalizerController};
use crate::model::{Age, Claim, Liveness, Text, Threshold, format_duration};

/// The order in which finalizers are removed: the protection goes last.
const ORDER: [Whose; 5] = [
    Whose::CloneSource,
    Whose::SnapshotSource,
    Whose::Collector,
    Whose::Foreign,
    Whose::Protection,
];

/// One finalizer of a claim that is being deleted.
#[derive(Debug)]
pub(super) struct Held<'a> {
    pub(super) finalizer: Text,
    pub(super) whose: Whose,
    claim: &'a Claim,
    remover: Option<FinalizerController>,
}

impl<'a> Held<'a> {
    /// Returns all of a claim's, in the order in which they would be removed.
    pub(super) fn all(cx: &Cx, claim: &'a Claim) -> Vec<Self> {
        let mut all: Vec<_> = claim
            .metadata
            .finalizers
            .iter()
            .map(|finalizer| {
                let whose = Whose::of(finalizer);
                let remover = match whose {
                    Whose::Protection | Whose::Collector => {
                        Some(FinalizerController::controller_manager(cx))
                    }
                    Whose::CloneSource => facts::copier_of(cx, claim)
                        .map(|driver| FinalizerController::provisioner(cx, &driver)),
                    Whose::SnapshotSource => Some(FinalizerController::snapshot_controller(cx)),
                    Whose::Foreign => None,
                };
                Self { finalizer: Text::clone(finalizer), whose, claim, remover }
            })
            .collect();
        let place = |it: &Self| ORDER.iter().position(|whose| *whose == it.whose);
        // Finalizers of others keep the order of their names, whoever reorders the list.
        all.sort_by(|a, b| (place(a), &a.finalizer).cmp(&(place(b), &b.finalizer)));
        all
    }

    /// What is done about it.
    ///
    /// # Errors
    /// When what was not seen decides whether its controller is there.
    pub(super) fn decide(&self, cx: &Cx, asked: &Asked, used: bool) -> Seen<Decision> {
        let decision = decide(Row {
            whose: self.whose,
            used,
            keeper: self.keeper(),
            word: self.word(cx, asked),
            waited: cx.older_than(&Age::stamped(self.claim.metadata.deleting), self.threshold()),
        });
        match (&decision, &self.remover) {
            (
                Decision::Leave(Why::ItsControllerIsUnknown | Why::IsTheCollectors),
                Some(remover),
            ) => remover.was_seen()?,
            (Decision::Leave(_) | Decision::Remove, _) => {}
        }
        Ok(decision)
    }

    const fn threshold(&self) -> Threshold {
        match self.whose {
            Whose::Protection => Threshold::Detach,
            Whose::CloneSource | Whose::SnapshotSource => Threshold::Resync,
            Whose::Collector | Whose::Foreign => Threshold::Stuck,
        }
    }

    fn keeper(&self) -> Keeper {
        match self.remover.as_ref().map(FinalizerController::liveness) {
            Some(Liveness::Alive) => Keeper::Alive,
            Some(Liveness::Absent) => Keeper::Absent,
            Some(Liveness::Unknown) => Keeper::Unknown,
            None => Keeper::Nameless,
        }
    }

    fn word(&self, cx: &Cx, asked: &Asked) -> Word {
        match (cx.settings().remove_finalizer.as_ref() == Some(&self.finalizer), asked.named) {
            (false, _) => Word::Unsaid,
            (true, false) => Word::SaidOfMany,
            (true, true) => Word::Said,
        }
    }

    /// The danger flags without which it would stay.
    pub(super) fn relies_on(&self, cx: &Cx) -> Option<&'static str> {
        match self.whose {
            Whose::Foreign => Some("--remove-finalizer"),
            Whose::Protection | Whose::CloneSource | Whose::SnapshotSource | Whose::Collector => {
                let by_word = self.remover.as_ref().is_some_and(|it| it.is_absent_by_word(cx));
                by_word.then_some("--driver-absent")
            }
        }
    }

    /// Who should remove it, whether they are there, and by which evidence.
    pub(super) fn described(&self) -> String {
        let who = match (&self.remover, self.whose) {
            (Some(remover), Whose::Collector) => {
                format!("the garbage collector removes it, and {}", remover.describe())
            }
            (Some(remover), _) => remover.describe(),
            (None, Whose::Foreign) => whoever_set(&self.claim.metadata, &self.finalizer),
            (
                None,
                Whose::Protection | Whose::CloneSource | Whose::SnapshotSource | Whose::Collector,
            ) => "a csi-provisioner set it, and of which driver is not known".to_owned(),
        };
        format!("{}: {who}", self.finalizer)
    }

    /// Why it is left, and what to do instead.
    pub(super) fn left(&self, cx: &Cx, why: Why) -> String {
        let flag =
            || self.remover.as_ref().map_or_else(String::new, FinalizerController::absent_flag);
        let instead = match why {
            Why::InUse => return self.described(),
            Why::TooSoon => {
                let least = cx.settings().thresholds.get(self.threshold());
                let least = format_duration(least);
                format!("the claim has not been terminating for {least} yet: wait")
            }
            Why::ItsControllerIsAlive => {
                "it removes its finalizer itself: look at its log if it does not".to_owned()
            }
            Why::ItsControllerIsUnknown => {
                format!("see that it runs, or, knowing that it is gone for good, say {}", flag())
            }
            Why::ItsControllerIsNameless => {
                "find out which driver made the copy, and see that its csi-provisioner runs"
                    .to_owned()
            }
            Why::IsTheCollectors => "leave it to it: look at what the claim owns".to_owned(),
            Why::NeedsItsName => {
                format!("ask them; removing it needs --remove-finalizer {}", self.finalizer)
            }
            Why::NeedsTheClaimsName => {
                "--remove-finalizer is only for a claim that is named".to_owned()
            }
        };
        format!("{}; {instead}", self.described())
    }
}
