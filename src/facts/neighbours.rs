//! Neighbours of a volume, which reference the same storage (R-DRV-1): volumes that share it, as one disk under several
//! names or one directory in another, inline volumes of pods, and kept backend volumes.

use std::borrow::Cow;

use super::driver::{self, of_kept};
use crate::cluster::{Cx, NamedBeyond, Others, Placed, Seen, Unseen};
use crate::drivers::{self, Extent, Overlap, Place, Reference, Relation, meeting};
use crate::facts::{
    Owner,
    controller::{self, pod_is_of_provisioner, workload_provisions},
    may_destroy, owner,
};
use crate::model::{
    Answer, InlineVolume, InlineVolumes, KeptBackend, NamedBackend, OwnerReference, PodUse,
    Question, Severity, Text, Volume, VolumeSource, Workload,
};

/// An object that references storage of a volume too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Neighbour {
    /// The name of the neighbour in reports.
    pub who: String,
    /// The relation of the neighbour to the volume, in words that follow the name.
    pub how: Cow<'static, str>,
    /// Certainty of the relation.
    pub nearness: Nearness,
}

/// The neighbours of a volume, certain and possible.
#[derive(Debug)]
pub struct Neighbours {
    /// All neighbours, or the first of very many.
    pub found: Vec<Neighbour>,
    /// Number of further volumes that certainly reference the same storage.
    pub proven: usize,
    /// Whether no other object may be a neighbour.
    pub are_all: bool,
}

/// Largest number of volumes with the same storage that are reported one by one.
const MOST: usize = 32;

/// Certainty that an object references the storage of a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Nearness {
    /// The object certainly references the storage.
    Proven,
    /// The object may reference the storage: what would tell them apart is not known.
    Possible,
    /// The object contains the volume's directory in a way that is usual for agents of nodes: worth saying.
    Notable,
}

