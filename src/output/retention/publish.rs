//! Puts what is known of sets and their claims into the public shape.

use super::{
    ClaimTotals, Effect, RetentionClaim, RetentionOther, RetentionOwner, RetentionPolicyShown,
    RetentionSet, RetentionSummary,
};
use crate::{
    facts::retention::{Ordinals, WantedOwners, is_paused},
    model::{
        Claim, Kind, ManagedField, Metadata, ObjectRef, StatefulSet, Time, format_bytes,
        format_time,
    },
    output::{
        publish::{age, reference},
        wire::{Evidence, Finding},
    },
    rules::retention::{
        ClaimFate, ClaimPlace, ClaimRetention, OtherClaim, OtherReason, SetRetention,
    },
};

/// The claims added up, while sets are shown.
#[derive(Debug, Default)]
pub(crate) struct RetentionTotals {
    summary: RetentionSummary,
}

impl RetentionTotals {
    /// Counts a set without claim templates.
    pub(crate) fn skip(&mut self) {
        self.summary.sets_without_templates += 1;
    }

    /// Counts a set and its claims.
    pub(crate) fn set(&mut self, set: &SetRetention) {
        let summary = &mut self.summary;
        summary.sets += 1;
        let paused = is_paused(set.set);
        summary.paused_sets += usize::from(paused);
        for it in &set.claims {
            add(&mut summary.claims, it.claim);
            if it.agreement().is_contradiction() {
                add(&mut summary.contradicting, it.claim);
            }
            match (it.place, paused) {
                (ClaimPlace::Leftover, true) => add(&mut summary.paused, it.claim),
                (ClaimPlace::Leftover, false) => add(&mut summary.leftovers, it.claim),
                (ClaimPlace::InRange | ClaimPlace::Condemned | ClaimPlace::Terminating, _) => {}
            }
        }
    }

    /// Counts a claim of no set.
    pub(crate) fn other(&mut self, other: &OtherClaim) {
        let totals = match other.reason {
            OtherReason::Ambiguous => &mut self.summary.ambiguous,
            OtherReason::OldTemplate | OtherReason::DeletedSet => &mut self.summary.of_deleted_sets,
            OtherReason::Unmanaged => &mut self.summary.unmanaged,
        };
        add(totals, other.claim);
    }

    /// The sums.
    pub(crate) fn finish(mut self) -> RetentionSummary {
        let summary = &mut self.summary;
        for totals in [
            &mut summary.claims,
            &mut summary.contradicting,
            &mut summary.leftovers,
            &mut summary.paused,
            &mut summary.of_deleted_sets,
            &mut summary.unmanaged,
            &mut summary.ambiguous,
        ] {
            totals.size = format_bytes(totals.bytes);
        }
        self.summary
    }
}

fn add(totals: &mut ClaimTotals, claim: &Claim) {
    totals.count += 1;
    totals.bytes = totals.bytes.saturating_add(claim.capacity.or(claim.requested).unwrap_or(0));
}

/// Puts a set into its public shape, with the findings about it and about each of its claims.
pub(crate) fn set(
    shown: &SetRetention,
    now: Option<Time>,
    findings: Vec<Finding>,
    of_claim: impl Fn(&ClaimRetention) -> Vec<Finding>,
) -> RetentionSet {
    let set = shown.set;
    RetentionSet {
        object: reference(&set.object()),
        state: state(set).to_owned(),
        replicas: set.replicas.unwrap_or(1),
        ordinals: Ordinals::of(set).to_string(),
        templates: set.templates.iter().map(|it| it.name.to_string()).collect(),
        policy: set.retention.as_ref().map(|policy| RetentionPolicyShown {
            when_deleted: policy.when_deleted.to_string(),
            when_scaled: policy.when_scaled.to_string(),
        }),
        observed: set.observed_generation >= set.generation,
        scaled_by: shown.scalers.iter().map(ToString::to_string).collect(),
        kept_by: shown.keeper.clone(),
        evidence: evidence(
            &set.object(),
            &set.metadata,
            &[
                ("f:persistentVolumeClaimRetentionPolicy", ManagedField::RetentionPolicy),
                ("f:replicas", ManagedField::Replicas),
                ("f:ordinals", ManagedField::Ordinals),
            ],
        ),
        findings,
        claims: shown.claims.iter().map(|it| claim(it, now, of_claim(it))).collect(),
    }
}

