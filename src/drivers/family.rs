//! Family of drivers: what is known of it, and how objects reference its storage.

use std::borrow::Cow;

use super::{ExactKey, Place, UNKNOWN, family, family_with, is_unknown, recognised_by_attributes};
use crate::model::{Attributes, BackendKey, Bytes, Text};

/// Knowledge about the drivers that share one code, with its sources.
#[derive(Debug)]
pub struct Family {
    /// Name of the family in documents and fixtures.
    pub id: &'static str,
    /// Name of the family as people know it.
    pub title: &'static str,
    /// Names of the family's drivers and provisioners.
    pub names: &'static [Name],
    /// Sentence about what identifies storage.
    pub identity: &'static str,
    /// From where its storage can be named.
    pub reach: Reach,
    /// The same of a reference that is none like others: a name that only its cluster knows, or one without its project.
    pub reach_of: fn(&Reference<'_>) -> Option<Reach>,
    /// The `volumeAttributes` that decide what is mounted. They are kept only for volumes whose
    /// handle does not show the same.
    pub attributes: &'static [&'static str],
    /// The `volumeAttributes` that deletion depends on, and that are always kept.
    pub marks: &'static [&'static str],
    /// The `volumeAttributes` that, together, only volumes of the family have, in alternatives.
    pub telling: &'static [&'static [&'static str]],
    /// Returns the places that a volume uses: where its data is, as the node mounts it. Several places where one volume
    /// is several disks.
    pub used: for<'a> fn(&Reference<'a>) -> Vec<Place<'a>>,
    /// Whether volumes have ids by which others may mount them at paths that are not known.
    pub exports_elsewhere: fn(&Reference<'_>) -> bool,
    /// Returns what the driver deletes, as it reads the handle.
    pub deletion: fn(&Deletion<'_>) -> Destruction,
    /// Sentence about what deletion destroys.
    pub destroys: &'static str,
    /// Cases in which the driver answers OK without deleting, in sentences.
    pub answers_ok: &'static [&'static str],
    /// Cases in which the driver refuses to delete, in sentences.
    pub refuses: &'static [&'static str],
    /// The keys of `parameters` of a `StorageClass` that deletion reads.
    pub class_parameters: &'static [&'static str],
    /// Whether deletion reads the `StorageClass`: as it is then, at whatever time it was made.
    pub reads_class: bool,
    /// Whether deletion is done on a node that the node affinity of a volume allows; `None` where
    /// that is not known.
    pub deletes_on_node: Option<bool>,
    /// The flag with which the driver's own controller takes the place of csi-provisioner.
    pub own_provisioner: Option<&'static str>,
    /// Fate of snapshots when their volume is deleted.
    pub snapshots: Snapshots,
    /// Fate of clones when their volume is deleted.
    pub clones: Fate,
    /// Further effect of deleting the object of a volume, where it is not harmless.
    pub object_dropped: Option<ObjectDropped>,
    /// How the family's provisioner is recognised at work.
    pub provisioner: Provisioner,
    /// What expansion of a claim does to a volume.
    pub expansion: Expansion,
    /// Known defects, each with the versions that have it.
    pub defects: &'static [&'static str],
    /// The sources in which all this was read.
    pub sources: &'static [&'static str],
}

impl Family {
    /// Whether only one cluster can name its storage, so that no provider lists it.
    pub fn is_of_cluster(&self) -> bool {
        self.reach == Reach::Cluster
    }

    /// Whether the arguments of the driver's controller make it take the place of csi-provisioner; `None` where none
    /// were read, and they decide it.
    pub fn provisions_itself(&self, arguments: Option<&[Text]>) -> Option<bool> {
        let Some(flag) = self.own_provisioner else { return Some(false) };
        arguments.map(|arguments| arguments.iter().any(|it| switches_on(it, flag)))
    }
}

/// Whether an argument is this flag, switched on. Early releases of csi-provisioner had flags of the
/// same names with other values.
pub(super) fn switches_on(argument: &str, flag: &str) -> bool {
    let Some(rest) = argument.trim_start_matches('-').strip_prefix(flag) else { return false };
    argument.starts_with('-')
        && matches!(rest, "" | "=true" | "=1" | "=t" | "=T" | "=TRUE" | "=True")
}

/// From where storage can be named, for a comparison of clusters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// From one cluster: another cluster that uses the same name means something else.
    Cluster,
    /// From wherever a server or a storage system answers to its address: another cluster that uses the same address may
    /// mean another server.
    Network,
    /// From wherever the provider is used: an id names one thing.
    Provider,
}

