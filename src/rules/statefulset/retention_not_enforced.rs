//! F71: the retention policy of a `StatefulSet` is not enforced.

use crate::cluster::{Cx, Seen};
use crate::facts::retention::{
    ClaimPod, NoUpdateReason, ReferenceForm, ReferenceUpdate, expected_ownership, membership,
    wanted_owners,
};
use crate::model::{Age, Claim, Finding, ManagedField, Severity, StatefulSet, Threshold, Time};
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static RULE: Rule = Rule {
    id: "sts-retention-not-enforced",
    severity: Severity::Medium,
    capacity_risk: CapacityRisk::None,
    needs: crate::facts::needs![deletion: PersistentVolumeClaim],
    remedies: &[],
    title: "The retention policy of a StatefulSet has no effect: dropped, or not applied to its claims",
    danger: "The feature is off in the server or the controller, or the controller does not run, or may not \
             update claims. Claims that should be deleted remain, and once the controller works again, all of \
             them get owners that delete them.",
    remedy: "Find out why: whether the StatefulSet controller observes the generation of the set, and, before \
             1.32, whether StatefulSetAutoDeletePVC is on in kube-controller-manager too.",
    source: "KEP-1847; stateful_pod_control.go, ClaimsMatchRetentionPolicy",
    judge: &[Judge::StatefulSet(judge)],
};

fn judge(cx: &Cx, set: &StatefulSet) -> Seen<Option<Finding>> {
    if set.retention.is_none() {
        return Ok(dropped(cx, set));
    }
    if set.metadata.deleting.is_some() || !wanted_owners(set.retention.as_ref(), false).set {
        return Ok(None);
    }
    let mut late = Vec::new();
    let mut since: Option<Time> = None;
    for template in &set.templates {
        let stem = format!("{}-{}", template.name, set.metadata.name);
        for (_, claim) in cx.claims_of_stem(&set.namespace, &stem)? {
            match enforcement(cx, set, claim)? {
                Enforcement::Late(changed) => {
                    late.push(claim);
                    since = since.max(changed);
                }
                // One claim is enough to show that the policy is enforced.
                Enforcement::Done => return Ok(None),
                Enforcement::Nothing => {}
            }
        }
    }
    if late.is_empty() || !cx.older_than(&Age::stamped(since), Threshold::Protection) {
        return Ok(None);
    }
    let names: Vec<_> = late.iter().take(SHOWN).map(|claim| &*claim.metadata.name).collect();
    let server = crate::facts::server_version(cx);
    let observed = format!("{} of {}", set.observed_generation, set.generation);
    Ok(Some(
        RULE.on_set(set, "no claim with a pod has the owner references that the retention policy requires")
            .aged(Age::stamped(since))
            .shows("status.observedGeneration", observed)
            .shows("claims whose owners are wrong", late.len().to_string())
            .shows("the first of them", names.join(", "))
            .shows("server", server)
            .relates(late.iter().take(SHOWN).map(|claim| claim.object()))
            .report_only(
                "find out why the StatefulSet controller does not act; do not rely on the policy until then",
            ),
    ))
}

/// A server without the feature drops the policy, but not its manager from managedFields.
fn dropped(cx: &Cx, set: &StatefulSet) -> Option<Finding> {
    let field = ManagedField::RetentionPolicy;
    set.metadata.managers_of(&field).next()?;
    let name = "managers of f:persistentVolumeClaimRetentionPolicy";
    let finding = RULE
        .on_set(
            set,
            "a retention policy was written, and the server dropped it: claims are retained",
        )
        .shows_manager(&set.metadata, &field, name)
        .shows("server", crate::facts::server_version(cx));
    Some(finding.report_only(
        "which policy it was is unknown: switch StatefulSetAutoDeletePVC on, and write the policy again",
    ))
}

/// How many claims are listed, as examples.
const SHOWN: usize = 3;

enum Enforcement {
    /// The controller should have updated its owners, since this time.
    Late(Option<Time>),
    /// The controller has updated its owners.
    Done,
    /// It proves nothing.
    Nothing,
}

fn enforcement(cx: &Cx, set: &StatefulSet, claim: &Claim) -> Seen<Enforcement> {
    let member = membership(cx, claim)?.decided;
    let Some(member) = member.filter(|it| it.set.metadata.name == set.metadata.name) else {
        return Ok(Enforcement::Nothing);
    };
    let name = member.pod_name();
    // With OrderedReady the controller waits until each pod is ready.
    let Some(pod) = member.pod(cx)?.filter(|pod| pod.ready) else {
        return Ok(Enforcement::Nothing);
    };
    let place = member.pod_state(&name, Some(pod));
    if !matches!(place, ClaimPod::InRange(_)) || claim.metadata.deleting.is_some() {
        return Ok(Enforcement::Nothing);
    }
    let changed = set.metadata.last_change(&ManagedField::RetentionPolicy);
    let since = claim.metadata.created.max(changed).max(pod.created);
    let policy = set.retention.as_ref();
    let next =
        |form| expected_ownership(&claim.metadata.owners, member.owner(), policy, &place, form);
    // The form of references of a 1.30 server is unknown: both are accepted.
    let form = ReferenceForm::of(cx.server());
    if form == ReferenceForm::Unknown
        && next(ReferenceForm::Plain) == ReferenceUpdate::Leaves(NoUpdateReason::Matches)
    {
        return Ok(Enforcement::Done);
    }
    Ok(match next(form) {
        ReferenceUpdate::Writes(_) => Enforcement::Late(since),
        ReferenceUpdate::Leaves(NoUpdateReason::Matches) => Enforcement::Done,
        ReferenceUpdate::Leaves(_) => Enforcement::Nothing,
    })
}
