//! Settings: thresholds, scope and accepted risks.

use std::collections::BTreeSet;

use super::{FieldSelector, ObjectKey, Selector, TeardownTerms, Text, Thresholds, Time};

/// Thresholds, scope and accepted risks, as the user gave them. None of it is a fact about the
/// cluster.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of its own, named when it is used"
)]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// Durations with which ages are compared.
    pub thresholds: Thresholds,
    /// Share of a volume below which too little of it is free.
    pub least_free: FreeShare,
    /// Scope of the findings that are reported. Checks of remedies ignore it.
    pub scope: Scope,
    /// Drivers that the user declared absent (`--driver-absent`).
    pub absent_drivers: BTreeSet<Text>,
    /// Provisioners that the user asserts to be at work although nothing shows them
    /// (`--provisioner-alive`).
    pub alive_provisioners: BTreeSet<Text>,
    /// Drivers of which the user asserts that an external-resizer is at work although nothing shows it
    /// (`--resizer-alive`).
    pub alive_resizers: BTreeSet<Text>,
    /// Allows acting on an age that is unknown or that only one source shows.
    pub include_unknown_age: bool,
    /// Allows acting on a volume whose claim was recreated.
    pub include_recreated: bool,
    /// Asserts that a backend volume is intact although its deletion was stopped.
    pub backend_verified: bool,
    /// Asserts that nothing else uses the storage of these volumes (`pv/NAME`) or drivers.
    pub backend_exclusive: BTreeSet<Text>,
    /// The clusters that are read beside the one that is changed.
    pub beside: Beside,
    /// Allows acting on a volume whose claim a workload still wants, although it does not exist.
    pub include_wanted: bool,
    /// Allows destroying snapshots together with their volume.
    pub destroy_snapshots: bool,
    /// Allows destroying the data of a volume that any claim can bind.
    pub destroy_data: bool,
    /// Allows leaking a backend volume on purpose.
    pub accept_leak: bool,
    /// Asserts that `HonorPVReclaimPolicy` is off in kube-controller-manager.
    pub rolled_back: bool,
    /// Makes the driver delete the backend volume instead of leaking it, by a placeholder volume (`--reclaim`).
    pub reclaim: bool,
    /// Keeps the data of a claim whose last finalizer is removed, whatever the policy of its volume.
    pub keep_data: bool,
    /// Allows deleting a claim that the user names although its set retains it out of range; or, by the policy of its
    /// set, what scale-downs left.
    pub delete_leftovers: bool,
    /// Allows deleting what a scale-down left although the set has no replicas now, or is scaled by itself.
    pub replicas_zero: bool,
    /// Allows adding owner references with which claims are deleted.
    pub add_owners: bool,
    /// Asserts that nothing uses a claim but what was checked: no custom resource that could not be listed, and no
    /// software whose mark it has.
    pub no_other_users: bool,
    /// Reads the disks of storage systems whose inventory lies in the cluster, too.
    pub reads_inventories: bool,
    /// Takes a snapshot of a claim before it is deleted (`--snapshot-first`).
    pub snapshot_first: Option<SnapshotFirst>,
    /// Allows removing owner references whose kind the server does not serve any more.
    pub owner_kind_gone: bool,
    /// The one third-party finalizer that is to be removed.
    pub remove_finalizer: Option<Text>,
    /// Assertion of the user about the Secret for `DeleteVolume`.
    pub secret: SecretAssertion,
    /// Terms of a teardown; `None` for every other command.
    pub teardown: Option<Box<TeardownTerms>>,
    /// Places where kept backend volumes are recorded, besides the journal.
    pub recording: Recording,
}

/// A share of a volume that is free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FreeShare {
    /// In per cent.
    pub percent: u64,
}

impl FreeShare {
    /// Name in `--threshold NAME=SHARE`.
    pub const NAME: &str = "nearly-full";
    /// What is compared with it, in a few words.
    pub const ABOUT: &str = "the share of a volume below which too little is free";

