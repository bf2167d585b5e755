//! Records in our own dumps that are no Kubernetes objects: coverage, sightings, the time of the dump,
//! and kept backend volumes.
//!
//! What is needed to create its PersistentVolume again is not in it: that stays in the record.

use serde::{Deserialize, Serialize};

use crate::cluster::{Cluster, Coverage, Gap, Reach};
use crate::model::{
    BackendKey, ClaimKey, ControllerRole, Interner, JournalEntryNumber, JournalPlace, KeptBackend,
    Kind, Recorded, Server, Sighting, Text, Time, Uid, format_time, parse_time,
};

/// Kind of a line with an answer.
pub const ANSWER: &str = "Answer";
/// Kind of a line with a sighting, which an earlier run recorded.
pub const SIGHTING: &str = "Sighting";
/// Kind of a line with a finalizer that this tool added to a volume.
pub const ADDED_FINALIZER: &str = "AddedFinalizer";
/// Kind of a line that says how far a kind was read.
pub const COVERAGE: &str = "Coverage";
/// Kind of the same line about an inventory that lies in the cluster: an earlier version of this tool passes over it.
pub const INVENTORY_COVERAGE: &str = "InventoryCoverage";
/// Kind of a line with what a kubelet measured of the volume of a claim.
pub const VOLUME_FIGURES: &str = "VolumeFigures";
/// Kind of a line that says why a kubelet did not answer.
pub const SILENT_KUBELET: &str = "SilentKubelet";
/// Kind of the line that says when and of what the dump was taken.
pub const TAKEN: &str = "Taken";

/// The first line of a dump.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct DumpHeader {
    /// Time and cluster of the dump, where they are known at the beginning.
    pub metadata: DumpMoment,
    /// Kinds of which the file holds every object, in files written by hand.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub complete: Vec<String>,
}

/// Time and cluster of a dump.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct DumpMoment {
    /// The server's clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taken_at: Option<String>,
    /// The cluster.
    pub cluster: SavedCluster,
    /// The tool's version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Whether the objects of the dump have that by which the cluster is known at a provider. Earlier versions saved
    /// them without.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub identity: bool,
}

/// Identity of a cluster.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct SavedCluster {
    /// What the user calls it: the name of the context.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uid: Option<Box<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<Box<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<Box<str>>,
    /// Major and minor version whose behaviour is to be expected, where it is not that of `version`.
    #[serde(alias = "behaves_as", skip_serializing_if = "Option::is_none")]
    behaves_as: Option<(u32, u32)>,
}

impl DumpHeader {
    /// Returns the header of a dump that is about to be taken of a cluster, which the user calls so.
    pub fn now(name: Option<String>) -> Self {
        let tool = Some(env!("CARGO_PKG_VERSION").to_owned());
        let cluster = SavedCluster { name, ..SavedCluster::default() };
        let metadata = DumpMoment { cluster, tool, ..DumpMoment::default() };
        Self { metadata, complete: Vec::new() }
    }
}

impl DumpMoment {
    /// Returns the header for a cluster that was read.
    pub fn new(cluster: &Cluster) -> Self {
        let server = cluster.server().cloned().unwrap_or_default();
        Self {
            taken_at: cluster.clock().as_ref().map(format_time),
            cluster: SavedCluster {
                name: None,
                uid: server.cluster_uid,
                server: server.url,
                version: server.git_version,
                behaves_as: server.version,
            },
            tool: None,
            identity: cluster.has_identity(),
        }
    }

    /// Returns the server's clock.
    ///
    /// # Errors
    /// When it is no time.
    pub fn clock(&self) -> Result<Option<Time>, String> {
        let Some(text) = &self.taken_at else { return Ok(None) };
        parse_time(text).map_err(|error| format!("takenAt {text:?} is not a time: {error}"))
    }

    /// Returns what the server said of itself; `None` when nothing is known.
    pub fn server(&self) -> Option<Server> {
        let SavedCluster { name: _, uid, server, version, behaves_as } = self.cluster.clone();
        if uid.is_none() && server.is_none() && version.is_none() {
            return None;
        }
        let parsed = behaves_as.or_else(|| major_minor(version.as_deref()?));
        Some(Server {
            cluster_uid: uid,
            url: server,
            git_version: version,
            version: parsed,
            allowed: None,
        })
    }
}

/// Parses `v1.36.3` as 1.36.
fn major_minor(git_version: &str) -> Option<(u32, u32)> {
    let mut parts = git_version.trim_start_matches('v').split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// Saved sighting: what an earlier run recorded of a controller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SavedSighting {
    role: String,
    driver: String,
    absent_since: String,
}