/// A set in a word.
fn state(set: &StatefulSet) -> &'static str {
    match set.metadata.deleting {
        Some(_) => "terminating",
        None if is_paused(set) => "paused",
        None => "running",
    }
}

/// The managers of some fields, with their times.
fn evidence(
    object: &ObjectRef,
    metadata: &Metadata,
    fields: &[(&str, ManagedField)],
) -> Vec<Evidence> {
    let of_field = |(name, field): &(&str, ManagedField)| {
        let managers: Vec<_> = metadata
            .managers_of(field)
            .map(|it| match it.time {
                Some(time) => format!("{} at {}", it.manager, format_time(&time)),
                None => it.manager.to_owned(),
            })
            .collect();
        (!managers.is_empty()).then(|| Evidence {
            object: object.to_string(),
            field: format!("metadata.managedFields of {name}"),
            value: managers.join(", "),
        })
    };
    fields.iter().filter_map(of_field).collect()
}

/// Puts a claim into its public shape.
fn claim(shown: &ClaimRetention, now: Option<Time>, findings: Vec<Finding>) -> RetentionClaim {
    let row = shown.claim;
    let object = row.object();
    let owner = |it: &crate::model::OwnerReference| RetentionOwner {
        api_version: it.api_version.to_string(),
        kind: it.kind.to_string(),
        name: it.name.to_string(),
        uid: it.uid.as_ref().map(ToString::to_string),
        controller: it.controller,
        surplus: shown
            .owners
            .surplus
            .iter()
            .find(|(surplus, _)| *surplus == it)
            .map(|(_, why)| why.name().to_owned()),
    };
    let mut proof =
        evidence(&object, &row.metadata, &[("f:ownerReferences", ManagedField::OwnerReferences)]);
    proof.extend(row.condition("Unused").and_then(|it| it.since).map(|since| Evidence {
        object: object.to_string(),
        field: "status.conditions[Unused].lastTransitionTime".to_owned(),
        value: format_time(&since),
    }));
    RetentionClaim {
        template: shown.template.to_string(),
        ordinal: shown.ordinal,
        place: shown.place.name().to_owned(),
        pod: shown.pod.map(|pod| pod.name.to_string()),
        age: (shown.place == ClaimPlace::Leftover).then(|| age(shown.age, now)),
        size: size(row),
        volume: row.volume_name.as_deref().map(str::to_owned),
        reclaim_policy: shown.volume.map(|it| it.reclaim_policy.to_string()),
        owners: row.metadata.owners.iter().map(owner).collect(),
        should_be_owned_by: should(shown.owners.wanted),
        agreement: shown.agreement().name().to_owned(),
        because: shown.agreement_reason(),
        contested: shown.contested,
        if_set_deleted: effect(&shown.if_deleted),
        if_scaled_to_zero: effect(&shown.if_scaled),
        evidence: proof,
        findings,
        bytes: row.capacity.or(row.requested).unwrap_or(0),
        object: reference(&object),
    }
}

fn should(wanted: WantedOwners) -> Vec<String> {
    let kinds = [(wanted.set, Kind::StatefulSet), (wanted.pod, Kind::Pod)];
    kinds.into_iter().filter(|(wanted, _)| *wanted).map(|it| it.1.name().to_owned()).collect()
}

pub(super) fn effect(fate: &ClaimFate) -> Effect {
    let data = fate.data.as_ref();
    let mut because = vec![fate.because.clone()];
    because.extend(data.map(|it| it.because.clone()));
    Effect {
        claim: fate.claim.name().to_owned(),
        data: data.map(|it| it.data.name().to_owned()),
        because,
        owners: fate.owners.iter().map(|it| format!("{} {}", it.kind, it.name)).collect(),
        waits_for: fate.held_by.clone(),
    }
}

fn size(claim: &Claim) -> Option<String> {
    claim.capacity.or(claim.requested).map(format_bytes)
}

/// Puts a claim of no set into its public shape.
pub(crate) fn other(shown: &OtherClaim) -> RetentionOther {
    RetentionOther {
        object: reference(&shown.claim.object()),
        reason: shown.reason.name().to_owned(),
        summary: shown.summary.clone(),
        size: size(shown.claim),
    }
}
