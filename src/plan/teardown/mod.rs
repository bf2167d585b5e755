//! `teardown`: surveys what it would destroy, what survives and what blocks it, and plans each of its steps (semantics
//! K.5).

mod earlier;
mod steps;
mod users;

use std::collections::{BTreeMap, BTreeSet};

use super::{ObjectDetails, Purpose};
use crate::cluster::{Cx, Seen, Subject};
use crate::facts;
use crate::model::{
    Claim, ClaimKey, ConfirmedSurvey, ControllerState, Exception, Kind, Liveness, ObjectRef, Phase,
    ReclaimPolicy, TeardownTerms, Text, Time, Uid, Volume, VolumeSnapshot, WorkloadScale,
};
use crate::remedies::{self, ClaimDeletionProgress};
use crate::rules;

pub use earlier::{DESTROY, EarlierSteps, KEEP};
pub use steps::{end_claims, end_snapshots, ending, hold, stop};
pub use users::{stopped_before, users};

/// Reason for which something is left alone.
const CAME_LATER: &str = "it was not in the survey that was confirmed: it came later";
/// Reason for which something is left that was to survive.
const CHANGED: &str = "it has changed since the survey that was confirmed, by which it stays";
/// Beginning of the reason of what the user left out.
pub const LEFT_OUT: &str = "left out by --except";
/// Why the record has a volume that is being deleted already.
pub const UNDER_WAY: &str = "its deletion is under way";

/// What becomes of a volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VolumeFate {
    /// It is destroyed, in these words.
    Destroyed(String),
    /// It is kept by a decision: for this reason.
    Kept(String),
    /// It survives though that was not decided: for this reason.
    Left(String),
    /// It is unknown or cannot be done now: for this reason. It blocks the teardown.
    Blocked(String),
}

/// A volume in the scope of a teardown, or a claim without one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SurveyedVolume {
    /// Claim of the volume; `None` where it is gone.
    pub claim: Option<ObjectRef>,
    /// Volume; `None` where the claim has none.
    pub volume: Option<ObjectRef>,
    /// Details for tables.
    pub about: ObjectDetails,
    /// What becomes of it.
    pub fate: VolumeFate,
    /// Whether its policy is not Retain yet although its claim is torn down or its workload stopped.
    pub is_exposed: bool,
    /// What the run does about it.
    pub step: VolumeStep,
}

/// What a run does about a volume, once nothing uses its claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VolumeStep {
    /// Nothing.
    Nothing,
    /// Its claim is deleted, and it is reclaimed where data is destroyed.
    DeletesClaim,
    /// Its claim is Terminating already: that it ends is awaited.
    AwaitsClaim,
    /// Its claim is gone: it is reclaimed.
    Reclaims,
    /// Its deletion is under way, and awaited.
    AwaitsVolume,
}

impl SurveyedVolume {
    /// Returns the uid by which the volume is confirmed: its own, or that of a claim without one.
    fn confirmed_by(&self) -> Option<&Uid> {
        self.volume.as_ref().or(self.claim.as_ref())?.uid.as_ref()
    }

    /// Leaves the volume alone unless it was confirmed that it ends. One that was to survive is still held.
    fn leave_unless(&mut self, confirmed: &ConfirmedSurvey) {
        let is_in = |all: &BTreeSet<Uid>| self.confirmed_by().is_some_and(|it| all.contains(it));
        let why = match (is_in(&confirmed.seen), is_in(&confirmed.ends)) {
            (_, true) => return,
            (true, false) if self.step == VolumeStep::Nothing => return,
            (true, false) => CHANGED,
            (false, false) => {
                self.is_exposed = false;
                if self.step == VolumeStep::Nothing && matches!(self.fate, VolumeFate::Kept(_)) {
                    return;
                }
                CAME_LATER
            }
        };
        self.step = VolumeStep::Nothing;
        self.fate = VolumeFate::Left(why.to_owned());
    }

