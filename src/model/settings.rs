//! Settings: thresholds, scope and accepted risks.

use std::collections::BTreeSet;

use super::{FieldSelector, ObjectKey, Selector, Text, Thresholds, Time};

/// Thresholds, scope and accepted risks, as the user gave them. None of it is a fact about the
/// cluster.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of its own, named when it is used"
)]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// Durations.
    pub thresholds: Thresholds,
    /// Which findings are reported. Checks of remedies ignore it.
    pub scope: Scope,
    /// Drivers that the user declared absent (`--driver-absent`).
    pub absent_drivers: BTreeSet<Text>,
    /// Provisioners that the user asserts to be at work although nothing shows them
    /// (`--provisioner-alive`).
    pub alive_provisioners: BTreeSet<Text>,
    /// Acting on an age that is unknown or that only one source shows.
    pub include_unknown_age: bool,
    /// Acting on a volume whose claim was recreated.
    pub include_recreated: bool,
    /// The user asserts that a backend volume is intact although its deletion was stopped.
    pub backend_verified: bool,
    /// The user asserts that nothing else uses the storage of these volumes (`pv/NAME`) or drivers.
    pub backend_exclusive: BTreeSet<Text>,
    /// Acting on a volume whose claim a workload still wants, although it is gone.
    pub include_wanted: bool,
    /// Destroying snapshots together with their volume.
    pub destroy_snapshots: bool,
    /// Destroying the data of a volume that any claim can bind.
    pub destroy_data: bool,
    /// Leaking a backend volume on purpose.
    pub accept_leak: bool,
    /// The user asserts that `HonorPVReclaimPolicy` is off in kube-controller-manager.
    pub rolled_back: bool,
    /// Having the driver delete the backend volume instead of leaking it, by a placeholder volume
    /// (`--reclaim`).
    pub reclaim: bool,
    /// Keeping the data of a claim whose last finalizer is removed, whatever the policy of its
    /// volume.
    pub keep_data: bool,
    /// Deleting a claim that the user names although its set retains it out of range; or, by the
    /// policy of its set, what scale-downs left.
    pub delete_leftovers: bool,
    /// Deleting what a scale-down left although the set has no replicas now, or is scaled by itself.
    pub replicas_zero: bool,
    /// Adding owner references with which claims are deleted.
    pub add_owners: bool,
    /// The user asserts that nothing uses a claim but what was looked at: no custom resource that
    /// could not be listed, and no software whose mark it has.
    pub no_other_users: bool,
    /// Taking a snapshot of a claim before it is deleted (`--snapshot-first`).
    pub snapshot_first: Option<SnapshotFirst>,
    /// Removing owner references whose kind the server does not serve any more.
    pub owner_kind_gone: bool,
    /// The one third-party finalizer that is to be removed.
    pub remove_finalizer: Option<Text>,
    /// What the user asserted about the Secret for `DeleteVolume`.
    pub secret: SecretAssertion,
    /// Where kept backend volumes are recorded, besides the journal.
    pub recording: Recording,
}

/// The snapshot that is taken of a claim before it is deleted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SnapshotFirst {
    /// The class (`--snapshot-class`); without one, the default class of the driver.
    pub class: Option<Text>,
    /// The last part of its name: when it was planned, by the API server's clock. It is fixed with
    /// the plan, so that every later step knows the snapshot; empty as long as no clock was read.
    pub stamp: Text,
}

/// What the user asserted about the Secret for `DeleteVolume`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum SecretAssertion {
    /// Nothing.
    #[default]
    Unsaid,
    /// `--no-secret`: the driver needs none.
    None,
    /// `--secret NAMESPACE/NAME`.
    Named { namespace: Text, name: Text },
}

/// Where what was done is recorded, and kept backend volumes besides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recording {
    /// The namespace of the record in the cluster (`--record-namespace`).
    pub namespace: Text,
    /// The journal is enough: the record in the cluster is not written.
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

/// Which findings are reported.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    /// Claims of these namespaces, and volumes whose claimRef references one; all if it is empty.
    pub namespaces: BTreeSet<Text>,
    /// Labels of the finding's object.
    pub selector: Selector,
    /// Name and namespace of the finding's object.
    pub fields: FieldSelector,
    /// Only these objects, unless empty.
    pub objects: BTreeSet<ObjectKey>,
    /// Only these rules, unless empty.
    pub rules: BTreeSet<Text>,
    /// Not these rules.
    pub ignored: BTreeSet<Text>,
    /// Not these findings of these objects.
    pub exemptions: Vec<Exemption>,
}

impl Scope {
    /// The namespace of a command that knows one or all.
    pub fn namespace(&self) -> Option<&Text> {
        self.namespaces.first()
    }

    /// Whether a namespace is reported.
    pub fn includes(&self, namespace: &Text) -> bool {
        self.namespaces.is_empty() || self.namespaces.contains(namespace)
    }

    /// When the next exemption ends, after `now`.
    pub fn next_end(&self, now: Time) -> Option<Time> {
        self.exemptions.iter().filter_map(|it| it.until).filter(|until| now < *until).min()
    }
}

/// A finding of one object that is not reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exemption {
    /// The rule.
    pub rule: Text,
    /// The object.
    pub object: ObjectKey,
    /// When it ends, by the API server's clock; never without one.
    pub until: Option<Time>,
}

impl Exemption {
    /// Whether it has not ended. Where no clock was read, nothing has.
    pub fn applies_at(&self, now: Option<Time>) -> bool {
        self.until.zip(now).is_none_or(|(until, now)| now < until)
    }
}
