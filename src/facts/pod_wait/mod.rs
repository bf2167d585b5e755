//! The volume that a Pending pod waits for, and why it does not get it (F98).

mod attached;

use super::EventSeries;
use crate::cluster::{Cx, Seen};
use crate::facts;
use crate::model::{
    Attachment, Claim, ClaimKey, ClaimPhase, Event, Kind, NodeAffinity, ObjectRef, PodPhase,
    PodUse, Text, Threshold, Volume, VolumeSource,
};

/// The reason for which a pod does not get a volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodWait<'a> {
    /// The cause, as a state: "pvc/shop/data does not exist".
    pub cause: String,
    /// The advice: who has to act, and how.
    pub advice: String,
    /// Other objects that are involved.
    pub related: Vec<ObjectRef>,
    /// The claims of the pod.
    pub claims: Vec<PodClaim<'a>>,
    /// The events that report the cause, if there are any.
    pub events: Option<EventSeries<'a>>,
}

/// A claim of a pod, with its volume and the attachments of that volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodClaim<'a> {
    /// The namespace and name of the claim.
    pub key: ClaimKey,
    /// Whether the claim is created for an ephemeral volume of the pod.
    pub ephemeral: bool,
    /// The claim; `None` if it does not exist.
    pub claim: Option<&'a Claim>,
    /// The volume of the claim; `None` if it has none, or if that does not exist.
    pub volume: Option<&'a Volume>,
    /// The attachment of the volume to the pod's own node.
    here: Option<&'a Attachment>,
    /// Other nodes to which the volume may be attached.
    elsewhere: Vec<&'a Attachment>,
}

/// A cause that prevents a pod from getting one of its volumes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Obstacle {
    cause: String,
    advice: String,
    related: Vec<ObjectRef>,
    /// Whether the objects alone prove the cause; otherwise an event has to report it too.
    certain: bool,
}

impl Obstacle {
    fn certain(cause: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { cause: cause.into(), advice: advice.into(), related: Vec::new(), certain: true }
    }

    fn relates(mut self, objects: impl IntoIterator<Item = ObjectRef>) -> Self {
        self.related.extend(objects);
        self
    }
}

/// Returns what a pod waits for; `None` if it does not wait for a volume, as far as objects and
/// events show.
///
/// # Errors
/// When something was not read that decides it.
pub fn pod_wait<'a>(cx: &Cx<'a>, pod: &PodUse) -> Seen<Option<PodWait<'a>>> {
    if pod.phase != PodPhase::Pending || pod.deleting.is_some() || pod.claims.is_empty() {
        return Ok(None);
    }
    let mut claims: Vec<_> = pod
        .claims
        .iter()
        .map(|it| PodClaim::of(cx, pod, &it.claim, it.ephemeral))
        .collect::<Seen<_>>()?;
    let mut found = of_claims(cx, pod, &claims)?;
    if found.is_none() {
        for it in &mut claims {
            it.bind(cx, pod)?;
        }
        found = match &pod.node {
            Some(node) => scheduled(cx, pod, node, &claims)?,
            None => unscheduled(cx, pod, &claims)?,
        };
    }
    Ok(found.map(|(obstacle, events)| PodWait {
        cause: obstacle.cause,
        advice: obstacle.advice,
        related: obstacle.related,
        claims,
        events,
    }))
}

/// An obstacle, with the events that report it.
type Reported<'a> = (Obstacle, Option<EventSeries<'a>>);

