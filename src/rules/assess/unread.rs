//! Gaps of an assessment, with the rules that could therefore not judge.

use std::collections::{BTreeMap, BTreeSet};

use super::Assessor;
use crate::cluster::{Cluster, Coverage, Gap, Unseen};
use crate::journal::kept_backend::CONFIG_MAP;
use crate::model::{Answer, Kind, Question, RuleId};
use crate::rules::{INVENTORY, Judge, REGISTRY, Rule};

/// A gap, with the rules that need what was not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadGap {
    /// The gap.
    pub gap: Gap,
    /// The rules that could therefore not judge all or some objects.
    pub rules: Vec<RuleId>,
}

impl Assessor {
    /// Returns all gaps: kinds, single objects whose existence is uncertain, and answers that verdicts need.
    ///
    /// Of many single objects of one kind that unread the same rules, the first is named.
    pub fn unread(&self, cluster: &Cluster) -> Vec<UnreadGap> {
        let of_kinds =
            cluster.gaps().map(|gap| UnreadGap { gap: gap.clone(), rules: rules_needing(gap) });
        let mut places: BTreeMap<_, (Gap, usize, BTreeSet<RuleId>)> = BTreeMap::new();
        for (rule, unseen) in self.cases.unseen() {
            let Unseen { kind, namespace, reason } = unseen.clone();
            let gap = Gap { kind, namespace, reason };
            let place = (gap.kind, gap.namespace.clone());
            let (first, count, rules) =
                places.entry(place).or_insert_with(|| (gap.clone(), 0, BTreeSet::new()));
            *count += usize::from(gap.reason != first.reason);
            rules.insert(rule);
        }
        let single = places.into_values().map(|(mut gap, others, rules)| {
            if others > 0 {
                gap.reason.push_str(" (and more of the kind)");
            }
            UnreadGap { gap, rules: rules.into_iter().collect() }
        });
        let mut unread: Vec<_> = of_kinds.chain(single).collect();
        for (question, answer) in cluster.answers() {
            let Some(gap) = unanswered_gap(question, answer) else { continue };
            if !unread.iter().any(|known| known.gap == gap) {
                let rules = match question {
                    Question::KeptBackends { .. } => rules_about_backends(),
                    _ => rules_needing(&gap),
                };
                unread.push(UnreadGap { gap, rules });
            }
        }
        unread
    }
}

/// Whether a single object was not read, rather than its whole kind, or a kind that only this rule had a reason to
/// read.
pub(super) fn is_single(cluster: &Cluster, unseen: &Unseen) -> bool {
    match unseen.kind {
        // Without an answer to these a finding lacks a detail, but no finding is missing.
        Kind::Secret | Kind::ConfigMap | Kind::SubjectAccessReview => false,
        Kind::PartialObjectMetadata => true,
        kind if kind.is_of_guard() => cluster.coverages().any(|(reach, coverage)| {
            reach.kind == kind && matches!(coverage, Coverage::Withheld(_))
        }),
        kind => cluster.reach(kind, unseen.namespace.as_ref()).is_ok(),
    }
}

/// Returns the gap that an unanswered question leaves in a verdict; `None` if it was answered.
///
/// Missing permissions to read Secrets, permissions and records are no gap of an audit. Objects and
/// owners are reported by the rules that need them.
fn unanswered_gap(question: &Question, answer: &Answer) -> Option<Gap> {
    let what = match question {
        // No rule asks about custom resources and owners of owners: what is deleted depends on them,
        // and says so.
        Question::Exists(_)
        | Question::OwnerExists(_)
        | Question::OwnersOf(_)
        | Question::CustomUsers { .. } => return None,
        Question::SecretExists { namespace, name } => format!("secret {namespace}/{name}"),
        Question::MayPatchVolumes { namespace, service_account } => {
            format!("what ServiceAccount {namespace}/{service_account} may do")
        }
        Question::KeptBackends { namespace } => format!("configmap {namespace}/{CONFIG_MAP}"),
        Question::Announcements { namespace } => {
            format!("what is announced by the records in namespace {namespace}")
        }
    };
    let reason = match answer {
        Answer::Yes
        | Answer::Is(_)
        | Answer::Owner(_)
        | Answer::Users(_)
        | Answer::Announcements(_)
        | Answer::No
        | Answer::Forbidden => return None,
        Answer::Unanswered(reason) => format!("{what}: {reason}"),
        Answer::NotServed { .. } => format!("{what}: its kind is not served"),
    };
    Some(Gap { kind: question.kind(), namespace: question.namespace().cloned(), reason })
}

/// The rule about disks that lie in the cluster.
const ORPHAN: RuleId = "backend-volume-orphan";

/// The rules that need the kind of a gap, in the order of the registry.
fn rules_needing(gap: &Gap) -> Vec<RuleId> {
    if gap.kind.is_inventory() {
        return INVENTORY.iter().filter(|rule| rule.id == ORPHAN).map(|rule| rule.id).collect();
    }
    REGISTRY.iter().filter(|rule| rule.looks_at().contains(&gap.kind)).map(|rule| rule.id).collect()
}

/// The rules about kept backend volumes.
fn rules_about_backends() -> Vec<RuleId> {
    let about = |rule: &&&Rule| rule.judge.iter().any(|it| matches!(it, Judge::Backend(_)));
    REGISTRY.iter().filter(about).map(|rule| rule.id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_answered_is_a_gap_and_what_may_not_be_asked_is_none() {
        let secret = Question::SecretExists { namespace: "storage".into(), name: "key".into() };
        let review = Question::MayPatchVolumes {
            namespace: "storage".into(),
            service_account: "provisioner".into(),
        };
        let record = Question::KeptBackends { namespace: "kube-system".into() };
        let late = Answer::Unanswered("timed out".into());
        for (question, answer, is_gap) in [
            (&secret, &Answer::Yes, false),
            (&secret, &Answer::No, false),
            (&secret, &Answer::Forbidden, false),
            (&review, &Answer::Forbidden, false),
            (&secret, &late, true),
            (&review, &late, true),
            (&record, &Answer::No, false),
            (&record, &Answer::Forbidden, false),
            (&record, &late, true),
        ] {
            assert_eq!(
                unanswered_gap(question, answer).is_some(),
                is_gap,
                "{question:?} {answer:?}"
            );
        }
    }
}
