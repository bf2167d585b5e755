//! Findings about `StatefulSet`s, their claims and their retention policies.

mod leftovers;
mod owner_references;
mod policy;

use super::Rule;
use super::finding::{shown_owner, shown_uid, time};
use crate::cluster::Cx;
use crate::facts::retention::{self, Ordinals, TemplateClaim, VolumeEffect};
use crate::model::{
    Claim, Finding, ManagedField, OwnerReference, RetentionPolicy, Severity, StatefulSet,
    VerdictState, Volume,
};
use crate::remedies;

/// The rules about `StatefulSet`s, their claims and their policies.
pub(super) static RULES: &[&Rule] = &[
    &leftovers::AMBIGUOUS_CLAIM_NAME,
    &policy::AUTOSCALER_DELETES_CLAIMS,
    &owner_references::CLAIM_OWNED_BY_POD_IN_RANGE,
    &leftovers::DELETED_LEFTOVER,
    &owner_references::FOREIGN_CONTROLLER,
    &owner_references::MISSING_SET_OWNERREF,
    &owner_references::NONCONTROLLER_REF,
    &owner_references::OWNERREF_CONTRADICTS_RETAIN,
    &policy::RETENTION_NOT_ENFORCED,
    &leftovers::SCALED_DOWN_LEFTOVER,
    &owner_references::STALE_OWNERREF,
    &leftovers::TEMPLATE_DRIFT,
    &policy::UNKNOWN_POLICY,
];

impl Rule {
    /// Begins a finding about a set.
    fn on_set(&'static self, set: &StatefulSet, summary: impl Into<String>) -> Finding {
        let version = set.metadata.resource_version.to_string();
        self.about(set.object(), summary.into())
            .shows("metadata.resourceVersion", version)
            .shows_set(set)
    }
}

impl Finding {
    /// Adds the fields of a set that decide about its claims.
    fn shows_set(self, set: &StatefulSet) -> Self {
        let object = set.object();
        let finding = self
            .shows_of(&object, "metadata.uid", shown_uid(set.metadata.uid.as_ref()))
            .shows_of(&object, "spec.persistentVolumeClaimRetentionPolicy", policy(set))
            .shows_of(&object, "ordinals", Ordinals::of(set).to_string());
        let changed = set.metadata.last_change(&ManagedField::RetentionPolicy);
        let finding = match changed {
            Some(_) => finding.shows_of(
                &object,
                "metadata.managedFields time of f:persistentVolumeClaimRetentionPolicy",
                time(changed),
            ),
            None => finding,
        };
        match set.metadata.deleting {
            Some(_) => {
                finding.shows_of(&object, "metadata.deletionTimestamp", time(set.metadata.deleting))
            }
            None => finding,
        }
    }

    /// Adds the set of a claim, and the fields that decide about the claim.
    fn shows_member(self, claim: &Claim, member: &TemplateClaim) -> Self {
        let parsed = format!(
            "template {}, set {}, ordinal {}",
            member.template, member.set.metadata.name, member.ordinal
        );
        let finding = self.shows("name", parsed).shows_owners(claim).shows_set(member.set);
        finding.relates([member.set.object()])
    }

    /// Adds one owner reference, under a field name of its own.
    fn shows_owner(self, field: &'static str, owner: &OwnerReference) -> Self {
        self.shows(field, named(owner))
    }

    /// Adds all owner references of a claim.
    fn shows_owners(self, claim: &Claim) -> Self {
        if claim.metadata.owners.is_empty() {
            return self.shows("metadata.ownerReferences", "<none>");
        }
        let finding = claim
            .metadata
            .owners
            .iter()
            .fold(self, |finding, it| finding.shows("metadata.ownerReferences", named(it)));
        let field = ManagedField::OwnerReferences;
        finding.shows_manager(&claim.metadata, &field, "managers of the references")
    }

    /// Offers to remove the owner references because of which a claim is deleted; `urgent`: its
    /// deletion may have begun, so that its data is saved first. Where they are not removed, the data
    /// can be saved all the same. If the data is not destroyed, the finding is less severe.
    fn keeps_claim(self, cx: &Cx, claim: &Claim, urgent: bool) -> Self {
        let (finding, effect, volume) = self.weighs_data(cx, claim);
        let destroys = matches!(effect, VolumeEffect::Destroyed | VolumeEffect::Scrubbed);
        let destroyed = volume.filter(|_| destroys);
        let first = destroyed.filter(|_| urgent);
        let finding = finding.saved_from_collector(cx, claim, first, &remedies::REMOVE_OWNERS);
        let blocked = finding.verdict.state == VerdictState::Blocked;
        let Some(volume) = destroyed.filter(|_| blocked && !urgent) else { return finding };
        let reason = finding.verdict.reason.clone();
        let mut finding = finding.remedied_by(cx, volume, &remedies::RETAIN);
        finding.verdict.reason = format!("the owner reference remains ({reason}); keep the data");
        finding
    }

    /// Adds the effect of the deletion of a claim on its volume, which decides about the severity.
    fn weighs_data<'a>(
        self,
        cx: &Cx<'a>,
        claim: &Claim,
    ) -> (Self, VolumeEffect, Option<&'a Volume>) {
        let (fate, volume) = retention::volume_effect(cx, claim);
        let finding = self.shows("consequence", fate.describe()).about_volume(volume);
        let mut finding = finding.relates(volume.map(crate::model::Volume::object));
        finding.severity = match fate {
            VolumeEffect::Destroyed | VolumeEffect::Scrubbed | VolumeEffect::Unknown => {
                finding.severity
            }
            VolumeEffect::Released | VolumeEffect::Forgotten => {
                finding.severity.max(Severity::High)
            }
            VolumeEffect::None => Severity::Low,
        };
        (finding, fate, volume)
    }
}

/// Formats a retention policy as evidence.
fn policy(set: &StatefulSet) -> String {
    set.retention.as_ref().map_or_else(
        || "<none>".to_owned(),
        |RetentionPolicy { when_deleted, when_scaled }| {
            format!("whenDeleted {when_deleted}, whenScaled {when_scaled}")
        },
    )
}

/// Formats an owner reference of a claim as evidence: also whether it is the controller.
fn named(owner: &OwnerReference) -> String {
    let controller = if owner.controller { ", controller" } else { "" };
    format!("{}{controller}", shown_owner(owner))
}