/// Returns what claims alone prove, whatever was read of volumes, attachments and events: a user who may read one
/// namespace reads none of these.
fn of_claims<'a>(cx: &Cx<'a>, pod: &PodUse, claims: &[PodClaim<'a>]) -> Seen<Option<Reported<'a>>> {
    for it in claims {
        if let Some(found) = it.unbound(cx, pod.node.as_ref())? {
            let events = match &pod.node {
                Some(_) => newest_event(cx, pod, claims),
                None => event_of_scheduler(cx, pod),
            };
            return Ok(Some((found, events.ok().flatten())));
        }
    }
    Ok(None)
}

/// Returns what a pod on a node waits for.
fn scheduled<'a>(
    cx: &Cx<'a>,
    pod: &PodUse,
    node: &Text,
    claims: &[PodClaim<'a>],
) -> Seen<Option<Reported<'a>>> {
    let certain = one_volume_twice(claims);
    let certain = certain.or_else(|| claims.iter().find_map(PodClaim::without_volume));
    let events = newest_event(cx, pod, claims);
    if let Some(certain) = certain {
        // Without events a finding that objects prove only lacks the message.
        return Ok(Some((certain, events.ok().flatten())));
    }
    let obstacles: Vec<_> = claims.iter().map(|it| (it, it.attachment(cx, node))).collect();
    let first = |wanted: &dyn Fn(&PodClaim, &Obstacle) -> bool| {
        let all = obstacles.iter().filter_map(|(claim, it)| Some((*claim, it.as_ref()?)));
        all.filter(|(claim, it)| wanted(claim, it)).map(|(_, it)| it.clone()).next()
    };
    let proven = || first(&|_, it| it.certain);
    match events {
        // The claim that the event mentions, if it mentions one; else it may be any of them.
        Ok(Some(events)) => {
            let named = first(&|claim, _| claim.is_named(events.newest));
            let found = named.or_else(proven).or_else(|| first(&|claim, _| claim.is_held()));
            Ok(Some((found.unwrap_or_else(|| reported_by_event(&events, node)), Some(events))))
        }
        Ok(None) => Ok(proven().map(|it| (it, None))),
        Err(unseen) => proven().map(|it| Some((it, None))).ok_or(unseen),
    }
}

/// Returns what a pod without a node waits for.
fn unscheduled<'a>(
    cx: &Cx<'a>,
    pod: &PodUse,
    claims: &[PodClaim<'a>],
) -> Seen<Option<Reported<'a>>> {
    let proven = blocking_volume(cx, claims)?;
    let events = match event_of_scheduler(cx, pod) {
        // The condition of the pod says what events would.
        Err(_) if proven.is_some() || pod.unschedulable.is_some() => None,
        events => events?,
    };
    let message = pod.unschedulable.as_deref();
    let message = message.or_else(|| Some(&*events.as_ref()?.newest.message));
    let obstacle = proven.or_else(|| reported_by_scheduler(message?, claims));
    Ok(obstacle.map(|it| (it, events)))
}

/// Finds two volumes of one driver and handle in one pod: kubelet regards them as one, and mounts only one of them
/// (kubernetes/kubernetes#132921).
fn one_volume_twice(claims: &[PodClaim]) -> Option<Obstacle> {
    let handle = |it: &PodClaim| match &it.volume?.source {
        VolumeSource::Csi { driver, handle, .. } => {
            Some((Text::clone(driver), Text::clone(handle)))
        }
        VolumeSource::HostPath(_)
        | VolumeSource::Local(_)
        | VolumeSource::InTree(_)
        | VolumeSource::Unknown => None,
    };
    for (index, one) in claims.iter().enumerate() {
        let Some((driver, named)) = handle(one) else { continue };
        let same =
            |it: &&PodClaim| handle(it).is_some_and(|it| it == (driver.clone(), named.clone()));
        let other = claims.iter().skip(index + 1).filter(|it| it.key != one.key).find(same);
        let volumes = (one.volume, other.and_then(|it| it.volume));
        if let (Some(one), Some(other)) = volumes {
            let cause = format!(
                "{} and {} have the same driver and volume handle, and kubelet mounts only one of them in a pod",
                one.object(),
                other.object()
            );
            let advice =
                "use only one of the two claims in this pod (kubernetes/kubernetes#132921)";
            return Some(Obstacle::certain(cause, advice).relates([one.object(), other.object()]));
        }
    }
    None
}

