//! Putting a finding together.

use crate::cluster::{Cx, Lookup};
use crate::facts::{self, LastTransition};
use crate::model::{
    Age, Claim, Evidence, Finding, Kind, ManagedField, ObjectKey, ObjectRef, Severity, Text, Time,
    Verdict, VerdictState, Volume, VolumeColumns, format_time,
};
use crate::remedies::Remedy;

use super::Rule;

/// What one rule says of one subject.
#[derive(Debug, Clone, Default)]
pub struct Judged {
    /// The finding, if there is one.
    pub finding: Option<Finding>,
    /// Why it could not be judged, if it could not.
    pub unseen: Option<crate::cluster::Unseen>,
    /// When time alone may change the answer.
    pub wake: Option<Time>,
    /// What was looked at, where somebody listened.
    pub(super) looked: Vec<Lookup>,
}

impl Rule {
    /// Begins a finding about a volume, with the evidence that every such finding shows.
    pub(super) fn on_volume(
        &'static self,
        cx: &Cx,
        volume: &Volume,
        summary: impl Into<String>,
    ) -> Finding {
        let object = volume.object();
        let shown = object.to_string();
        let mut evidence = Vec::with_capacity(12);
        let mut show = |field, value: String| {
            evidence.push(Evidence { object: shown.clone(), field, value });
        };
        show("metadata.resourceVersion", text(&volume.metadata.resource_version));
        show("status.phase", volume.phase.to_string());
        show("spec.persistentVolumeReclaimPolicy", volume.reclaim_policy.to_string());
        match &volume.claim_ref {
            Some(claim) => {
                let uid =
                    claim.uid.as_ref().map_or_else(|| "<none>".to_owned(), ToString::to_string);
                show("spec.claimRef", format!("{} uid {uid}", claim.key));
            }
            None => show("spec.claimRef", "<none>".to_owned()),
        }
        let transition = LastTransition::of(cx, volume);
        show("status.lastPhaseTransitionTime", time(volume.last_phase_transition));
        if transition.managed.is_some() {
            show("metadata.managedFields time of f:status.f:phase", time(transition.managed));
        }
        if volume.metadata.deleting.is_some() {
            show("metadata.deletionTimestamp", time(volume.metadata.deleting));
        }
        if volume.metadata.deleting.is_some() || !volume.metadata.finalizers.is_empty() {
            show("metadata.finalizers", volume.metadata.finalizers.join(", "));
        }
        if let Some(backend) = &volume.backend {
            show("backend volume", backend.to_string());
        }
        show("reclaimed by", facts::owner(volume).describe());
        Finding {
            rule: self.id,
            severity: self.severity,
            object,
            summary: summary.into(),
            age: None,
            evidence,
            related: Vec::new(),
            verdict: Verdict { state: VerdictState::ReportOnly, reason: String::new() },
            offer: None,
            volume: Some(columns(volume)),
        }
    }

    /// Begins a finding about a claim.
    pub(super) fn on_claim(&'static self, claim: &Claim, summary: impl Into<String>) -> Finding {
        let object = claim.object();
        let shown = object.to_string();
        let show = |field, value: String| Evidence { object: shown.clone(), field, value };
        let mut evidence = vec![
            show("metadata.resourceVersion", text(&claim.metadata.resource_version)),
            show("status.phase", claim.phase.to_string()),
            show(
                "spec.volumeName",
                claim.volume_name.as_deref().map_or_else(|| "<none>".into(), Into::into),
            ),
        ];
        if claim.metadata.deleting.is_some() {
            evidence.push(show("metadata.deletionTimestamp", time(claim.metadata.deleting)));
            evidence.push(show("metadata.finalizers", claim.metadata.finalizers.join(", ")));
        }
        Finding {
            rule: self.id,
            severity: self.severity,
            object,
            summary: summary.into(),
            age: None,
            evidence,
            related: Vec::new(),
            verdict: Verdict { state: VerdictState::ReportOnly, reason: String::new() },
            offer: None,
            volume: None,
        }
    }