/// Returns the neighbours of a volume: volumes, kept backend volumes, and volumes that pods and templates describe
/// themselves. The volume called `besides` is left out. Of very many volumes only the first are among them, and how
/// many more there are at least.
///
/// # Errors
/// When a kind was not read.
pub fn neighbours(
    cx: &Cx,
    volume: &Volume,
    places: &[Place<'_>],
    besides: Option<&str>,
) -> Seen<Neighbours> {
    let mut found = Vec::new();
    let is_other = |name: &str| name != volume.name() && Some(name) != besides;
    let mut add = |other: &Volume, overlap: &Overlap| -> Seen<()> {
        if !is_root_of_its_provisioner(cx, volume, other, overlap)? {
            found.push(neighbour(other.object().to_string(), overlap, lies(overlap)));
        }
        Ok(())
    };
    let sharing = cx.sharing_at(places, volume.name())?;
    let certain = sharing.iter().filter(|(_, overlap)| overlap.is_certain());
    for (other, overlap) in certain.take(MOST).filter(|(other, _)| is_other(other.name())) {
        add(other, overlap)?;
    }
    let proven = sharing.certain().saturating_sub(MOST);
    // They are refused whatever else there is.
    let doubtful = match proven {
        0 => cx.doubtful_at(places, &is_other)?,
        _ => (Vec::new(), true),
    };
    for (other, overlap) in doubtful.0 {
        add(other, &overlap)?;
    }
    unknown_family(cx, volume, &is_other, &mut found);
    for (kept, overlap) in cx.kept_at(places) {
        if is_other(&kept.volume) && !is_record_of(volume, kept) {
            found.push(neighbour(of_kept(kept), &overlap, lies(&overlap)));
        }
    }
    let is_other_volume = |name: &str| name != volume.name() && is_other(name);
    let is_other_record = |it: &KeptBackend| is_other(&it.volume) && !is_record_of(volume, it);
    for (who, id) in cx.namesakes(volume, &is_other_volume, &is_other_record)? {
        if found.iter().all(|it| it.who != who) {
            let how = format!("may reference the same storage: the names of both contain {id}");
            found.push(Neighbour { who, how: Cow::Owned(how), nearness: Nearness::Possible });
        }
    }
    let provisioner = match owner(volume) {
        Owner::External(name) => Some(name),
        Owner::Csi(_) | Owner::InTree(_) | Owner::StaticInTree(_) => None,
    };
    let pods = cx.pods_at(places)?;
    let workloads = cx.workloads_at(places)?;
    for (pod, _) in pods {
        let user = InlineUser {
            who: pod.object().to_string(),
            is_provisioner: provisioner
                .as_ref()
                .is_some_and(|name| pod_is_of_provisioner(cx, name, pod)),
            is_helper: provisioner
                .as_ref()
                .is_some_and(|name| helps_with_another(cx, name, pod, volume)),
            controller: controller(&workloads, &pod.namespace, pod.controller.as_deref()),
        };
        inline(volume, places, &pod.inline, &user, &mut found);
    }
    for (workload, _) in &workloads {
        let runs_it = |name| workload_provisions(cx, name, workload);
        let user = InlineUser {
            who: workload.object().to_string(),
            is_provisioner: provisioner.as_ref().is_some_and(runs_it),
            is_helper: false,
            controller: controller(&workloads, &workload.namespace, workload.controller.as_deref()),
        };
        inline(volume, places, &workload.inline, &user, &mut found);
    }
    found.sort_by(|a, b| (a.nearness, &a.who).cmp(&(b.nearness, &b.who)));
    Ok(Neighbours { found, proven, are_all: doubtful.1 })
}

/// Fails unless the record of kept backend volumes was read: one that another machine has kept may lie in
/// the storage of a volume, or contain it. A dump need not hold the record.
///
/// # Errors
/// When the API server refused to show the record, or did not answer.
pub fn kept_record_read(cx: &Cx) -> Seen<()> {
    for (question, answer) in cx.cluster().answers() {
        let Question::KeptBackends { namespace } = question else { continue };
        let reason = match answer {
            Answer::Forbidden => "forbidden",
            Answer::Unanswered(reason) => reason,
            _ => continue,
        };
        return Err(Unseen {
            kind: question.kind(),
            namespace: Some(Text::clone(namespace)),
            reason: format!("the record of kept backend volumes was not read: {reason}"),
        });
    }
    Ok(())
}

/// Whether a record is of this very backend volume, which was kept, and is deleted or adopted now.
fn is_record_of(volume: &Volume, kept: &KeptBackend) -> bool {
    volume.backend.as_ref() == Some(&kept.backend)
}

fn neighbour(who: String, overlap: &Overlap, how: &'static str) -> Neighbour {
    match &overlap.doubt {
        None => Neighbour { who, how: Cow::Borrowed(how), nearness: Nearness::Proven },
        Some(why) => Neighbour {
            who,
            how: Cow::Owned(format!("may reference the same storage: {why}")),
            nearness: Nearness::Possible,
        },
    }
}

/// Adds another volume, or a kept backend volume, of a driver whose handles tell nothing apart.
fn unknown_family(
    cx: &Cx,
    volume: &Volume,
    is_other: &dyn Fn(&str) -> bool,
    found: &mut Vec<Neighbour>,
) {
    let Some(backend) = &volume.backend else { return };
    let Some(undecided) = driver::undecided_identity(cx, &backend.driver) else { return };
    let is_new = |it: &&NamedBackend| {
        is_other(&it.volume)
            && it.kept.as_ref() != Some(backend)
            && found.iter().all(|known| known.who != it.who)
    };
    if let Some(NamedBackend { who, .. }) = undecided.first.iter().find(is_new) {
        let how = Cow::Owned(format!("may reference the same storage: {}", undecided.why));
        found.push(Neighbour { who: who.clone(), how, nearness: Nearness::Possible });
    }
}

/// Whether another volume is the one in which the provisioner of a volume makes its directories:
/// nfs-subdir mounts a volume of its own, which contains all that it makes. Only pods of the
/// provisioner use it.
fn is_root_of_its_provisioner(
    cx: &Cx,
    volume: &Volume,
    other: &Volume,
    overlap: &Overlap,
) -> Seen<bool> {
    let (Some(claim), Owner::External(provisioner)) = (&other.claim_ref, owner(volume)) else {
        return Ok(false);
    };
    if overlap.relation != Relation::Around {
        return Ok(false);
    }
    let pods = cx.pods_of(&claim.key)?;
    let workloads = cx.workloads_of(&claim.key)?;
    Ok(pods.len() + workloads.len() > 0
        && pods.iter().all(|pod| pod_is_of_provisioner(cx, &provisioner, pod))
        && workloads.iter().all(|workload| workload_provisions(cx, &provisioner, workload)))
}

/// A pod or a template that describes volumes itself.
struct InlineUser<'a> {
    who: String,
    is_provisioner: bool,
    /// Whether the provisioner started the pod to make or remove another volume.
    is_helper: bool,
    /// The workload that makes the pod or the template.
    controller: Option<&'a Workload>,
}

