//! The finding that several clusters name one storage. It is found where their references are compared, not in one cluster.

use std::{cell::RefCell, collections::HashSet};

use super::{
    Assessor, CapacityRisk, Rule,
    assess::{in_scope, is_asked_for, is_left_out},
};
use crate::cluster::{
    Cluster, Cx, NamedBeyond, Placed as _, ReferencesOfClusters, ReferencingVolume, Seen,
    StorageReference, Subject,
};
use crate::drivers::{Place, Relation};
use crate::facts::{self};
use crate::model::{
    Bytes, Finding, Kind, ObjectKey, ObjectRef, Settings, Severity, Text, first_of,
};

/// The rules that compare clusters, in the order of the documentation.
pub(super) static RULES: &[&Rule] = &[&SHARED_BETWEEN_CLUSTERS];

/// Several clusters name one storage (semantics K.4).
pub(super) static SHARED_BETWEEN_CLUSTERS: Rule = Rule {
    id: "pv-shared-between-clusters",
    severity: Severity::Critical,
    capacity_risk: CapacityRisk::Data,
    needs: &[
        Kind::PersistentVolume,
        Kind::Pod,
        Kind::VolumeAttachment,
        Kind::VolumeSnapshotContent,
    ],
    remedies: &[],
    title: "PersistentVolumes of several clusters reference the same storage",
    danger: "A restore into another cluster, a copy of its objects or a static volume names a disk twice, and each \
             cluster alone says that reclaiming it is safe. Whichever deletes it first destroys the data of the other. \
             An id of a provider is one disk wherever it is named; an address on a network may be another server in \
             another cluster, so that there is a doubt. What is in the cluster itself is never compared.",
    remedy: "None by the tool. Set the policy to Retain in every cluster; then decide which one owns the data.",
    source: "the CSI drivers' handles (docs/drivers.md)",
    judge: &[],
};

/// Collects what a cluster names of storage that another cluster can name, too.
pub fn storage_references(
    assessor: &Assessor,
    cluster: &Cluster,
    settings: &Settings,
) -> Vec<StorageReference> {
    let cx = &assessor.cx(cluster, settings);
    let mut found = facts::storage_references(cx, facts::is_beyond, |id, volume| {
        let subject = Subject::Volume(id);
        let id = SHARED_BETWEEN_CLUSTERS.id;
        let is_left_out = is_left_out(cluster, settings, &subject, id);
        let is_reported = is_asked_for(settings, id) && !settings.scope.ignored.contains(id);
        ReferencingVolume {
            is_left_out,
            is_exempt: is_left_out && is_reported && in_scope(cluster, settings, &subject),
            is_at_risk: assessor.is_at_risk(cx, &subject),
            ..volume
        }
    });
    found.retain(|it| !it.is_somewhere);
    found
}

/// Collects the same of a cluster that is not reported, and says whether that is all: whether these kinds, and the record
/// of kept backend volumes, were read.
pub fn named_storage(cluster: &Cluster, kinds: &[Kind]) -> (Vec<StorageReference>, Seen<()>) {
    let (settings, facts) = (Settings::default(), RefCell::default());
    let cx = Cx::new(cluster, &settings, &facts);
    let read = kinds.iter().try_for_each(|kind| cx.all_of(*kind));
    let read = read.and_then(|()| facts::kept_record_read(&cx));
    (facts::storage_references(&cx, facts::is_beyond, |_, volume| volume), read)
}

/// A finding of one cluster about storage that others name.
#[derive(Debug)]
pub struct SharedBetweenClusters {
    /// The finding.
    pub finding: Finding,
    /// The clusters of its related objects, in their order.
    pub related: Vec<usize>,
    /// Capacity that is at risk because of it, and is counted nowhere else.
    pub at_risk: Bytes,
    /// The number of a cluster that has this very volume, by its uid: both may be one.
    pub twin: Option<usize>,
    /// Whether an exemption leaves it out.
    pub is_exempt: bool,
}

/// How many objects and clusters are told.
const TOLD: usize = 8;

/// A volume whose storage another cluster names, whether that is reported or not: no command that may destroy it is
/// printed.
#[derive(Debug)]
pub struct NamedElsewhere {
    /// The volume.
    pub volume: ObjectKey,
    /// Its claim.
    pub claim: Option<ObjectKey>,
    /// Its capacity.
    pub capacity: Bytes,
    /// Who names it, and how that lies to it.
    pub reason: String,
}

/// Compares one of several clusters with the others: one finding for each of its volumes whose storage another one names,
/// and all volumes of which another names anything. `names` are those of the clusters.
pub fn shared_between_clusters(
    references: &ReferencesOfClusters,
    cluster: usize,
    names: &[Text],
) -> (Vec<SharedBetweenClusters>, Vec<NamedElsewhere>) {
    let (mut found, mut elsewhere) = (Vec::new(), Vec::new());
    // Each backend volume counts once: in the first cluster that names it.
    let mut counted = HashSet::new();
    for (number, reference) in references.clusters()[cluster].iter().enumerate() {
        let Some(volume) = reference.volume.as_deref() else { continue };
        let places = reference.places();
        let mut others = references.naming(&reference.reference(), &places, Some(cluster));
        let Some(first) = others.iter().min_by_key(|it| it.doubt.is_some()) else { continue };
        elsewhere.push(NamedElsewhere {
            volume: reference.object.clone(),
            claim: volume.claim.as_ref().map(ObjectKey::claim),
            capacity: volume.capacity.unwrap_or_default(),
            reason: facts::lies_beyond(&names[first.cluster], first),
        });
        others.retain(|it| matters(volume, it));
        if others.is_empty() || (volume.is_left_out && !volume.is_exempt) {
            continue;
        }
        let mut shared = finding(reference, volume, &places, &others, names);
        let all = || others.iter().map(|it| (it.cluster, it.number)).chain([(cluster, number)]);
        let volumes =
            || others.iter().filter_map(|it| it.reference.volume.as_deref()).chain([volume]);
        let is_reported = |it: &NamedBeyond<'_>| {
            it.cluster < cluster && it.reference.volume.as_ref().is_some_and(|it| !it.is_left_out)
        };
        let is_known = others.iter().any(is_reported)
            || all().any(|it| counted.contains(&it))
            || volumes().any(|it| it.is_at_risk);
        if shared.finding.severity != Severity::Info && !is_known && !volume.is_exempt {
            shared.at_risk = volumes().filter_map(|it| it.capacity).max().unwrap_or_default();
            counted.extend(all());
        }
        found.push(shared);
    }
    (found, elsewhere)
}