    /// Begins a finding about a driver, named as its `CSIDriver` object whether that exists or not.
    pub(super) fn on_driver(&'static self, driver: &Text, summary: impl Into<String>) -> Finding {
        Finding {
            rule: self.id,
            severity: self.severity,
            object: ObjectRef { key: ObjectKey::cluster_wide(Kind::CsiDriver, driver), uid: None },
            summary: summary.into(),
            age: None,
            evidence: Vec::new(),
            related: Vec::new(),
            verdict: Verdict { state: VerdictState::ReportOnly, reason: String::new() },
            offer: None,
            volume: None,
        }
    }
}

impl Finding {
    pub(super) fn severe(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    pub(super) fn aged(mut self, age: Age) -> Self {
        self.age = Some(age);
        self
    }

    /// Adds a field of the finding's own object, or a fact about it.
    pub(super) fn shows(self, field: &'static str, value: impl Into<String>) -> Self {
        let object = self.object.clone();
        self.shows_of(&object, field, value)
    }

    /// Adds a field of another object.
    pub(super) fn shows_of(
        mut self,
        object: &ObjectRef,
        field: &'static str,
        value: impl Into<String>,
    ) -> Self {
        self.evidence.push(Evidence { object: object.to_string(), field, value: value.into() });
        self
    }

    pub(super) fn relates(mut self, objects: impl IntoIterator<Item = ObjectRef>) -> Self {
        self.related.extend(objects);
        self
    }

    /// Has tables show what they show of volumes.
    pub(super) fn about_volume(mut self, volume: Option<&Volume>) -> Self {
        self.volume = volume.map(columns).or(self.volume);
        self
    }

    /// Takes a remedy's verdict.
    pub(super) fn remedied_by(mut self, cx: &Cx, volume: &Volume, remedy: &Remedy) -> Self {
        (self.verdict, self.offer) = remedy.verdict(cx, volume);
        self
    }

    /// Says why no tool should do anything about it, and what to do instead.
    pub(super) fn report_only(mut self, reason: impl Into<String>) -> Self {
        self.verdict = Verdict { state: VerdictState::ReportOnly, reason: reason.into() };
        self
    }

    /// Shows every probe for a controller.
    pub(super) fn shows_controller(mut self, state: &crate::model::ControllerState) -> Self {
        let value = format!("{}: {}", state.liveness.name(), state.because);
        self = self.shows("controller state", value);
        for probe in &state.probes {
            self = self.shows(probe.what, probe.found.clone());
        }
        self
    }

    /// Shows when a manager last changed a field.
    pub(super) fn shows_manager(
        mut self,
        metadata: &crate::model::Metadata,
        field: &ManagedField,
        name: &'static str,
    ) -> Self {
        let owners: Vec<_> = metadata
            .managers_of(field)
            .map(|owner| format!("{} at {}", owner.manager, time(owner.time)))
            .collect();
        if !owners.is_empty() {
            self = self.shows(name, owners.join(", "));
        }
        self
    }
}

/// A uid as evidence shows it.
pub(super) fn uid(metadata: &crate::model::Metadata) -> String {
    metadata.uid.as_ref().map_or_else(|| "<none>".to_owned(), ToString::to_string)
}

/// A time as evidence shows it.
pub(super) fn time(time: Option<Time>) -> String {
    time.as_ref().map_or_else(|| "<none>".to_owned(), format_time)
}

fn text(text: &str) -> String {
    if text.is_empty() { "<none>".to_owned() } else { text.to_owned() }
}

fn columns(volume: &Volume) -> VolumeColumns {
    VolumeColumns {
        capacity: volume.capacity,
        claim: volume.claim_ref.as_ref().map(|claim| claim.key.to_string()),
        class: volume.class.clone(),
        driver: Some(facts::owner(volume).name().clone()),
        reclaim_policy: volume.reclaim_policy.to_string(),
        phase: volume.phase.to_string(),
    }
}