/// Name, or pattern of names, of a driver or a provisioner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name {
    /// Exactly this name.
    Is(&'static str),
    /// This name, also after a namespace and a dot, as Rook names its drivers.
    EndsWith(&'static str),
    /// This name, with anything after it, such as the name of a node or of a Helm release.
    BeginsWith(&'static str),
    /// The name `cluster.local/RELEASE-CHART` for this chart, as some charts name their provisioner after the release.
    Chart(&'static str),
}

impl Name {
    /// Whether the name of a driver matches.
    pub fn is_of(self, driver: &str) -> bool {
        match self {
            Self::Is(name) => driver == name,
            Self::EndsWith(name) => driver
                .strip_suffix(name)
                .is_some_and(|before| before.is_empty() || before.ends_with('.')),
            Self::BeginsWith(name) => driver.starts_with(name),
            Self::Chart(chart) => {
                driver.strip_prefix("cluster.local/").is_some_and(|release| release.contains(chart))
            }
        }
    }

    /// Returns the name as documents write it.
    pub fn describe(self) -> String {
        match self {
            Self::Is(name) => name.to_owned(),
            Self::EndsWith(name) => format!("{name}, also as NAMESPACE.{name}"),
            Self::BeginsWith(name) => format!("{name}…"),
            Self::Chart(chart) => format!("cluster.local/RELEASE-{chart}"),
        }
    }
}

/// The beginning of an argument that may be any flag: a line of a shell, or one that a variable
/// decides. It is the value of a flag that it may be.
pub const UNREAD: &str = "$";

/// A reference to storage: that of a volume, or a volume that a pod describes itself.
#[derive(Debug, Clone, Copy)]
pub struct Reference<'a> {
    /// The CSI driver, or the name of the field of an in-tree source (see [`BackendKey`]).
    pub driver: &'a str,
    /// The volume handle, or the text of an in-tree source.
    pub handle: &'a str,
    /// The `volumeAttributes` for which the family asks.
    pub attributes: &'a Attributes,
    /// The family of the driver: by its name, else by what runs it and by the attributes.
    pub family: &'static Family,
}

impl<'a> Reference<'a> {
    /// Returns the reference to a backend volume.
    pub fn of(key: &'a BackendKey, attributes: &'a Attributes) -> Self {
        let named = family(&key.driver);
        let family = match is_unknown(named) {
            false => named,
            true => match (attributes.family(), recognised_by_attributes(attributes)) {
                (Some(id), Some(told)) if told.id != id => &UNKNOWN,
                (Some(id), _) => family_with(id),
                (None, told) => told.unwrap_or(&UNKNOWN),
            },
        };
        Self { driver: &key.driver, handle: &key.handle, attributes, family }
    }

    /// Returns from where the storage can be named.
    pub fn reach(&self) -> Reach {
        (self.family.reach_of)(self).unwrap_or(self.family.reach)
    }

    /// Returns the keys by which references of several clusters are found that name the same storage at these places, or
    /// may.
    pub fn keys(&self, places: &[Place<'_>]) -> Vec<ExactKey> {
        let mut keys = self.telling_keys(places);
        keys.extend(places.iter().filter_map(Place::open_key));
        keys
    }

    /// Returns the keys of which one is enough to take a disk that a provider lists for what is named: by its places, by
    /// these without what is unknown of them, and by the handle.
    pub fn listed_keys(&self, places: &[Place<'_>]) -> Vec<u64> {
        let of_places = places.iter().flat_map(Place::exact_keys);
        let keys = of_places.chain(places.iter().filter_map(Place::wide_key));
        let keys = keys.chain(Place::loose_keys(self, places)).filter_map(|it| it.own);
        keys.chain([Place::handle_key(self)]).collect()
    }

    /// Returns the key of everything of its family.
    pub fn family_key(&self) -> u64 {
        Place::device(self.family.id, "").space_key()
    }

    /// Returns the keys of which one is enough for a doubt: by the handle where the places do not tell, or where an id is
    /// known in one network only.
    pub fn telling_keys(&self, places: &[Place<'_>]) -> Vec<ExactKey> {
        let mut keys: Vec<_> = places.iter().flat_map(Place::exact_keys).collect();
        if keys.is_empty() || self.reach() == Reach::Network {
            keys.extend(Place::loose_keys(self, places));
        }
        keys
    }

    /// Returns the value of an attribute; drivers differ in whether they tell upper and lower case apart, and none has
    /// two keys that differ only so.
    pub fn attribute(&self, key: &str) -> Option<&'a str> {
        self.attributes.get(key)
    }

    /// Returns the fields of the handle between separators.
    pub fn fields(&self, separator: char) -> Vec<&'a str> {
        self.handle.split(separator).collect()
    }
}

/// A backend volume that is to be deleted, as its driver sees it.
#[derive(Debug, Clone, Copy)]
pub struct Deletion<'a> {
    /// The reference of the volume to it.
    pub reference: Reference<'a>,
    /// The driver or provisioner that deletes the backend volume.
    pub owner: &'a str,
    /// The name of the volume.
    pub volume: &'a str,
    /// The wanted parameters of the volume's `StorageClass`; `None` where that was not read or does not exist.
    pub class: Option<&'a [(Text, Text)]>,
    /// The arguments and the environment, as far as it is read, of the controller of the driver;
    /// `None` where none was read.
    pub arguments: Option<&'a [Text]>,
    /// The images that run in the pods of the controller; `None` where none was read.
    pub images: Option<&'a [Text]>,
    /// Whether the provisioner will hand over a Secret.
    pub has_secret: bool,
}

impl<'a> Deletion<'a> {
    /// Returns the value of a parameter of the class.
    pub fn parameter(&self, key: &str) -> Option<&'a str> {
        let mut parameters = self.class?.iter();
        parameters.find(|(known, _)| known.eq_ignore_ascii_case(key)).map(|(_, value)| &**value)
    }

    /// Returns the value of a flag of the controller: `Some("true")` for `--flag` alone. `None` where it is not set;
    /// whether anything was read is in `arguments`.
    pub fn flag(&self, name: &str) -> Option<&'a str> {
        self.flags(name).next()
    }

    /// Returns the values of a flag, where several controllers run or are about to; [`UNREAD`] for each argument that
    /// may be this flag, because it is a line of a shell or a variable. That is none for variables of the environment,
    /// whose names have capital letters.
    pub fn flags(&self, name: &str) -> impl Iterator<Item = &'a str> {
        let is_flag = !name.starts_with(|it: char| it.is_ascii_uppercase());
        self.arguments.unwrap_or_default().iter().filter_map(move |argument| {
            if is_flag && argument.starts_with(UNREAD) {
                return Some(UNREAD);
            }
            let rest = argument.trim_start_matches('-').strip_prefix(name)?;
            match rest.strip_prefix('=') {
                Some(value) => Some(value),
                None => rest.is_empty().then_some("true"),
            }
        })
    }
}

