//! What was not seen, and what that keeps from being judged.

use std::collections::{BTreeMap, BTreeSet};

use super::Assessor;
use crate::cluster::{Cluster, Gap, Unseen};
use crate::journal::kept_backend::CONFIG_MAP;
use crate::model::{Answer, Kind, Question, RuleId};
use crate::rules::{Judge, REGISTRY, Rule};

/// Something that was not seen, with the rules that it blinds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blind {
    /// What was not seen.
    pub gap: Gap,
    /// Which findings could therefore not be judged, everywhere or for some objects.
    pub rules: Vec<RuleId>,
}

impl Assessor {
    /// Everything that was not seen: kinds, single objects whose existence is not certain, and what
    /// verdicts would have to know.
    ///
    /// Of many single objects of one kind that blind the same rules, the first is named.
    pub fn blind(&self, cluster: &Cluster) -> Vec<Blind> {
        let of_kinds = cluster.gaps().map(|gap| Blind { gap: gap.clone(), rules: blinded(gap) });
        let mut places: BTreeMap<_, (Gap, usize, BTreeSet<RuleId>)> = BTreeMap::new();
        for (rule, unseen) in self.cases.values().flat_map(|noted| &noted.unseen) {
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
            Blind { gap, rules: rules.into_iter().collect() }
        });
        let mut blind: Vec<_> = of_kinds.chain(single).collect();
        for (question, answer) in cluster.answers() {
            let Some(gap) = missed(question, answer) else { continue };
            if !blind.iter().any(|known| known.gap == gap) {
                let rules = match question {
                    Question::KeptBackends { .. } => about_backends(),
                    _ => blinded(&gap),
                };
                blind.push(Blind { gap, rules });
            }
        }
        blind
    }
}

/// Whether it is a single object that was not seen, and not its whole kind.
pub(super) fn is_single(cluster: &Cluster, unseen: &Unseen) -> bool {
    match unseen.kind {
        // Whoever may not or cannot ask for these misses a side of a finding, and no object.
        Kind::Secret | Kind::SubjectAccessReview => false,
        Kind::PartialObjectMetadata => true,
        kind => cluster.reach(kind, unseen.namespace.as_ref()).is_ok(),
    }
}

/// Returns what is not seen for want of an answer that a verdict needs; `None` when it was given.
///
/// Secrets, permissions and records that may not be looked at are none of an audit's business. Objects and
/// owners are told of by the rules that look for them.
fn missed(question: &Question, answer: &Answer) -> Option<Gap> {
    let what = match question {
        Question::Exists(_) | Question::OwnerExists(_) => return None,
        Question::SecretExists { namespace, name } => format!("secret {namespace}/{name}"),
        Question::MayPatchVolumes { namespace, service_account } => {
            format!("what ServiceAccount {namespace}/{service_account} may do")
        }
        Question::KeptBackends { namespace } => format!("configmap {namespace}/{CONFIG_MAP}"),
    };
    let reason = match answer {
        Answer::Yes | Answer::Is(_) | Answer::No | Answer::Forbidden => return None,
        Answer::Unanswered(reason) => format!("{what}: {reason}"),
    };
    Some(Gap { kind: question.kind(), namespace: question.namespace().cloned(), reason })
}

/// The gaps with the rules that they blind, in order.
fn blinded(gap: &Gap) -> Vec<RuleId> {
    REGISTRY.iter().filter(|rule| rule.looks_at().contains(&gap.kind)).map(|rule| rule.id).collect()
}

/// The rules about what only a record names.
fn about_backends() -> Vec<RuleId> {
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
            assert_eq!(missed(question, answer).is_some(), is_gap, "{question:?} {answer:?}");
        }
    }
}