    /// Whether data is destroyed.
    pub const fn is_destroyed(&self) -> bool {
        matches!(self.fate, VolumeFate::Destroyed(_))
    }
}

/// An object that blocks a teardown.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TeardownObstacle {
    /// The object; `None` for a controller.
    pub object: Option<ObjectRef>,
    /// The reason, and what to do.
    pub reason: String,
}

/// Survey of a teardown.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TeardownSurvey {
    /// Volumes and claims, destroyed ones first.
    pub volumes: Vec<SurveyedVolume>,
    /// Snapshots, with what becomes of each.
    pub snapshots: Vec<(ObjectRef, VolumeFate)>,
    /// Workloads that are stopped, with their scale now.
    pub workloads: Vec<(ObjectRef, WorkloadScale)>,
    /// Pods that are deleted by themselves.
    pub pods: Vec<ObjectRef>,
    /// Everything that blocks.
    pub obstacles: Vec<TeardownObstacle>,
    /// Number of pods with volumes that they describe themselves.
    pub inline: usize,
    /// The youngest object of the cluster.
    pub youngest: Option<(ObjectRef, Time)>,
    /// Number of nodes.
    pub nodes: usize,
}

impl TeardownSurvey {
    /// Returns what is confirmed with this survey.
    pub fn confirmed(&self) -> ConfirmedSurvey {
        let ends = |it: &&SurveyedVolume| it.step != VolumeStep::Nothing;
        let of = |it: &SurveyedVolume| it.confirmed_by().cloned();
        let doomed = self.snapshots.iter().filter(|it| matches!(it.1, VolumeFate::Destroyed(_)));
        let snapshots = self.snapshots.iter().filter_map(|it| it.0.uid.clone());
        ConfirmedSurvey {
            seen: self.volumes.iter().filter_map(of).chain(snapshots).collect(),
            ends: self
                .volumes
                .iter()
                .filter(ends)
                .filter_map(of)
                .chain(doomed.filter_map(|it| it.0.uid.clone()))
                .collect(),
        }
    }

    /// Returns the claims that are deleted, or would be if nothing blocked that.
    pub fn deleted(&self) -> BTreeSet<ClaimKey> {
        let ends = |it: &&SurveyedVolume| {
            matches!(it.step, VolumeStep::DeletesClaim | VolumeStep::AwaitsClaim)
                || matches!(it.fate, VolumeFate::Blocked(_))
        };
        let doomed = self.volumes.iter().filter(ends);
        doomed.filter_map(|it| it.claim.as_ref()?.key.as_claim()).collect()
    }
}

/// Returns the claims that a teardown selects.
pub fn claims(cx: &Cx) -> BTreeSet<ClaimKey> {
    let Some(terms) = &cx.settings().teardown else { return BTreeSet::new() };
    let cluster = cx.cluster();
    let in_scope = |id| rules::in_scope(cluster, cx.settings(), &Subject::Claim(id));
    let is_confirmed = |claim: &Claim| {
        let volume = claim.volume_name.as_ref().and_then(|it| cluster.volume_named(it));
        let uid = volume.map_or(&claim.metadata.uid, |it| &it.metadata.uid);
        let seen = terms.confirmed.as_ref().map(|it| &it.seen);
        seen.is_none_or(|seen| uid.as_ref().is_some_and(|it| seen.contains(it)))
    };
    let selected = cluster
        .claims()
        .filter(|(id, it)| in_scope(*id) && excepts(terms, it).is_none() && is_confirmed(it));
    selected.map(|(_, claim)| claim.key()).collect()
}