/// Whether one may bear on the other: what is only in a directory of another cluster is what a provisioner makes there,
/// unless that directory may be destroyed as a whole.
fn matters(volume: &ReferencingVolume, other: &NamedBeyond<'_>) -> bool {
    match other.relation {
        Relation::Equal => true,
        Relation::Around => other.reference.may_destroy(),
        Relation::Inside => volume.may_destroy,
    }
}

/// Says which clusters reference the same storage for certain, and which may.
fn referencing_clusters(others: &[NamedBeyond<'_>], names: &[Text]) -> String {
    // Those first whose policy may destroy it.
    let of = |is_certain: bool| -> Vec<&str> {
        let its = others.iter().filter(|it| it.doubt.is_none() == is_certain);
        let mut found: Vec<&str> = Vec::new();
        for name in its.map(|it| &*names[it.cluster]) {
            if !found.contains(&name) {
                found.push(name);
            }
        }
        found
    };
    let (certain, mut may) = (of(true), of(false));
    may.retain(|it| !certain.contains(it));
    let clusters = |names: &[&str]| match names {
        [one] => format!("cluster {one}"),
        several => format!("clusters {}", first_of(several, TOLD)),
    };
    let references = if certain.len() == 1 { "references" } else { "reference" };
    match (&certain[..], &may[..]) {
        ([], may) => format!("{} may reference the same storage", clusters(may)),
        (certain, []) => format!("{} {references} the same storage", clusters(certain)),
        (certain, may) => {
            let may = clusters(may);
            format!("{} {references} the same storage, and {may} may", clusters(certain))
        }
    }
}

fn finding(
    reference: &StorageReference,
    volume: &ReferencingVolume,
    places: &[Place<'_>],
    others: &[NamedBeyond<'_>],
    names: &[Text],
) -> SharedBetweenClusters {
    let destroys = |it: &NamedBeyond<'_>| it.reference.may_destroy();
    let certain = || others.iter().filter(|it| it.doubt.is_none());
    let perishable = volume.may_destroy || others.iter().any(destroys);
    let doubt = certain().next().is_none();
    let is_certain_to_perish = !doubt && (volume.may_destroy || certain().any(destroys));
    // Buckets, and file systems that nothing destroys, are there to be shared.
    let is_bucket = places.iter().all(Place::is_bucket);
    let mut other_volumes = others.iter().filter_map(|it| it.reference.volume.as_ref());
    let is_shared = is_bucket || (volume.is_shared && other_volumes.all(|it| it.is_shared));
    // What is certain only with clusters that keep it is not destroyed for certain by one that may be elsewhere.
    let severity = match (is_certain_to_perish, perishable) {
        (true, _) => Severity::Critical,
        (false, false) if is_shared => Severity::Info,
        (false, _) => Severity::High,
    };
    let danger = match (severity, perishable) {
        (Severity::Info, _) => "",
        (_, true) => ": deleting one may delete the data of all",
        (_, false) => "; nothing deletes it",
    };
    let summary = format!("{}{danger}", referencing_clusters(others, names));
    let mut finding = SHARED_BETWEEN_CLUSTERS
        .about(reference.object(), summary)
        .severe(severity)
        .shows("backend volume", reference.backend.to_string())
        .shows("spec.persistentVolumeReclaimPolicy", volume.policy.to_string());
    for other in others.iter().take(TOLD) {
        let object = other.reference.object();
        let name = &names[other.cluster];
        let mut told = other.reference.backend.to_string();
        if let Some(its) = &other.reference.volume {
            told = format!("{told}, policy {}, {}", its.policy, its.phase);
        }
        if let Some(why) = &other.doubt {
            told = format!("{told}; {why}");
        }
        finding = finding.shows_of(&object, "in another cluster", format!("{name}: {told}"));
    }
    finding.volume = Some(volume.columns());
    let told: Vec<(usize, ObjectRef)> =
        others.iter().take(TOLD).map(|it| (it.cluster, it.reference.object())).collect();
    let advice = match (severity, doubt) {
        (Severity::Info, _) => "nothing, if the clusters are meant to share it",
        (_, true) => {
            "find out whether it is the same storage; until then, set the policy of each of them to Retain, in every \
             cluster"
        }
        (_, false) => {
            "set the policy of each of them to Retain, in every cluster; then decide which one owns the data"
        }
    };
    let finding =
        finding.relates(told.iter().map(|it| it.1.clone())).report_only(advice.to_owned());
    let related = told.into_iter().map(|it| it.0).collect();
    let twin = others.iter().find(|it| {
        let uid = it.reference.volume.as_ref().and_then(|it| it.uid.as_ref());
        uid.is_some() && uid == volume.uid.as_ref()
    });
    let twin = twin.map(|it| it.cluster);
    let is_exempt = volume.is_exempt;
    SharedBetweenClusters { at_risk: 0, twin, finding, related, is_exempt }
}