/// Reaction of a driver that is told to delete a volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destruction {
    /// The driver destroys the data at these places.
    Storage {
        /// The places.
        places: Vec<Place<'static>>,
        /// The data, in words that follow "deletes": `the EBS volume vol-1`.
        what: Cow<'static, str>,
    },
    /// The driver takes the volume away and leaves the data: renamed, or without the access point.
    Kept {
        /// The places that are no longer what they were.
        places: Vec<Place<'static>>,
        /// The action, in words that follow the driver: `renames the directory to archived-…`.
        what: Cow<'static, str>,
    },
    /// The driver answers OK and does nothing, for this reason: the object would be deleted, the storage remain.
    Nothing(Cow<'static, str>),
    /// The driver answers with an error, for this reason: the volume would stay Released.
    Fails(Cow<'static, str>),
    /// The reaction is unknown, for this reason.
    Undecided(Cow<'static, str>),
}

impl Destruction {
    /// Returns the destruction of the data at one place.
    pub fn of(place: Place<'static>, what: impl Into<Cow<'static, str>>) -> Self {
        Self::Storage { places: vec![place], what: what.into() }
    }
}

/// Fate of snapshots when their volume is deleted.
#[derive(Debug, Clone, Copy)]
pub struct Snapshots {
    /// The fate of all snapshots, unless their handles tell them apart.
    pub fate: Fate,
    /// Function that reads the fate of one snapshot in its handle, where the family has several sorts.
    pub of_handle: Option<fn(&str) -> Option<Fate>>,
    /// Function that returns the volume handle that the handle of a snapshot names, where it names one.
    pub volume_of_handle: Option<fn(&str) -> Option<&str>>,
    /// The fate in a sentence.
    pub note: &'static str,
}

impl Snapshots {
    /// Returns one fate for all snapshots.
    pub const fn all(fate: Fate, note: &'static str) -> Self {
        Self { fate, of_handle: None, volume_of_handle: None, note }
    }

    /// Returns the fate of the snapshot with this handle.
    pub fn fate_of(&self, handle: Option<&str>) -> Fate {
        let told = self.of_handle.zip(handle).and_then(|(fate, handle)| fate(handle));
        told.unwrap_or(self.fate)
    }
}

/// Fate of a snapshot or a clone when its volume is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fate {
    /// The snapshot or clone does not need the volume.
    Independent,
    /// The snapshot or clone is destroyed with the volume.
    Dies,
    /// The driver refuses to delete the volume, or keeps it, while the snapshot or clone exists: the volume stays
    /// Released.
    Blocks,
    /// There are no snapshots or clones.
    None,
    /// The fate is unknown: the snapshot or clone may be destroyed.
    Unknown,
}

/// Effect of deleting the object of a volume on its storage, under any policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectDropped {
    /// The data is destroyed, as this sentence says.
    Destroys(&'static str),
    /// Something happens that a user has to know before.
    Notice(&'static str),
}

/// What expansion of a claim does to a volume of a family. That a driver can expand is shown by its external-resizer,
/// which ends where the driver cannot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expansion {
    /// The reason why a larger size gives no volume more room, where it does not.
    pub futile: Option<&'static str>,
    /// The unit in which volumes grow, where it is known.
    pub unit: Option<Bytes>,
    /// A limit that users have to know before, in a sentence.
    pub limit: Option<&'static str>,
}

impl Expansion {
    /// Expansion of which nothing is known but what the driver says.
    pub const UNKNOWN: Self = Self { futile: None, unit: None, limit: None };
    /// Expansion in whole GiB.
    pub const IN_GIB: Self = Self { unit: Some(1 << 30), ..Self::UNKNOWN };

    /// Returns an expansion that gives no volume more room, for this reason.
    pub const fn futile(why: &'static str) -> Self {
        Self { futile: Some(why), ..Self::UNKNOWN }
    }

    /// Returns the expansion with a limit.
    #[must_use]
    pub const fn limited(self, limit: &'static str) -> Self {
        Self { limit: Some(limit), ..self }
    }
}

/// How the provisioner of a family is recognised at work.
#[derive(Debug, Clone, Copy)]
pub struct Provisioner {
    /// The program that runs the provisioner.
    pub kind: ProvisionerKind,
    /// The names of the provisioner's Deployment, `StatefulSet` or `DaemonSet`.
    pub workloads: &'static [&'static str],
    /// The last parts of the names of images: of the driver's controller, or of the provisioner itself.
    pub images: &'static [&'static str],
    /// Whether the provisioner elects a leader by default, so that a Lease is to be expected.
    pub elects_leader: bool,
    /// The control planes that hide the provisioner, and what is seen there all the same.
    pub hidden: Option<&'static str>,
    /// Whether Leases of the driver's controllers are visible even there.
    pub shows_leases: bool,
    /// The words before the name of a volume in the names of the pods that the provisioner starts to work on that
    /// volume alone: they mount the directory in which all its volumes are.
    pub helpers: &'static [&'static str],
}