impl<'a> PodClaim<'a> {
    fn of(cx: &Cx<'a>, pod: &PodUse, name: &str, ephemeral: bool) -> Seen<Self> {
        let key = ClaimKey { namespace: Text::clone(&pod.namespace), name: name.into() };
        let claim = cx.claim(&key)?;
        Ok(Self { key, ephemeral, claim, volume: None, here: None, elsewhere: Vec::new() })
    }

    /// Sets the volume of the claim, and the attachments of that volume.
    fn bind(&mut self, cx: &Cx<'a>, pod: &PodUse) -> Seen<()> {
        let Some(name) = self.claim.and_then(|claim| claim.volume_name.as_deref()) else {
            return Ok(());
        };
        self.volume = cx.volume(name)?;
        if let Some(node) = &pod.node {
            self.attach(cx.attachments_of(name)?, node);
        }
        Ok(())
    }
}

impl PodClaim<'_> {
    /// Returns what is wrong with the claim, whatever the node. `node`: that of the pod, once it has one.
    ///
    /// # Errors
    /// When the class of the claim, or the node that was selected for it, was not read.
    fn unbound(&self, cx: &Cx, node: Option<&Text>) -> Seen<Option<Obstacle>> {
        let Some(claim) = self.claim else {
            let cause = format!("pvc/{} does not exist", self.key);
            let advice = match self.ephemeral {
                true => {
                    "wait for kube-controller-manager, which creates the claims of ephemeral volumes"
                }
                false => "create the claim, or correct the name in the pod",
            };
            return Ok(Some(Obstacle::certain(cause, advice)));
        };
        let object = claim.object();
        if claim.phase == ClaimPhase::Lost {
            let advice = format!(
                "`kubectl storage explain {}` shows how to repair it",
                facts::on_command_line(&object)
            );
            let cause = format!("{object} is Lost");
            return Ok(Some(Obstacle::certain(cause, advice).relates([object])));
        }
        if claim.volume_name.is_some() {
            return Ok(None);
        }
        if let Some(selected) = &claim.selected_node
            && cx.node(selected, Kind::PersistentVolumeClaim)?.is_none()
        {
            let cause =
                format!("{object} waits for a volume on node {selected}, which does not exist");
            let advice = "remove annotation volume.kubernetes.io/selected-node from the claim";
            return Ok(Some(Obstacle::certain(cause, advice).relates([object])));
        }
        let class = claim.class.as_ref().filter(|it| !it.is_empty());
        let class = class.map_or(Ok(None), |it| cx.claimed_class(it))?;
        let waits_for_node =
            claim.selected_node.is_none() && class.is_some_and(|class| class.waits_for_consumer);
        Ok(match (waits_for_node, node) {
            // The scheduler selects a node for both, if it finds one for the pod.
            (true, None) => None,
            (true, Some(node)) => Some(
                Obstacle::certain(
                    format!("{object} waits for the scheduler, which a pod with spec.nodeName {node} bypasses"),
                    "select the node by spec.nodeSelector or by affinity, not by spec.nodeName",
                )
                .relates([object]),
            ),
            (false, _) => {
                let advice =
                    format!("`kubectl storage explain {}` shows what it waits for", facts::on_command_line(&object));
                Some(Obstacle::certain(format!("{object} has no volume yet"), advice).relates([object]))
            }
        })
    }

    /// Returns the obstacle of a claim that is bound to a volume that does not exist.
    fn without_volume(&self) -> Option<Obstacle> {
        let claim = self.claim?;
        let name = claim.volume_name.as_ref().filter(|_| self.volume.is_none())?;
        let object = claim.object();
        let cause = format!("pv/{name} of {object} does not exist");
        let advice = "keep the claim; recreate the volume from its manifest, with policy Retain";
        Some(Obstacle::certain(cause, advice).relates([object]))
    }
}