/// Returns the exceptions that match nothing.
pub fn unmatched(cx: &Cx) -> Vec<Exception> {
    let Some(terms) = &cx.settings().teardown else { return Vec::new() };
    let cluster = cx.cluster();
    let matches = |it: &&Exception| match it {
        Exception::Namespace(name) => {
            cluster.namespaces().any(|(_, it)| *it.metadata.name == **name)
                || cluster.claims().any(|(_, it)| it.namespace == *name)
        }
        Exception::Class(name) => {
            cluster.classes().any(|(_, it)| *it.metadata.name == **name)
                || cluster.volumes().any(|(_, it)| it.class.as_ref() == Some(name))
        }
        Exception::Volume(name) => cluster.volume_named(name).is_some(),
        Exception::Claim(key) => cluster.claim_named(key).is_some(),
    };
    terms.except.iter().filter(|it| !matches(it)).cloned().collect()
}

/// Returns the exception that leaves out a claim.
fn excepts<'a>(terms: &'a TeardownTerms, claim: &Claim) -> Option<&'a Exception> {
    left_out(terms, Some(&claim.key()), claim.class.as_ref(), claim.volume_name.as_deref())
}

/// Returns the exception that leaves out a volume whose claim is gone.
fn excepts_volume<'a>(terms: &'a TeardownTerms, volume: &Volume) -> Option<&'a Exception> {
    let claim = volume.claim_ref.as_ref().map(|it| &it.key);
    left_out(terms, claim, volume.class.as_ref(), Some(volume.name()))
}

fn left_out<'a>(
    terms: &'a TeardownTerms,
    claim: Option<&ClaimKey>,
    class: Option<&Text>,
    volume: Option<&str>,
) -> Option<&'a Exception> {
    terms.except.iter().find(|it| match it {
        Exception::Namespace(name) => claim.is_some_and(|it| it.namespace == *name),
        Exception::Class(name) => class == Some(name),
        Exception::Volume(name) => volume == Some(&**name),
        Exception::Claim(key) => claim == Some(key),
    })
}

/// Returns the claims that a teardown deletes, by their volumes' policies alone.
///
/// # Errors
/// When volumes were not read.
pub fn deleted_claims(cx: &Cx) -> Seen<BTreeSet<ClaimKey>> {
    let mut deleted = BTreeSet::new();
    let Some(terms) = &cx.settings().teardown else { return Ok(deleted) };
    for key in &terms.claims {
        let Some(claim) = cx.claim(key)? else { continue };
        let volume = claim.volume_name.as_ref().map(|it| cx.volume(it)).transpose()?.flatten();
        if decided_to_keep(terms, volume).is_none() {
            deleted.insert(key.clone());
        }
    }
    Ok(deleted)
}

/// Why a volume is kept by the decision of a person.
fn decided_to_keep(terms: &TeardownTerms, volume: Option<&Volume>) -> Option<String> {
    let volume = volume.filter(|_| terms.destroys)?;
    let is_ours = volume.metadata.uid.as_ref().is_some_and(|it| terms.retained.contains(it));
    (volume.reclaim_policy == ReclaimPolicy::Retain && !is_ours)
        .then(|| "its policy is Retain".to_owned())
}

/// Leaves a volume that was to survive, and that only a teardown has set to Retain: nobody decided that it stays.
fn held_before(terms: &TeardownTerms, volume: Option<&Volume>) -> Option<VolumeFate> {
    let volume =
        volume.filter(|it| terms.destroys && it.reclaim_policy == ReclaimPolicy::Retain)?;
    let is_held = volume.metadata.uid.as_ref().is_some_and(|it| terms.held.contains(it));
    let told = "a teardown set its policy to Retain, which was neither that nor Delete: leave it out with --except, or \
                delete its disk by hand";
    is_held.then(|| VolumeFate::Left(told.to_owned()))
}