/// Program that runs the provisioner of a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProvisionerKind {
    /// csi-provisioner.
    Csi,
    /// A program of its own.
    External {
        /// The environment variables or flags that configure the provisioner's name.
        configured_by: &'static [&'static str],
        /// The provisioner's name where nothing is configured.
        default_name: Option<&'static str>,
    },
    /// One process for each node.
    PerNode,
    /// There is no provisioner: no controller creates or deletes such volumes.
    Nobody,
}

impl Provisioner {
    /// Returns csi-provisioner in a workload that is visible, with leader election.
    pub const fn csi(workloads: &'static [&'static str], images: &'static [&'static str]) -> Self {
        Self {
            kind: ProvisionerKind::Csi,
            workloads,
            images,
            elects_leader: true,
            hidden: None,
            shows_leases: false,
            helpers: &[],
        }
    }

    /// Returns a program of its own, without leader election.
    pub const fn external(
        configured_by: &'static [&'static str],
        default_name: Option<&'static str>,
        workloads: &'static [&'static str],
        images: &'static [&'static str],
    ) -> Self {
        let kind = ProvisionerKind::External { configured_by, default_name };
        Self {
            kind,
            workloads,
            images,
            elects_leader: false,
            hidden: None,
            shows_leases: false,
            helpers: &[],
        }
    }

    /// Returns the provisioner without leader election.
    #[must_use]
    pub const fn without_leader(self) -> Self {
        Self { elects_leader: false, ..self }
    }

    /// Returns the provisioner hidden by some control planes.
    #[must_use]
    pub const fn hidden(self, by: &'static str) -> Self {
        Self { hidden: Some(by), ..self }
    }

    /// Returns the provisioner with Leases that are visible although it is hidden.
    #[must_use]
    pub const fn but_leases(self) -> Self {
        Self { shows_leases: true, ..self }
    }

    /// No provisioner: no controller creates or deletes such volumes.
    pub const NOBODY: Self = Self {
        kind: ProvisionerKind::Nobody,
        workloads: &[],
        images: &[],
        elects_leader: false,
        hidden: None,
        shows_leases: false,
        helpers: &[],
    };
}
