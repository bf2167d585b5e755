//! F68: the name of a claim matches templates of several `StatefulSet`s, or of one whose labels it does
//! not have.

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
    title: "The name of a claim matches templates of several StatefulSets, or of one that did not create it",
    danger: "Template data-a of set web and template data of set a-web create claims of the same names. Both \
             sets use the claim, if both have its ordinal, and each applies its own retention policy to it. Once one \
             of them is deleted, the labels of its claims still contradict the selector of the other.",
    remedy: "The tool changes nothing. It applies no retention policy to such a claim unless an owner, a \
             pod or its labels prove which set it belongs to. Rename a template or a set; that requires copying the data.",
    source: "stateful_set_utils.go, getPersistentVolumeClaimName",
    judge: &[Judge::Claim(judge)],
};

fn judge(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
    let membership = membership(cx, claim)?;
    let pairs = &membership.pairs;
    let summary = match (&**pairs, &membership.decided) {
        ([], _) | ([_], Some(_)) => return Ok(None),
        ([only], None) => {
            let Some(it) = only.contradicted_by(claim) else { return Ok(None) };
            format!(
                "its name matches a template of {}, but its label {}={} contradicts the selector of that set, which has {}: which set it belongs to is unknown",
                only.set.metadata.name, it.key, it.value, it.wanted
            )
        }
        (_, Some(member)) => format!(
            "its name matches templates of {} StatefulSets; an owner, a pod or its labels prove that it belongs to {}",
            pairs.len(),
            member.set.metadata.name
        ),
        (_, None) => {
            format!(
                "its name matches templates of {} StatefulSets; which one it belongs to is unknown",
                pairs.len()
            )
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
