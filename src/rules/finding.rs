//! Construction of findings, with evidence that several rules show.

use crate::cluster::{Cx, Lookup, Others, Seen};
use crate::facts::{self, EventSeries, LastTransition};
use crate::model::{
    Age, Attachment, AttachmentSource, Claim, Evidence, Finding, Kind, ManagedField, Metadata,
    ObjectKey, ObjectRef, OwnerReference, PodUse, Severity, Text, Time, Uid, Verdict, VerdictState,
    Volume, format_time,
};
use crate::remedies::{self, Remedy};

use super::Rule;

/// The judgement of one rule about one subject.
#[derive(Debug, Clone, Default)]
pub struct Judgement {
    /// The finding, if there is one.
    pub finding: Option<Finding>,
    /// The reason why the subject could not be judged, if it could not.
    pub unseen: Option<crate::cluster::Unseen>,
    /// Time at which the judgement may change without any other change.
    pub wake: Option<Time>,
    /// All lookups, if they were recorded.
    pub(super) lookups: Vec<Lookup>,
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
        show("spec.claimRef", shown_claim_ref(volume));
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
        show("reclaimed by", facts::describe_owner(volume, cx.server()));
        let columns = Some(facts::columns(volume));
        Finding { evidence, volume: columns, ..self.about(object, summary.into()) }
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
        Finding { evidence, ..self.about(object, summary.into()) }
    }

    /// Begins a finding about any other object, with its version.
    pub(super) fn on_object(
        &'static self,
        object: ObjectRef,
        metadata: &Metadata,
        summary: impl Into<String>,
    ) -> Finding {
        let mut finding = self
            .about(object, summary.into())
            .shows("metadata.resourceVersion", text(&metadata.resource_version));
        if metadata.deleting.is_some() {
            finding = finding.shows("metadata.deletionTimestamp", time(metadata.deleting));
        }
        if metadata.deleting.is_some() || !metadata.finalizers.is_empty() {
            finding = finding.shows("metadata.finalizers", metadata.finalizers.join(", "));
        }
        finding
    }

    /// Begins a finding about an attachment, with the evidence that every such finding shows.
    pub(super) fn on_attachment(
        &'static self,
        cx: &Cx,
        attachment: &Attachment,
        summary: impl Into<String>,
    ) -> Finding {
        let source = match &attachment.source {
            AttachmentSource::Volume(name) => format!("pv/{name}"),
            AttachmentSource::Inline { driver, handle } => format!("inline, {driver} {handle}"),
            AttachmentSource::None => "<none>".to_owned(),
        };
        let node = match facts::node_state(cx, &attachment.node, Kind::VolumeAttachment) {
            Ok(state) => state.unwrap_or_else(|| "does not exist".to_owned()),
            Err(unseen) => unseen.reason,
        };
        let held = match facts::may_be_attached(attachment) {
            true => "may be attached",
            false => "not attached",
        };
        let mut finding = self
            .on_object(attachment.object(), &attachment.metadata, summary)
            .shows("spec.attacher", &*attachment.attacher)
            .shows("spec.source", source)
            .shows("spec.nodeName", &*attachment.node)
            .shows("node", node)
            .shows("status.attached", if attachment.attached { "true" } else { "false" })
            .shows("by its finalizers", held);
        let errors = [
            ("status.attachError.message", &attachment.attach_error),
            ("status.detachError.message", &attachment.detach_error),
        ];
        for (field, error) in errors {
            if let Some(error) = error {
                finding = finding.shows(field, &**error);
            }
        }
        finding
    }

    /// Begins a finding without evidence.
    pub(super) fn about(&'static self, object: ObjectRef, summary: String) -> Finding {
        Finding {
            rule: self.id,
            severity: self.severity,
            object,
            summary,
            age: None,
            evidence: Vec::new(),
            related: Vec::new(),
            caused_by: Vec::new(),
            verdict: Verdict { state: VerdictState::ReportOnly, reason: String::new() },
            offer: None,
            volume: None,
        }
    }

    /// Begins a finding about a driver, whose object is its `CSIDriver`, whether that exists or
    /// not.
    pub(super) fn on_driver(&'static self, driver: &Text, summary: impl Into<String>) -> Finding {
        let key = ObjectKey::cluster_wide(Kind::CsiDriver, driver);
        self.about(ObjectRef { key, uid: None }, summary.into())
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

    /// Adds evidence: a field of the finding's object, or a fact about it.
    pub(super) fn shows(self, field: &'static str, value: impl Into<String>) -> Self {
        let object = self.object.clone();
        self.shows_of(&object, field, value)
    }

    /// Adds evidence: a field of another object.
    pub(super) fn shows_of(
        mut self,
        object: &ObjectRef,
        field: &'static str,
        value: impl Into<String>,
    ) -> Self {
        self.evidence.push(Evidence { object: object.to_string(), field, value: value.into() });
        self
    }

    /// Adds the newest message of a series of events, with its count and its times, as evidence.
    pub(super) fn shows_event(self, field: &'static str, series: Option<&EventSeries>) -> Self {
        match series {
            Some(series) => self.shows(field, series.describe()),
            None => self,
        }
    }

    pub(super) fn relates(mut self, objects: impl IntoIterator<Item = ObjectRef>) -> Self {
        self.related.extend(objects);
        self
    }

    /// Adds the pods that use a claim as related objects, if pods were read.
    pub(super) fn relates_pods_of(self, cx: &Cx, claim: &Claim) -> Self {
        let pods = cx.pods_of(&claim.key()).unwrap_or_default();
        self.relates(pods.into_iter().map(PodUse::object))
    }

    /// Adds the volumes that share storage with its own, at most 20: there may be thousands.
    pub(super) fn shows_sharing(mut self, others: &Others<'_>) -> Self {
        const SHOWN: usize = 20;
        for (other, overlap) in others.iter().take(SHOWN) {
            let claim = other.claim_ref.as_ref().map_or("none".to_owned(), |it| it.key.to_string());
            let state = format!("{}, policy {}, claim {claim}", other.phase, other.reclaim_policy);
            self = self
                .shows_of(&other.object(), facts::lies(overlap), state)
                .relates([other.object()]);
        }
        self
    }

    /// Adds the columns that tables show of a volume.
    pub(super) fn about_volume(mut self, volume: Option<&Volume>) -> Self {
        self.volume = volume.map(facts::columns).or(self.volume);
        self
    }

    /// Adds the pods that use a claim as evidence.
    pub(super) fn shows_pods(mut self, users: &[facts::PodUser]) -> Self {
        for user in users {
            let object = user.pod.object();
            let node = user.pod.node.as_deref().unwrap_or("<none>");
            self = self.shows_of(&object, "status.phase", user.pod.phase.name()).shows_of(
                &object,
                "spec.nodeName",
                node,
            );
            if let Some(owner) = &user.pod.controller {
                self =
                    self.shows_of(&object, "controller", format!("{} {}", owner.kind, owner.name));
            }
            if user.pod.deleting.is_some() {
                self =
                    self.shows_of(&object, "metadata.deletionTimestamp", time(user.pod.deleting));
            }
            if user.pod.is_shut_down() {
                self = self.shows_of(&object, "metadata.deletionGracePeriodSeconds", "0");
            }
            if user.usage == facts::PodUsage::Ephemeral {
                self = self.shows_of(&object, "uses it as", "an ephemeral volume");
            }
            self = self.relates([object]);
        }
        self
    }

    /// Sets the verdict and the offer of a remedy.
    pub(super) fn remedied_by<T>(mut self, cx: &Cx, object: &T, remedy: &Remedy<T>) -> Self {
        (self.verdict, self.offer) = remedy.verdict(cx, object);
        self
    }

    /// Offers a rescue of a claim that the garbage collector deletes: first of the data, where the deletion destroys
    /// it, since the garbage collector may be faster.
    pub(super) fn saved_from_collector(
        self,
        cx: &Cx,
        claim: &Claim,
        destroyed: Option<&Volume>,
        remedy: &Remedy<Claim>,
    ) -> Self {
        let Some(volume) = destroyed else {
            return self.remedied_by(cx, claim, remedy);
        };
        let mut finding = self.remedied_by(cx, volume, &remedies::RETAIN);
        if finding.verdict.state == VerdictState::Fixable
            && let Some(command) = (remedy.command)(cx, claim)
        {
            finding.verdict.reason =
                format!("keep the data first; then `kubectl storage {command}` keeps the claim");
        }
        finding
    }

    /// Puts help against the cause before a remedy that only stops the effect.
    pub(super) fn or_rather(mut self, helps: &str) -> Self {
        if self.verdict.state == VerdictState::Fixable {
            // What that does not revert is in the plan of the remedy.
            self.verdict.reason = format!("{helps}; or stop the deletion");
        }
        self
    }

    /// Replaces the advice about a volume whose claimRef was changed while its own claim exists: other findings about
    /// it follow from that.
    pub(super) fn unless_taken(mut self, cx: &Cx, volume: &Volume) -> Self {
        let advises =
            matches!(self.verdict.state, VerdictState::Fixable | VerdictState::ReportOnly);
        if let Some(advice) = facts::giving_it_back(cx, volume).filter(|_| advises) {
            self.verdict.reason = advice;
        }
        self
    }

    /// Makes the finding report-only, with the reason or advice.
    pub(super) fn report_only(mut self, reason: impl Into<String>) -> Self {
        self.verdict = Verdict { state: VerdictState::ReportOnly, reason: reason.into() };
        self
    }

    /// Adds every probe for a controller as evidence.
    pub(super) fn shows_controller(mut self, state: &crate::model::ControllerState) -> Self {
        self = self.shows("controller state", state.describe());
        for probe in &state.probes {
            self = self.shows(probe.what, probe.describe());
        }
        self
    }

    /// Adds the managers of a field, with the times of their last changes.
    pub(super) fn shows_manager(
        mut self,
        metadata: &Metadata,
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

/// Formats a uid as evidence.
pub(super) fn shown_uid(uid: Option<&Uid>) -> String {
    uid.map_or_else(|| "<none>".to_owned(), ToString::to_string)
}

/// Formats the claimRef of a volume as evidence.
pub(super) fn shown_claim_ref(volume: &Volume) -> String {
    volume.claim_ref.as_ref().map_or_else(
        || "<none>".to_owned(),
        |claim| format!("{} uid {}", claim.key, shown_uid(claim.uid.as_ref())),
    )
}

/// Formats an owner reference as evidence.
pub(super) fn shown_owner(owner: &OwnerReference) -> String {
    let uid = shown_uid(owner.uid.as_ref());
    format!("{} {} {} uid {uid}", owner.api_version, owner.kind, owner.name)
}

/// Formats a time as evidence.
pub(super) fn time(time: Option<Time>) -> String {
    time.as_ref().map_or_else(|| "<none>".to_owned(), format_time)
}

/// Formats, as evidence, the newest event with a reason that its field names.
pub(super) fn shown_last(series: &Seen<Option<EventSeries>>) -> String {
    match series {
        Ok(Some(series)) => series.describe(),
        Ok(None) => "<none>".to_owned(),
        Err(unseen) => format!("not read: {}", unseen.reason),
    }
}

fn text(text: &str) -> String {
    if text.is_empty() { "<none>".to_owned() } else { text.to_owned() }
}
