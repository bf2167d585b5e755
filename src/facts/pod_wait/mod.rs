//! What a Pending pod waits for, if that is a volume (F98).

mod attached;
mod claim;
mod events;
mod placement;

use super::EventSeries;
use crate::cluster::{Cx, Seen};
use crate::model::{
    Attachment, Claim, ClaimKey, ObjectRef, PodPhase, PodUse, Text, Volume, VolumeSource,
};

/// Why a pod does not get a volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodWait<'a> {
    /// The cause, as a state: "pvc/shop/data does not exist".
    pub cause: String,
    /// Who has to act, and how.
    pub advice: String,
    /// Other objects that are involved.
    pub related: Vec<ObjectRef>,
    /// The claims of the pod.
    pub claims: Vec<PodClaim<'a>>,
    /// The events that report it, if there are any.
    pub events: Option<EventSeries<'a>>,
}

/// A claim of a pod, with its volume and the attachments of that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodClaim<'a> {
    /// Its namespace and name.
    pub key: ClaimKey,
    /// Whether it is created for an ephemeral volume of the pod.
    pub ephemeral: bool,
    /// `None` if it does not exist.
    pub claim: Option<&'a Claim>,
    /// Its volume; `None` if it has none, or if that does not exist.
    pub volume: Option<&'a Volume>,
    /// The attachment to the pod's own node.
    here: Option<&'a Attachment>,
    /// Other nodes to which the volume may be attached.
    elsewhere: Vec<&'a Attachment>,
}

/// What prevents a pod from getting one of its volumes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Obstacle {
    cause: String,
    advice: String,
    related: Vec<ObjectRef>,
    /// Whether the objects alone prove it; otherwise an event has to report it too.
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

/// A finding, with the events that report it.
type Reported<'a> = (Obstacle, Option<EventSeries<'a>>);

/// What claims alone prove, whatever was read of volumes, attachments and events: somebody who may
/// read one namespace reads none of these.
fn of_claims<'a>(cx: &Cx<'a>, pod: &PodUse, claims: &[PodClaim<'a>]) -> Seen<Option<Reported<'a>>> {
    for it in claims {
        if let Some(found) = it.unbound(cx, pod.node.as_ref())? {
            let events = match &pod.node {
                Some(_) => events::newest(cx, pod, claims),
                None => events::of_scheduler(cx, pod),
            };
            return Ok(Some((found, events.ok().flatten())));
        }
    }
    Ok(None)
}

/// What a pod on a node waits for.
fn scheduled<'a>(
    cx: &Cx<'a>,
    pod: &PodUse,
    node: &Text,
    claims: &[PodClaim<'a>],
) -> Seen<Option<Reported<'a>>> {
    let certain = one_volume_twice(claims);
    let certain = certain.or_else(|| claims.iter().find_map(PodClaim::without_volume));
    let events = events::newest(cx, pod, claims);
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
            Ok(Some((found.unwrap_or_else(|| events::reported(&events, node)), Some(events))))
        }
        Ok(None) => Ok(proven().map(|it| (it, None))),
        Err(unseen) => proven().map(|it| Some((it, None))).ok_or(unseen),
    }
}

/// What a pod without a node waits for.
fn unscheduled<'a>(
    cx: &Cx<'a>,
    pod: &PodUse,
    claims: &[PodClaim<'a>],
) -> Seen<Option<Reported<'a>>> {
    let proven = placement::unscheduled(cx, claims)?;
    let events = match events::of_scheduler(cx, pod) {
        // The condition of the pod says what events would.
        Err(_) if proven.is_some() || pod.unschedulable.is_some() => None,
        events => events?,
    };
    let message = pod.unschedulable.as_deref();
    let message = message.or_else(|| Some(&*events.as_ref()?.newest.message));
    let obstacle = proven.or_else(|| placement::reported(message?, claims));
    Ok(obstacle.map(|it| (it, events)))
}

/// Two volumes of one driver and handle in one pod: kubelet regards them as one, and mounts only one
/// of them (kubernetes/kubernetes#132921).
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

    /// Takes its volume and the attachments of that.
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