/// Surveys every volume in the scope, with the terms of the settings.
pub fn survey(cx: &Cx) -> TeardownSurvey {
    let mut survey = TeardownSurvey::default();
    let Some(terms) = &cx.settings().teardown else { return survey };
    let cluster = cx.cluster();
    for (id, claim) in cluster.claims() {
        if rules::in_scope(cluster, cx.settings(), &Subject::Claim(id)) {
            survey.volumes.push(of_claim(cx, terms, claim));
        }
    }
    for (_, volume) in cluster.volumes() {
        if let Some(found) = of_unclaimed(cx, terms, volume) {
            survey.volumes.push(found);
        }
    }
    if let Some(confirmed) = &terms.confirmed {
        for it in &mut survey.volumes {
            it.leave_unless(confirmed);
        }
    }
    survey.volumes.sort_by(|a, b| {
        let key = |it: &SurveyedVolume| (it.claim.clone(), it.volume.clone());
        key(a).cmp(&key(b))
    });
    for it in &survey.volumes {
        if let VolumeFate::Blocked(reason) = &it.fate {
            let object = it.claim.clone().or_else(|| it.volume.clone());
            survey.obstacles.push(TeardownObstacle { object, reason: reason.clone() });
        }
    }
    survey.obstacles.extend(unread(cx));
    survey.snapshots = snapshots(cx);
    survey.obstacles.extend(controllers(cx, &survey.volumes));
    let scope = &cx.settings().scope;
    survey.inline = cluster
        .pods()
        .filter(|(_, pod)| scope.includes(&pod.namespace) && !pod.inline.is_empty())
        .count();
    survey.nodes = cluster.nodes().count();
    survey.youngest = youngest(cx);
    survey
}

/// Returns the kinds in scope that were not read: what they hold would be left without a word.
fn unread(cx: &Cx) -> Vec<TeardownObstacle> {
    let namespaces = &cx.settings().scope.namespaces;
    let claims = Kind::PersistentVolumeClaim;
    let of_claims = match namespaces.is_empty() {
        true => cx.all_of(claims),
        false => namespaces.iter().try_for_each(|it| cx.cluster().reach(claims, Some(it))),
    };
    let of_volumes = cx.all_of(Kind::PersistentVolume);
    [(claims, of_claims), (Kind::PersistentVolume, of_volumes)]
        .into_iter()
        .filter_map(|(kind, seen)| {
            let reason = format!("{} not read ({})", kind.plural(), seen.err()?.reason);
            Some(TeardownObstacle { object: None, reason })
        })
        .collect()
}

/// Returns the object of the cluster that was created last.
fn youngest(cx: &Cx) -> Option<(ObjectRef, Time)> {
    let cluster = cx.cluster();
    let claims = cluster.claims().filter_map(|(_, it)| Some((it.object(), it.metadata.created?)));
    let pods = cluster.pods().filter_map(|(_, it)| Some((it.object(), it.created?)));
    claims.chain(pods).max_by_key(|(_, at)| *at)
}

/// What becomes of what the user leaves out: it stays, unless it goes by itself.
fn left_out_by(cx: &Cx, exception: &Exception, volume: Option<&Volume>) -> VolumeFate {
    match volume.map(|it| (&it.reclaim_policy, facts::is_going(cx, it))) {
        None | Some((_, Ok(false))) => VolumeFate::Kept(format!("{LEFT_OUT} {exception}")),
        Some((policy, Ok(true))) => VolumeFate::Left(format!(
            "{LEFT_OUT} {exception}, but its policy is {policy} and its claim gone or Terminating"
        )),
        Some((_, Err(unseen))) => VolumeFate::Left(unseen.reason),
    }
}