    /// Parses a share such as `10%`.
    ///
    /// # Errors
    /// When it is none, or not below the whole.
    pub fn parse(text: &str) -> Result<Self, String> {
        let number = text.strip_suffix('%').and_then(|it| it.parse().ok());
        let percent = number.filter(|it| (1..100).contains(it));
        percent.map(|percent| Self { percent }).ok_or_else(|| {
            format!(
                "{text:?} is no share of a volume: write a whole number of per cent, such as 10%"
            )
        })
    }
}

impl Default for FreeShare {
    fn default() -> Self {
        Self { percent: 10 }
    }
}

impl std::fmt::Display for FreeShare {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}%", self.percent)
    }
}

/// The clusters that are read beside the one that is changed (`--beside`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Beside {
    /// Contexts and dumps, as the user named them.
    pub clusters: Vec<Text>,
    /// Asserts that no other cluster can name the same storage (`--all-clusters`).
    pub are_all: bool,
}

/// The snapshot that is taken of a claim before it is deleted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SnapshotFirst {
    /// The class (`--snapshot-class`); without one, the default class of the driver.
    pub class: Option<Text>,
    /// The last part of the snapshot's name: when it was planned, by the API server's clock. It is fixed with the plan,
    /// so that every later step knows the snapshot; empty as long as no clock was read.
    pub stamp: Text,
}

/// Assertion of the user about the Secret for `DeleteVolume`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum SecretAssertion {
    /// There is no assertion.
    #[default]
    Unsaid,
    /// The driver needs none (`--no-secret`).
    None,
    /// The Secret is this one (`--secret NAMESPACE/NAME`).
    Named { namespace: Text, name: Text },
}

/// Places of records: of what was done, and of kept backend volumes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recording {
    /// The namespace of the record in the cluster (`--record-namespace`).
    pub namespace: Text,
    /// Whether the journal is enough, so that the record in the cluster is not written.
    pub journal_only: bool,
    /// The namespace of the journal in the cluster (`--cluster-journal`); `None` where it is in the
    /// file of this machine.
    pub cluster_journal: Option<Text>,
}

impl Recording {
    /// The default namespace of the record.
    pub const NAMESPACE: &str = "kube-system";
}

impl Default for Recording {
    fn default() -> Self {
        Self { namespace: Self::NAMESPACE.into(), journal_only: false, cluster_journal: None }
    }
}

/// Scope of the findings that are reported.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    /// Claims of these namespaces, and volumes whose claimRef references one; all if this is empty.
    pub namespaces: BTreeSet<Text>,
    /// Labels of the finding's object.
    pub selector: Selector,
    /// Name and namespace of the finding's object.
    pub fields: FieldSelector,
    /// Only these objects, unless empty.
    pub objects: BTreeSet<ObjectKey>,
    /// Only these rules, unless empty.
    pub rules: BTreeSet<Text>,
    /// Rules that are left out.
    pub ignored: BTreeSet<Text>,
    /// Exempted findings, each of one object.
    pub exemptions: Vec<Exemption>,
}

impl Scope {
    /// Returns the one namespace of the scope, for a command that knows one or all.
    pub fn namespace(&self) -> Option<&Text> {
        self.namespaces.first()
    }

    /// Whether a namespace is reported.
    pub fn includes(&self, namespace: &Text) -> bool {
        self.namespaces.is_empty() || self.namespaces.contains(namespace)
    }

    /// Returns when the next exemption ends, after `now`.
    pub fn next_end(&self, now: Time) -> Option<Time> {
        self.exemptions.iter().filter_map(|it| it.until).filter(|until| now < *until).min()
    }
}

/// Exemption of a finding of one object, which is not reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exemption {
    /// The rule.
    pub rule: Text,
    /// The object.
    pub object: ObjectKey,
    /// The end of the exemption, by the API server's clock; `None` if it has none.
    pub until: Option<Time>,
}

impl Exemption {
    /// Whether the exemption has not ended. Where no clock was read, nothing has.
    pub fn applies_at(&self, now: Option<Time>) -> bool {
        self.until.zip(now).is_none_or(|(until, now)| now < until)
    }
}