/// Whether a pod is one that the provisioner of a volume starts to make or remove the directory of another volume: its
/// command touches that one alone, although it mounts the directory of all (local-path-provisioner v0.0.30,
/// `createHelperPod`; dynamic-localpv-provisioner, `launchPod`). It runs where the provisioner does, nothing controls
/// it, and it is called after its volume.
///
/// With a `pathPattern` a directory that is being made may be that of this volume: only one that has the name of this
/// volume in it is that of no other.
fn helps_with_another(cx: &Cx, provisioner: &Text, pod: &PodUse, volume: &Volume) -> bool {
    let name = format!("-{}", pod.name);
    let of = |helper: &&str| {
        let begins = format!("-{helper}-");
        name.match_indices(&begins).map(|it| it.0 + begins.len()).collect::<Vec<_>>()
    };
    let helpers = cx.family(provisioner).provisioner.helpers;
    let of: Vec<&str> = helpers.iter().flat_map(of).map(|begin| &name[begin..]).collect();
    let is_made = |name: &str| {
        let uid = name.strip_prefix("pvc-").filter(|it| it.len() == 36);
        uid.is_some_and(|it| uuid::Uuid::try_parse(it).is_ok())
    };
    has_name_in_path(volume)
        && of.iter().all(|it| !volume.name().starts_with(it))
        && of.iter().any(|it| is_made(it) || matches!(cx.volume(it), Ok(Some(_))))
        && pod.controller.is_none()
        && controller::provisioner(cx, provisioner)
            .runs_in
            .iter()
            .any(|it| it.key.namespace.as_ref() == Some(&pod.namespace))
}

/// Whether the directory of a volume begins with its name, as provisioners call it by themselves.
fn has_name_in_path(volume: &Volume) -> bool {
    let (VolumeSource::HostPath(path) | VolumeSource::Local(path)) = &volume.source else {
        return false;
    };
    let last = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    last.strip_prefix(volume.name()).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
}

/// Returns the workload that controls a pod or a workload, if it describes storage of the volume as well.
fn controller<'a>(
    workloads: &[(&'a Workload, Overlap)],
    namespace: &str,
    controller: Option<&OwnerReference>,
) -> Option<&'a Workload> {
    let controller = controller?;
    workloads.iter().map(|it| it.0).find(|it| {
        *it.namespace == *namespace
            && it.kind.name() == &*controller.kind
            && it.name == controller.name
            && it.uid == controller.uid
    })
}