fn of_claim(cx: &Cx, terms: &TeardownTerms, claim: &Claim) -> SurveyedVolume {
    let volume = claim.volume_name.as_ref().map(|it| cx.volume(it)).transpose();
    let found = volume.as_ref().ok().copied().flatten().flatten();
    let mut surveyed = SurveyedVolume {
        claim: Some(claim.object()),
        volume: found.map(Volume::object),
        about: found.map(|it| ObjectDetails::of(cx, it)).unwrap_or_default(),
        fate: VolumeFate::Kept(String::new()),
        is_exposed: false,
        step: VolumeStep::Nothing,
    };
    if let Some(exception) = excepts(terms, claim) {
        surveyed.fate = left_out_by(cx, exception, found);
        return surveyed;
    }
    if let Err(unseen) = volume {
        surveyed.fate = VolumeFate::Blocked(unseen.reason);
        return surveyed;
    }
    surveyed.is_exposed = found.is_some_and(|it| it.reclaim_policy != ReclaimPolicy::Retain);
    if let Some(left) = held_before(terms, found) {
        surveyed.fate = left;
        return surveyed;
    }
    if let Some(reason) = decided_to_keep(terms, found) {
        surveyed.fate = VolumeFate::Kept(reason);
        return surveyed;
    }
    let survives = found.filter(|_| terms.destroys).map(|it| remedies::survives(cx, it));
    if claim.metadata.deleting.is_some() {
        surveyed.step = VolumeStep::AwaitsClaim;
        surveyed.fate = match survives.transpose().map(Option::flatten) {
            Err(unseen) => VolumeFate::Blocked(unseen.reason),
            Ok(Some(reason)) => VolumeFate::Left(reason),
            Ok(None) if terms.destroys && found.is_some() => {
                VolumeFate::Destroyed("its claim is Terminating; then it is reclaimed".to_owned())
            }
            Ok(None) => VolumeFate::Kept("its claim is Terminating".to_owned()),
        };
        return surveyed;
    }
    let retained = found.is_some_and(|it| it.reclaim_policy == ReclaimPolicy::Retain);
    let proposed = remedies::delete_claim(cx, claim, ClaimDeletionProgress { retained });
    surveyed.fate = match (survives.transpose().map(Option::flatten), proposed) {
        (Err(unseen), _) | (_, Err(unseen)) => VolumeFate::Blocked(unseen.reason),
        (Ok(Some(reason)), _) => VolumeFate::Left(reason),
        (Ok(None), Ok(Err(refusal))) => VolumeFate::Blocked(refusal.reason),
        (Ok(None), Ok(Ok(proposal))) => {
            surveyed.step = VolumeStep::DeletesClaim;
            match found {
                Some(_) if terms.destroys => VolumeFate::Destroyed(proposal.effect.what),
                Some(_) => VolumeFate::Kept("--keep-data".to_owned()),
                None => VolumeFate::Kept("the claim has no volume".to_owned()),
            }
        }
    };
    surveyed
}