impl SavedSighting {
    /// Puts a record into its saved form.
    pub fn new(sighting: &Sighting) -> Self {
        Self {
            role: sighting.role.name().to_owned(),
            driver: sighting.driver.to_string(),
            absent_since: format_time(&sighting.absent_since),
        }
    }

    /// Converts the saved form into a sighting.
    ///
    /// # Errors
    /// When the role is not known, or the time is none.
    pub fn into_sighting(self, interner: &mut Interner) -> Result<Sighting, String> {
        let roles = ControllerRole::ALL;
        let role = roles.into_iter().find(|role| role.name() == self.role);
        let absent_since = parse_time(&self.absent_since).ok().flatten();
        Ok(Sighting {
            role: role.ok_or_else(|| format!("{:?} is not a role", self.role))?,
            driver: interner.text(&self.driver),
            absent_since: absent_since
                .ok_or_else(|| format!("{:?} is not a time", self.absent_since))?,
        })
    }
}

/// A finalizer that this tool added to a volume.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SavedAddedFinalizer {
    volume_uid: String,
    finalizer: String,
}

impl SavedAddedFinalizer {
    /// Puts a finalizer into its saved form.
    pub fn new(volume: &Uid, finalizer: &str) -> Self {
        Self { volume_uid: volume.to_string(), finalizer: finalizer.to_owned() }
    }

    /// Converts the saved form into the volume's uid and the finalizer.
    ///
    /// # Errors
    /// When there is no uid.
    pub fn into_parts(self, interner: &mut Interner) -> Result<(Uid, Text), String> {
        let uid = Uid::parse(&self.volume_uid).ok_or("its uid is empty")?;
        Ok((uid, interner.text(&self.finalizer)))
    }
}

/// Saved coverage: how far a kind was read.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SavedCoverage {
    resource: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    namespace: Option<String>,
    state: CoverageState,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum CoverageState {
    /// The list began and ended at these points in the order of all that was read.
    Seen {
        began: u64,
        ended: u64,
    },
    Gap {
        reason: String,
    },
    NotServed,
}

impl SavedCoverage {
    /// Puts coverage into its saved form.
    pub fn new(reach: &Reach, coverage: &Coverage) -> Self {
        let gap = |reason: &str| CoverageState::Gap { reason: reason.to_owned() };
        let state = match coverage {
            Coverage::Seen { began, ended } => CoverageState::Seen { began: *began, ended: *ended },
            Coverage::Gap(unread) | Coverage::Withheld(unread) => gap(&unread.reason),
            Coverage::NotServed => CoverageState::NotServed,
            Coverage::Listing { .. } => gap("the list did not end"),
        };
        let namespace = reach.namespace.as_ref().map(ToString::to_string);
        Self { resource: reach.kind.resource().to_owned(), namespace, state }
    }

    /// Converts the saved form into coverage.
    ///
    /// # Errors
    /// When the resource is not known.
    pub fn into_coverage(self, interner: &mut Interner) -> Result<(Reach, Coverage), String> {
        let kind = Kind::parse_resource(&self.resource)
            .ok_or_else(|| format!("{:?} is not a resource that an audit reads", self.resource))?;
        let namespace = self.namespace.map(|namespace| interner.text(&namespace));
        let coverage = match self.state {
            CoverageState::Seen { began, ended } => Coverage::Seen { began, ended },
            CoverageState::Gap { reason } => {
                let is_partial = kind.is_inventory() && !reason.starts_with("forbidden");
                let gap = Gap { kind, namespace: namespace.clone(), reason };
                if is_partial { Coverage::Gap(gap) } else { Coverage::unread(gap) }
            }
            CoverageState::NotServed => Coverage::NotServed,
        };
        Ok((Reach { kind, namespace }, coverage))
    }
}

/// The `kind` of a line with a kept backend volume.
pub const KEPT_BACKEND: &str = "KeptBackend";

/// A kept backend volume in the form in which a dump holds it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KeptBackendLine {
    driver: String,
    handle: String,
    volume: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    uid: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    claim: Option<LineClaim>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    storage_class: Option<String>,
    /// Capacity in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    capacity: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    since: Option<String>,
    recorded: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    entry: Option<LineEntry>,
}

/// An entry of a journal: a number in that of the machine, or the name of an entry in the cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum LineEntry {
    Machine(u64),
    Cluster(String),
}

