//! F68: the name of a claim matches templates of several `StatefulSet`s.

use crate::cluster::{Cx, Seen};
use crate::facts::retention::{Ordinals, membership};
use crate::model::{Claim, Finding, Kind, Severity};
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static RULE: Rule = Rule {
    id: "sts-ambiguous-claim-name",
    severity: Severity::High,
    capacity_risk: CapacityRisk::Data,
    needs: &[Kind::PersistentVolumeClaim, Kind::StatefulSet, Kind::Pod],
    remedies: &[],
    title: "Two sets call a claim their own, since its name can be read in two ways",
    danger: "Template data-a of set web and template data of set a-web make claims of the same names. Both sets use the \
             claim, if both want its ordinal, and each applies its own retention policy to it.",
    remedy: "No retention policy is reasoned about for such a claim unless an owner or a pod tells whose it is. Rename a \
             template or a set; that takes a copy of the data.",
    source: "stateful_set_utils.go, getPersistentVolumeClaimName",
    judge: &[Judge::Claim(judge)],
};

fn judge(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
    let membership = membership(cx, claim)?;
    let pairs = &membership.pairs;
    if pairs.len() < 2 {
        return Ok(None);
    }
    let summary = match &membership.decided {
        Some(member) => format!(
            "{} sets make claims of this name; an owner or a pod says that it is set {}'s",
            pairs.len(),
            member.set.metadata.name
        ),
        None => {
            format!("{} sets make claims of this name, and nothing tells whose it is", pairs.len())
        }
    };
    let mut finding = RULE.on_claim(claim, summary).shows_owners(claim);
    for pair in pairs {
        let range = Ordinals::of(pair.set);
        let parsed = format!(
            "template {}, set {}, ordinal {} of {range}",
            pair.template, pair.set.metadata.name, pair.ordinal
        );
        finding = finding.shows("name", parsed).shows_set(pair.set).relates([pair.set.object()]);
    }
    Ok(Some(finding.report_only("find out whose data it holds before anything is deleted")))
}
