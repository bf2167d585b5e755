//! F101: a claim whose owner is of a kind that the server does not serve any more.

use crate::cluster::{Cx, Seen};
use crate::facts::{self, ClaimDataEffect, OwnerPresence, Ownership};
use crate::model::{Claim, Finding, OwnerReference, Severity, VerdictState};
use crate::remedies;
use crate::rules::{CapacityRisk, Judge, Rule, finding::shown_uid};

pub(super) static RULE: Rule = Rule {
    id: "pvc-owner-kind-not-served",
    severity: Severity::High,
    capacity_risk: CapacityRisk::Data,
    needs: facts::needs![deletion: PersistentVolumeClaim, PartialObjectMetadata],
    remedies: &[&remedies::RETAIN],
    title: "The server does not serve the kind of a claim's owner: the claim is deleted when it does again",
    danger: "The custom resource definition of the owner was deleted, and the owner with it. The garbage collector cannot \
             look the owner up and leaves the claim alone. Once the definition is installed again, by an upgrade or a \
             reinstallation, the claim is deleted within seconds.",
    remedy: "`kubectl storage retain pvc/NAME` keeps the data in any case. If the claim is to stay, `kubectl storage disown \
             pvc/NAME --owner-kind-gone` removes the owner reference before the kind is served again.",
    source: "kubernetes garbagecollector.go, attemptToDeleteItem; seen on 1.36.3",
    judge: &[Judge::Claim(judge)],
};

fn judge(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
    if claim.metadata.deleting.is_some() {
        return Ok(None);
    }
    let mut unserved = Vec::new();
    for owner in &claim.metadata.owners {
        match facts::ownership(cx, claim, owner)? {
            // One owner that exists is enough to keep it.
            Ownership::Solid => return Ok(None),
            Ownership::NotServed => unserved.push(owner),
            Ownership::Dangling => {}
        }
    }
    let Some(first) = unserved.first() else { return Ok(None) };
    let fate = facts::data_effect(cx, claim);
    let consequence = fate.words("the claim is deleted");
    let summary = format!(
        "the server does not serve kind {} ({}) of its owner {}: once it does again, the garbage collector deletes the claim; {consequence}",
        first.kind, first.api_version, first.name
    );
    let mut finding = RULE
        .on_claim(claim, summary)
        .shows("consequence", consequence)
        .about_volume(fate.volume())
        .relates(fate.volume().map(crate::model::Volume::object));
    let disown = disown(cx, claim, &unserved);
    for owner in unserved {
        let uid = shown_uid(owner.uid.as_ref());
        let named = format!("{} {} {} uid {uid}", owner.api_version, owner.kind, owner.name);
        finding = finding.shows("owner of a kind that is not served", named);
    }
    Ok(Some(match fate {
        ClaimDataEffect::Destroyed(volume) | ClaimDataEffect::Scrubbed(volume) => {
            let mut finding = finding.remedied_by(cx, volume, &remedies::RETAIN);
            if finding.verdict.state == VerdictState::Fixable {
                finding.verdict.reason =
                    format!("keep the data first; then {disown} keeps the claim");
            }
            finding
        }
        ClaimDataEffect::Kept(_)
        | ClaimDataEffect::Forgotten(_)
        | ClaimDataEffect::NoVolume
        | ClaimDataEffect::Unseen(_) => {
            let reason = format!("if the claim is to stay: {disown} removes this owner reference");
            finding.severe(Severity::Medium).report_only(reason)
        }
    }))
}

/// The command that removes references to owners whose kind is not served. Where it is served in
/// another version, that version proves that the owner does not exist.
fn disown(cx: &Cx, claim: &Claim, unserved: &[&OwnerReference]) -> String {
    let is_gone = |owner: &&OwnerReference| {
        facts::owner_presence(cx, claim, owner) == Ok(OwnerPresence::KindGone)
    };
    let flag = if unserved.iter().any(is_gone) { " --owner-kind-gone" } else { "" };
    let (name, namespace) = (&claim.metadata.name, &claim.namespace);
    format!("`kubectl storage disown pvc/{name} -n {namespace}{flag}`")
}
