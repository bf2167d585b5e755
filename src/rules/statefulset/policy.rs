//! Findings about retention policies that are not enforced, are unknown, or let an autoscaler delete claims.

use crate::cluster::{Cx, Seen};
use crate::facts::retention::{
    ClaimPod, NoUpdateReason, ReferenceForm, ReferenceUpdate, Scaler, expected_ownership,
    membership, scalers, wanted_owners,
};
use crate::model::{
    Age, Claim, Finding, Kind, ManagedField, Retention, Severity, StatefulSet, Threshold, Time,
};
use crate::rules::{CapacityRisk, Judge, Rule};

/// F71: the retention policy of a `StatefulSet` is not enforced.
pub(super) static RETENTION_NOT_ENFORCED: Rule = Rule {
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
    judge: &[Judge::StatefulSet(retention_not_enforced)],
};

fn retention_not_enforced(cx: &Cx, set: &StatefulSet) -> Seen<Option<Finding>> {
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
        RETENTION_NOT_ENFORCED.on_set(set, "no claim with a pod has the owner references that the retention policy requires")
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

/// Judges a policy that a server without the feature dropped: its manager remains in managedFields.
fn dropped(cx: &Cx, set: &StatefulSet) -> Option<Finding> {
    let field = ManagedField::RetentionPolicy;
    set.metadata.managers_of(&field).next()?;
    let name = "managers of f:persistentVolumeClaimRetentionPolicy";
    let finding = RETENTION_NOT_ENFORCED
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

/// Number of claims that are listed, as examples.
const SHOWN: usize = 3;

enum Enforcement {
    /// The controller should have updated the owners of the claim, since this time.
    Late(Option<Time>),
    /// The controller has updated the owners of the claim.
    Done,
    /// The claim proves nothing about the controller.
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

/// F69: a retention policy with an unknown value.
pub(super) static UNKNOWN_POLICY: Rule = Rule {
    id: "sts-unknown-policy",
    severity: Severity::Low,
    capacity_risk: CapacityRisk::None,
    needs: &[Kind::StatefulSet],
    remedies: &[],
    title: "The retention policy of a StatefulSet has an unknown value",
    danger: "The controller treats the whole policy as Retain, also the half that it knows: whenDeleted \
             Delete beside an unknown whenScaled deletes nothing.",
    remedy: "The tool treats it as Retain as well. Set both fields to Retain or Delete.",
    source: "stateful_set_utils.go, updateClaimOwnerRefForSetAndPod",
    judge: &[Judge::StatefulSet(unknown_policy)],
};

#[expect(clippy::unnecessary_wraps, reason = "the shape of every rule")]
fn unknown_policy(_: &Cx, set: &StatefulSet) -> Seen<Option<Finding>> {
    let Some(policy) = &set.retention else { return Ok(None) };
    let unknown = [("whenDeleted", &policy.when_deleted), ("whenScaled", &policy.when_scaled)]
        .into_iter()
        .find(|(_, value)| matches!(value, Retention::Other(_)));
    let Some((field, value)) = unknown else { return Ok(None) };
    let summary = format!("{field} is {value}, which is unknown: its claims are retained");
    let both = format!(
        "set both values to Retain or Delete: `kubectl storage retention set sts/{} -n {} --when-deleted Retain \
         --when-scaled Retain`",
        set.metadata.name, set.namespace
    );
    Ok(Some(UNKNOWN_POLICY.on_set(set, summary).report_only(&both)))
}

/// F102: whenScaled is Delete, and something scales the `StatefulSet` by itself.
pub(super) static AUTOSCALER_DELETES_CLAIMS: Rule = Rule {
    id: "sts-autoscaler-deletes-claims",
    severity: Severity::High,
    capacity_risk: CapacityRisk::None,
    needs: &[Kind::StatefulSet, Kind::HorizontalPodAutoscaler],
    remedies: &[],
    title: "A StatefulSet that deletes claims when it is scaled down is scaled by an autoscaler or a schedule",
    danger: "Every scale-down deletes the claims of the pods that it removes, unattended, and with policy \
             Delete of their volumes the data. A downscaler that sets 0 replicas for the night deletes all of them.",
    remedy: "Set whenScaled to Retain, unless what the pods store can be lost at any time: `kubectl storage retention set` does so, \
             and removes the owner references of claims that are about to be deleted.",
    source: "KEP-1847; stateful_set_utils.go, updateClaimOwnerRefForSetAndPod",
    judge: &[Judge::StatefulSet(autoscaler_deletes_claims)],
};

fn autoscaler_deletes_claims(cx: &Cx, set: &StatefulSet) -> Seen<Option<Finding>> {
    let deletes = wanted_owners(set.retention.as_ref(), true).pod;
    if set.metadata.deleting.is_some() || set.templates.is_empty() || !deletes {
        return Ok(None);
    }
    let scalers = scalers(cx, set)?;
    if scalers.is_empty() {
        return Ok(None);
    }
    let named: Vec<_> = scalers.iter().map(ToString::to_string).collect();
    let summary = format!(
        "whenScaled is Delete, and {} sets its number of replicas: every scale-down deletes claims",
        named.join(", ")
    );
    let mut finding = AUTOSCALER_DELETES_CLAIMS.on_set(set, summary);
    for scaler in &scalers {
        finding = finding.shows("scaled by", scaler.to_string());
    }
    let field = ManagedField::Replicas;
    let finding = finding.shows_manager(&set.metadata, &field, "managers of f:replicas");
    let objects = scalers.into_iter().filter_map(|it| match it {
        Scaler::Autoscaler { object, .. } => Some(object),
        Scaler::Manager(_) | Scaler::Downscaler => None,
    });
    Ok(Some(finding.relates(objects).report_only(format!(
        "set whenScaled to Retain, unless the data of its claims can be lost at any time: `kubectl storage retention \
         set sts/{} -n {} --when-scaled Retain`",
        set.metadata.name, set.namespace
    ))))
}