/// Surveys a volume whose claim is gone, or that never had one; `None` for others, and those out of scope.
fn of_unclaimed(cx: &Cx, terms: &TeardownTerms, volume: &Volume) -> Option<SurveyedVolume> {
    let settings = cx.settings();
    let claim = volume.claim_ref.as_ref();
    let is_bound = claim.is_some_and(|it| {
        let found = cx.cluster().claim_named(&it.key);
        found.is_some_and(|found| it.uid.is_none() || found.metadata.uid == it.uid)
    });
    let in_scope = match claim {
        Some(it) => settings.scope.includes(&it.key.namespace),
        None => settings.scope.namespaces.is_empty(),
    };
    let is_ours = volume.metadata.uid.as_ref().is_some_and(|it| terms.retained.contains(it));
    // The labels of a claim that is gone are unknown: of these, only what this run began is in scope.
    if is_bound || !in_scope || (!settings.scope.selector.is_empty() && !is_ours) {
        return None;
    }
    let mut surveyed = SurveyedVolume {
        claim: None,
        volume: Some(volume.object()),
        about: ObjectDetails::of(cx, volume),
        fate: VolumeFate::Kept(String::new()),
        is_exposed: false,
        step: VolumeStep::Nothing,
    };
    if let Some(exception) = excepts_volume(terms, volume) {
        surveyed.fate = left_out_by(cx, exception, Some(volume));
        return Some(surveyed);
    }
    if let Some(left) = held_before(terms, Some(volume)) {
        surveyed.fate = left;
        return Some(surveyed);
    }
    let is_doubtful = volume.metadata.uid.as_ref().is_some_and(|it| terms.doubtful.contains(it));
    surveyed.fate = match (&volume.phase, &volume.reclaim_policy) {
        (_, ReclaimPolicy::Retain) if is_doubtful && terms.destroys => VolumeFate::Left(
            "its policy is Retain, and it is unknown whether it was set back to Delete before by a run that \
             ended early: another client may have saved it"
                .to_owned(),
        ),
        (Phase::Released | Phase::Failed, ReclaimPolicy::Delete) if !terms.destroys => {
            VolumeFate::Left("its claim is gone and its policy Delete: it is being deleted".to_owned())
        }
        _ if !terms.destroys => VolumeFate::Kept("--keep-data".to_owned()),
        (Phase::Released, ReclaimPolicy::Retain) if is_ours || terms.takes_released => {
            match (remedies::reclaim_released(cx, volume), remedies::survives(cx, volume)) {
                (Err(unseen), _) | (_, Err(unseen)) => VolumeFate::Left(unseen.reason),
                (_, Ok(Some(reason))) => VolumeFate::Left(reason),
                (Ok(Err(refusal)), _) => VolumeFate::Left(refusal.reason),
                (Ok(Ok(proposal)), _) => {
                    surveyed.step = VolumeStep::Reclaims;
                    VolumeFate::Destroyed(proposal.effect.what)
                }
            }
        }
        (Phase::Released, ReclaimPolicy::Retain) => {
            VolumeFate::Kept("it is Released with policy Retain".to_owned())
        }
        // Its claim is gone, and the volume controller has not seen that.
        (Phase::Bound, ReclaimPolicy::Retain) if is_ours => {
            surveyed.step = VolumeStep::AwaitsClaim;
            VolumeFate::Destroyed("its claim is gone; then it is reclaimed".to_owned())
        }
        (_, ReclaimPolicy::Retain) => VolumeFate::Kept("its policy is Retain".to_owned()),
        (Phase::Released | Phase::Failed, ReclaimPolicy::Delete) => {
            surveyed.step = VolumeStep::AwaitsVolume;
            VolumeFate::Destroyed(UNDER_WAY.to_owned())
        }
        (phase, _) => VolumeFate::Left(format!("its phase is {phase}, and no claim uses it")),
    };
    Some(surveyed)
}