/// Adds the neighbours among the volumes that a pod or a template describes itself.
fn inline(
    volume: &Volume,
    places: &[Place<'_>],
    volumes: &InlineVolumes,
    user: &InlineUser<'_>,
    found: &mut Vec<Neighbour>,
) {
    for it in volumes.iter() {
        let theirs = it.places();
        let Some(overlap) = meeting(places, &theirs) else { continue };
        let who = format!("{} (volume {})", user.who, it.name);
        let how = match overlap.relation {
            Relation::Inside => "mounts a part of it without a claim",
            Relation::Equal => "mounts it without a claim",
            Relation::Around if user.is_provisioner => continue,
            Relation::Around if user.is_helper && is_data_of_helper(volume, it, &theirs) => {
                continue;
            }
            Relation::Around if &*it.backend.driver == "hostPath" => {
                let near = above(volume, &theirs, who);
                // A workload that makes pods with the same volume is named in their place: they come
                // and go, and what is worth knowing stays the same.
                let makes_it =
                    |workload: &Workload| workload.inline.iter().any(|its| is_made_from(it, its));
                if near.nearness != Nearness::Notable || !user.controller.is_some_and(makes_it) {
                    found.push(near);
                }
                continue;
            }
            Relation::Around => "mounts a directory that contains it without a claim",
        };
        found.push(neighbour(who, &overlap, how));
    }
}

/// Whether an inline volume is the one that a provisioner gives to its pods: the directory in which it makes volumes.
fn is_data_of_helper(volume: &Volume, inline: &InlineVolume, theirs: &[Place<'_>]) -> bool {
    let base = base_directory(volume);
    let is_base = |place: &Place<'_>| match &place.extent {
        Extent::Directory(path) => path.len() == base,
        Extent::Device(_) | Extent::Within(..) | Extent::Undecided(..) => false,
    };
    &*inline.name == "data" && theirs.iter().all(is_base)
}

/// Whether an inline volume of a pod is that of a template: only the node, which the template does not know, may
/// differ.
fn is_made_from(volume: &InlineVolume, template: &InlineVolume) -> bool {
    let (places, of_template) = (volume.places(), template.places());
    let extents = places.iter().map(|it| &it.extent);
    volume.name == template.name
        && volume.backend.driver == template.backend.driver
        && volume.attributes == template.attributes
        && extents.eq(of_template.iter().map(|it| &it.extent))
}

/// Returns the neighbour that mounts a directory of the node around the volume's: usual far above, as agents of nodes
/// do; at the directory in which volumes are made, it may use any of them.
fn above(volume: &Volume, theirs: &[Place<'_>], who: String) -> Neighbour {
    let base = base_directory(volume);
    let is_above = theirs.iter().any(|place| match &place.extent {
        Extent::Directory(path) => path.len() < base,
        Extent::Device(_) | Extent::Within(..) | Extent::Undecided(..) => false,
    });
    let (how, nearness) = match is_above || is_device(volume) {
        true => ("mounts a directory of the node that contains it", Nearness::Notable),
        false => (
            "mounts the directory in which its provisioner creates volumes, and may use this one",
            Nearness::Possible,
        ),
    };
    Neighbour { who, how: Cow::Borrowed(how), nearness }
}

/// Whether a volume is a block device of a node, whose directory `/dev` every agent mounts.
fn is_device(volume: &Volume) -> bool {
    matches!(&volume.source, VolumeSource::Local(path) if path.starts_with("/dev/"))
}

/// Returns the number of components of the path in which the provisioner of a volume makes directories: its
/// configuration is not read, so it is the parent of the volume's own.
fn base_directory(volume: &Volume) -> usize {
    let depth = volume.places().iter().find_map(|place| match &place.extent {
        Extent::Directory(path) => Some(path.len()),
        Extent::Device(_) | Extent::Within(..) | Extent::Undecided(..) => None,
    });
    depth.unwrap_or_default().saturating_sub(1)
}

/// Meaning of storage that several volumes share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SharedStorage {
    /// The policy of a member lets its controller destroy the data of all, whatever the policies of
    /// the others are.
    Perishable,
    /// Nothing destroys the data; two claims can bind one device, and two nodes write to it.
    Device,
    /// Nothing destroys the data, in a file system that several nodes may mount: sharing it, also
    /// across namespaces, is normal.
    FileSystem,
    /// The volumes may share storage: what would tell them apart is not known.
    Doubtful,
}

impl SharedStorage {
    /// Judges the storage that a volume shares with others. `None` where it is meant to be shared: a bucket, or a file
    /// system that every one of them mounts on several nodes, which nothing destroys.
    pub fn of(cx: &Cx, volume: &Volume, others: &Others<'_>) -> Option<Self> {
        let perishable = may_destroy(cx, volume) || first_destroyer(cx, others).is_some();
        let doubtful = others.certain() == 0;
        if doubtful && (perishable || !Self::is_file_system(volume)) {
            return Some(Self::Doubtful);
        }
        if perishable {
            return Some(Self::Perishable);
        }
        if !Self::is_file_system(volume) {
            return Some(Self::Device);
        }
        let is_bucket = volume.places().iter().all(Place::is_bucket);
        let is_shared = volume.is_shared && others.are_shared();
        (!is_bucket && !is_shared).then_some(Self::FileSystem)
    }

    /// Whether a volume is in a file system that several nodes may mount, or in a bucket.
    pub fn is_file_system(volume: &Volume) -> bool {
        // Of a driver of which nothing is known, the access modes tell more than the place does.
        let unknown = volume.backend.as_ref().is_none_or(|backend| {
            drivers::is_unknown(Reference::of(backend, &volume.attributes).family)
        });
        let is_device = |place: &Place<'_>| place.is_device() && !place.is_bucket();
        !volume.places().iter().all(is_device) || unknown && volume.is_shared
    }

    /// Returns the severity of the finding.
    pub const fn severity(self) -> Severity {
        match self {
            Self::Perishable => Severity::Critical,
            Self::Device => Severity::High,
            Self::FileSystem => Severity::Info,
            Self::Doubtful => Severity::Medium,
        }
    }
}

/// Returns the first of others whose policy may destroy the storage that they share.
pub fn first_destroyer<'a>(cx: &Cx, others: &Others<'a>) -> Option<&'a Volume> {
    others.destroyers(|other| may_destroy(cx, other)).1.next().map(|(other, _)| *other)
}

/// Whether no pod can mount a volume together with one of the others: the kubelet takes two volumes
/// of one driver and one handle for one, and waits for the second for ever (kubernetes#132921).
pub fn excludes_in_a_pod(volume: &Volume, others: &Others<'_>) -> bool {
    others.have_handle_of(volume)
}

/// Describes how another volume lies to one, in words that follow its name.
pub const fn lies(overlap: &Overlap) -> &'static str {
    match overlap.is_certain() {
        true => lies_certainly(overlap.relation),
        false => "may reference the same backend volume",
    }
}

/// Describes how what certainly shares storage lies to a volume.
const fn lies_certainly(relation: Relation) -> &'static str {
    match relation {
        Relation::Equal => "references the same backend volume",
        Relation::Inside => "lies inside it",
        Relation::Around => "contains it",
    }
}

/// Says what an object of another cluster has to do with a volume, and why that is a doubt, if it is.
pub fn lies_beyond(cluster: &str, named: &NamedBeyond<'_>) -> String {
    let who = named.reference.object();
    let lies = match &named.doubt {
        None => lies_certainly(named.relation).to_owned(),
        Some(why) => format!("may reference the same storage: {why}"),
    };
    format!("{who} of cluster {cluster} {lies}")
}

#[cfg(test)]
mod tests;