impl LineEntry {
    fn new(entry: &JournalEntryNumber) -> Self {
        match entry.place {
            JournalPlace::Machine => Self::Machine(entry.sequence),
            JournalPlace::Cluster(_) => Self::Cluster(entry.arguments()),
        }
    }

    fn number(&self) -> Option<JournalEntryNumber> {
        match self {
            Self::Machine(sequence) => {
                Some(JournalEntryNumber { place: JournalPlace::Machine, sequence: *sequence })
            }
            Self::Cluster(arguments) => JournalEntryNumber::of_arguments(arguments),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct LineClaim {
    namespace: String,
    name: String,
}

impl KeptBackendLine {
    /// Returns the line of a kept backend volume.
    pub fn new(kept: &KeptBackend) -> Self {
        let line_claim = |claim: &ClaimKey| LineClaim {
            namespace: claim.namespace.to_string(),
            name: claim.name.to_string(),
        };
        Self {
            driver: kept.backend.driver.to_string(),
            handle: kept.backend.handle.to_string(),
            volume: kept.volume.to_string(),
            uid: kept.uid.as_ref().map(Uid::to_string),
            claim: kept.claim.as_ref().map(line_claim),
            storage_class: kept.class.as_ref().map(ToString::to_string),
            capacity: kept.capacity,
            since: kept.since.as_ref().map(format_time),
            recorded: kept.recorded.name().to_owned(),
            entry: kept.entry.as_ref().map(LineEntry::new),
        }
    }

    /// Returns the kept backend volume that the line describes.
    ///
    /// # Errors
    /// When `since` is not a time, or `recorded` is not the name of a place where one is recorded.
    pub fn into_backend(self, interner: &mut Interner) -> Result<KeptBackend, String> {
        let recorded = Recorded::ALL.into_iter().find(|it| it.name() == self.recorded);
        let since = match &self.since {
            Some(text) => parse_time(text).map_err(|_| format!("{text:?} is not a time"))?,
            None => None,
        };
        Ok(KeptBackend {
            backend: BackendKey { driver: interner.text(&self.driver), handle: self.handle.into() },
            volume: self.volume.into(),
            uid: self.uid.as_deref().and_then(Uid::parse),
            claim: self.claim.map(|claim| ClaimKey {
                namespace: interner.text(&claim.namespace),
                name: claim.name.into(),
            }),
            class: self.storage_class.as_deref().map(|it| interner.text(it)),
            capacity: self.capacity,
            since,
            recorded: recorded
                .ok_or_else(|| format!("{:?} is not journal, cluster or both", self.recorded))?,
            entry: self.entry.as_ref().and_then(LineEntry::number),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept() -> KeptBackend {
        KeptBackend {
            backend: BackendKey { driver: "d.example".into(), handle: "h/1".into() },
            volume: "pv-1".into(),
            uid: Uid::parse("493c02a7-f4e6-5ec4-8e0b-fc87ae581be5"),
            claim: Some(ClaimKey { namespace: "shop".into(), name: "data".into() }),
            class: Some("fast".into()),
            capacity: Some(10 << 30),
            since: crate::model::Time::from_timestamp(1_800_000_000, 0),
            recorded: Recorded::Both,
            entry: Some(JournalEntryNumber { place: JournalPlace::Machine, sequence: 7 }),
        }
    }

    #[test]
    fn a_saved_line_comes_back_as_it_was() {
        let mut interner = Interner::default();
        let text =
            serde_json::to_string(&KeptBackendLine::new(&kept())).expect("it has a JSON form");
        let line: KeptBackendLine = serde_json::from_str(&text).expect("the same form");
        assert_eq!(line.into_backend(&mut interner), Ok(kept()));
        assert!(text.contains(r#""entry":7"#), "{text}");
        let place = JournalPlace::Cluster("ops".into());
        let entry = Some(JournalEntryNumber { place, sequence: 7 });
        let in_cluster = KeptBackend { entry, ..kept() };
        let line = KeptBackendLine::new(&in_cluster);
        assert_eq!(line.into_backend(&mut interner), Ok(in_cluster));
        for (wrong, said) in [("since", "not a time"), ("recorded", "not journal")] {
            let mut line: serde_json::Value = serde_json::from_str(&text).expect("JSON");
            line[wrong] = "x".into();
            let line: KeptBackendLine = serde_json::from_value(line).expect("the same form");
            let error = line.into_backend(&mut interner).expect_err("nothing sensible");
            assert!(error.contains(said), "{error}");
        }
    }
}