/// Returns what becomes of each snapshot in scope: of a claim that the selector selects, where there is one.
fn snapshots(cx: &Cx) -> Vec<(ObjectRef, VolumeFate)> {
    let settings = cx.settings();
    let Some(terms) = &settings.teardown else { return Vec::new() };
    let is_confirmed = |uid: Option<&Uid>| {
        let confirmed = terms.confirmed.as_ref();
        confirmed.is_none_or(|all| uid.is_some_and(|it| all.ends.contains(it)))
    };
    let (scope, cluster) = (&settings.scope, cx.cluster());
    let source = |it: &VolumeSnapshot| {
        let name = it.source_claim.clone()?;
        Some(ClaimKey { namespace: Text::clone(&it.namespace), name })
    };
    // A younger claim has only the name of the one that it was taken of.
    let claim = |it: &VolumeSnapshot| {
        let claim = cluster.claim_named(&source(it)?);
        claim.filter(|claim| claim.metadata.created <= it.metadata.created)
    };
    // The labels of a claim that is gone are unknown.
    let is_selected = |it: &VolumeSnapshot| {
        scope.selector.is_empty()
            || claim(it).is_some_and(|it| scope.selector.matches(&it.metadata.labels))
    };
    let mut found: Vec<_> = cluster
        .volume_snapshots()
        .filter(|(_, it)| scope.includes(&it.namespace) && is_selected(it))
        .map(|(_, it)| {
            let is_excepted = match claim(it) {
                Some(claim) => excepts(terms, claim).is_some(),
                None => terms.except.iter().any(|except| match except {
                    Exception::Namespace(name) => *name == it.namespace,
                    Exception::Claim(key) => source(it).as_ref() == Some(key),
                    // Which volume and class it had is unknown.
                    Exception::Class(_) | Exception::Volume(_) => true,
                }),
            };
            let fate = match remedies::teardown::delete_snapshot(cx, it) {
                _ if is_excepted => VolumeFate::Kept(LEFT_OUT.to_owned()),
                _ if !terms.destroys => VolumeFate::Kept("--keep-data".to_owned()),
                _ if !settings.destroy_snapshots => {
                    VolumeFate::Kept("snapshots survive their volumes".to_owned())
                }
                Ok(Ok(proposal)) if is_confirmed(it.metadata.uid.as_ref()) => {
                    VolumeFate::Destroyed(proposal.effect.what)
                }
                Ok(Ok(_)) => VolumeFate::Left(CAME_LATER.to_owned()),
                Ok(Err(refusal)) => VolumeFate::Left(refusal.reason),
                Err(unseen) => VolumeFate::Left(unseen.reason),
            };
            (it.object(), fate)
        })
        .collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

/// Returns the controllers that the teardown needs and that run on no node which stays.
fn controllers(cx: &Cx, volumes: &[SurveyedVolume]) -> Vec<TeardownObstacle> {
    let mut needed: BTreeMap<(&str, Text), ControllerState> = BTreeMap::new();
    for it in volumes.iter().filter(|it| it.is_destroyed() || it.step == VolumeStep::DeletesClaim) {
        let Some(volume) =
            it.volume.as_ref().and_then(|it| cx.cluster().volume_named(&it.key.name))
        else {
            continue;
        };
        let facts::Owner::Csi(driver) = facts::owner(volume) else { continue };
        if it.is_destroyed() {
            let key = ("csi-provisioner", Text::clone(&driver));
            needed.entry(key).or_insert_with(|| facts::provisioner(cx, &driver));
        }
        let attached = cx.attachments_of(volume.name()).unwrap_or_default();
        if !attached.is_empty() {
            let key = ("external-attacher", Text::clone(&driver));
            needed.entry(key).or_insert_with(|| facts::attacher(cx, &driver));
        }
    }
    let obstacle = |((role, driver), state): ((&str, Text), ControllerState)| {
        let who = format!("{role} of {driver}");
        let reason = match state.liveness {
            Liveness::Absent => Some(format!("{who} is absent: {}", state.because)),
            _ if role == "external-attacher"
                && state.liveness == Liveness::Unknown
                && !cx.settings().alive_provisioners.contains(&driver) =>
            {
                Some(format!("{who} may not be running: {}", state.because))
            }
            _ => unsteady(cx, &state).map(|why| format!("{who} {why}")),
        };
        Some(TeardownObstacle { object: None, reason: reason? })
    };
    needed.into_iter().filter_map(obstacle).collect()
}

/// Why a controller may not run to the end: all its pods are on nodes that go away.
fn unsteady(cx: &Cx, state: &ControllerState) -> Option<String> {
    let pods = state.runs_in.iter().filter(|it| it.key.kind == Kind::Pod);
    let pods: Vec<_> = pods.filter_map(|it| cx.cluster().pod_named(&it.key)).collect();
    let nodes: BTreeSet<&Text> = pods.iter().filter_map(|it| it.node.as_ref()).collect();
    let stays = |name: &&Text| {
        let node = cx.cluster().nodes().find(|(_, it)| *it.metadata.name == ***name);
        node.is_none_or(|(_, it)| {
            it.ready && !it.unschedulable && !it.out_of_service && it.metadata.deleting.is_none()
        })
    };
    let named = nodes.iter().map(|it| &***it).collect::<Vec<_>>().join(", ");
    (!nodes.is_empty() && !nodes.iter().any(stays))
        .then(|| format!("runs only on node {named}, which is cordoned, not Ready or going away"))
}