/// Returns what the objects show of why a pod has no node.
fn blocking_volume(cx: &Cx, claims: &[PodClaim]) -> Seen<Option<Obstacle>> {
    for it in claims {
        if let Some(found) = it.without_volume() {
            return Ok(Some(found));
        }
        if let Some(claim) = it.claim.filter(|it| it.metadata.deleting.is_some()) {
            let object = claim.object();
            let cause =
                format!("{object} is Terminating, and the scheduler rejects new pods that use it");
            let advice = "after the last pod that uses the claim is deleted, the claim is deleted and has to be recreated";
            return Ok(Some(Obstacle::certain(cause, advice).relates([object])));
        }
        if let Some(volume) = it.volume
            && let Some(found) = unreachable(cx, volume)?
        {
            return Ok(Some(found.relates(it.claim.map(crate::model::Claim::object))));
        }
    }
    Ok(None)
}

/// Returns what the scheduler reports, if it blames volumes: it knows more than the objects show here, such as limits
/// of nodes.
fn reported_by_scheduler(message: &str, claims: &[PodClaim]) -> Option<Obstacle> {
    if !is_about_volumes(message) {
        return None;
    }
    let cause =
        format!("the scheduler finds no node for its volumes ({})", facts::brief_error(message));
    let affinities = claims.iter().filter_map(|it| it.volume?.node_affinity.as_ref());
    let mut hosts: Vec<_> = affinities.filter_map(|it| hosts(it)).flatten().collect();
    hosts.dedup();
    let advice = match hosts.is_empty() {
        true => "see that a node that can have its volumes has room for the pod".to_owned(),
        false => format!(
            "its volumes are bound to node {}: see that the pod can run there",
            hosts.join(", ")
        ),
    };
    Some(Obstacle::certain(cause, advice))
}

/// Whether a message of the scheduler blames volumes: plugins `VolumeBinding`, `VolumeZone`,
/// `VolumeRestrictions` and `NodeVolumeLimits`.
fn is_about_volumes(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    ["volume", "persistentvolumeclaim", "pvc("].iter().any(|it| message.contains(it))
}

/// Returns why no node can run pods with a volume: none matches its node affinity, or none of those is usable.
fn unreachable(cx: &Cx, volume: &Volume) -> Seen<Option<Obstacle>> {
    let Some(affinity) = &volume.node_affinity else { return Ok(None) };
    if cx.node_matching(affinity, |node| node.ready && !node.unschedulable)?.is_some() {
        return Ok(None);
    }
    let (pv, hosts) = (volume.object(), hosts(affinity));
    let Some(node) = cx.node_matching(affinity, |_| true)? else {
        if !facts::node_gone(cx, volume)? {
            return Ok(None);
        }
        return Ok(Some(match hosts {
            Some(hosts) => {
                let hosts = hosts.join(", ");
                Obstacle::certain(
                    format!("{pv} is bound to node {hosts}, which does not exist"),
                    format!(
                        "bring node {hosts} back; if it never returns, its data is lost: delete claim and pod, and restore \
                         the data"
                    ),
                )
            }
            None => Obstacle::certain(
                format!("no node matches the node affinity of {pv}"),
                "add a node with these labels",
            ),
        }.relates([pv])));
    };
    let name = &node.metadata.name;
    let (state, advice) = match (node.ready, node.unschedulable) {
        (true, _) => ("cordoned", format!("uncordon node {name}")),
        (false, false) => ("not Ready", format!("bring node {name} back")),
        (false, true) => {
            ("not Ready and cordoned", format!("bring node {name} back, and uncordon it"))
        }
    };
    let cause = match hosts {
        Some(_) => format!("{pv} is bound to node {name}, which is {state}"),
        None => format!("no usable node matches the node affinity of {pv}; node {name} is {state}"),
    };
    Ok(Some(Obstacle::certain(cause, advice).relates([pv])))
}

/// Returns the hosts that an affinity requires by name; `None` if it requires something else.
fn hosts(affinity: &NodeAffinity) -> Option<Vec<String>> {
    let mut hosts = Vec::new();
    for term in &affinity.terms {
        let named = |key: &str, by: &str, operator: &str| key == by && operator == "In";
        let label =
            term.labels.iter().find(|it| named(&it.key, "kubernetes.io/hostname", &it.operator));
        let field = term.fields.iter().find(|it| named(&it.key, "metadata.name", &it.operator));
        hosts.extend(label.or(field)?.values.iter().map(ToString::to_string));
    }
    hosts.sort_unstable();
    hosts.dedup();
    (!hosts.is_empty()).then_some(hosts)
}

/// The beginning of an event that is emitted only once and holds as long as the volume is attached elsewhere
/// (`reportMultiAttachError`).
const ELSEWHERE: &str = "Multi-Attach error";

/// Returns the newest series of events about volumes of a pod on a node that can still be true.
///
/// # Errors
/// When events were not read.
fn newest_event<'a>(
    cx: &Cx<'a>,
    pod: &PodUse,
    claims: &[PodClaim],
) -> Seen<Option<EventSeries<'a>>> {
    let told = |series: &EventSeries| {
        let event = series.newest;
        REASONS.contains(&&*event.reason)
            && claims.iter().any(|claim| claim.is_meant(event))
            && is_still_so(cx, event, claims)
    };
    Ok(facts::event_series(cx, &pod.object())?.into_iter().find(told))
}

/// Returns what the scheduler last reported about a pod that has no node, if it blames a volume.
///
/// # Errors
/// When events were not read.
fn event_of_scheduler<'a>(cx: &Cx<'a>, pod: &PodUse) -> Seen<Option<EventSeries<'a>>> {
    let limit = cx.settings().thresholds.get(Threshold::Stuck);
    let told = |series: &EventSeries| {
        &*series.newest.reason == "FailedScheduling"
            && series.last.is_some_and(|last| !cx.passed(last, limit))
    };
    Ok(facts::event_series(cx, &pod.object())?.into_iter().find(told))
}

/// The reasons of events of the attach/detach controller and of kubelet.
const REASONS: [&str; 2] = ["FailedAttachVolume", "FailedMount"];

/// Whether an event may still hold: a failure that lasts is reported repeatedly.
fn is_still_so(cx: &Cx, event: &Event, claims: &[PodClaim]) -> bool {
    let limit = cx.settings().thresholds.get(Threshold::Detach);
    event.last_seen.is_some_and(|last| !cx.passed(last, limit))
        || event.message.starts_with(ELSEWHERE)
            && claims.iter().any(|claim| claim.here.is_none() && claim.is_held())
}

/// Returns what an event reports, where no object shows the cause.
fn reported_by_event(series: &EventSeries, node: &Text) -> Obstacle {
    let (who, what) = match &*series.newest.reason {
        "FailedMount" => (format!("kubelet on node {node}"), "mount"),
        _ => ("the attach/detach controller".to_owned(), "attach"),
    };
    let cause = format!("{who} cannot {what} a volume ({})", series.brief());
    Obstacle::certain(cause, format!("fix this error; {who} retries"))
}

impl PodClaim<'_> {
    /// Whether an event may be about the volume of the claim. A volume that kubelet cannot mount need not be a claim.
    fn is_meant(&self, event: &Event) -> bool {
        &*event.reason == "FailedAttachVolume"
            || self.is_named(event)
            || &*event.reason == "FailedMount"
                && event.message.starts_with("Unable to attach or mount")
                && self.is_held()
    }

    /// Whether an event mentions the claim or its volume.
    fn is_named(&self, event: &Event) -> bool {
        let ClaimKey { namespace, name } = &self.key;
        let volume = self.claim.and_then(|claim| claim.volume_name.as_deref());
        volume.is_some_and(|volume| event.message.contains(&format!("\"{volume}\"")))
            || event.message.contains(&format!("PVC {namespace}/{name}:"))
            || event.message.contains(&format!("persistentvolumeclaim \"{name}\""))
    }
}
