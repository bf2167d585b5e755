//! A made-up cluster of any size, the same one every time it is asked for.
//!
//! It is healthy except for volumes that are Released and retained, so that what is measured is
//! mostly reading. Objects are made one at a time, and are as large as real ones: managed fields,
//! labels, annotations, conditions. A pod is about 6 KB of JSON, a volume about 2 KB.

// Every bench uses a part of it.
#![allow(dead_code, unused_imports, reason = "shared by several benches")]

mod infrastructure;
mod metadata;
mod pods;
mod storage;
mod workloads;
mod write;

pub use write::{write_list, write_objects, write_seed, write_seed_file};

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::Value;

/// What the cluster is like.
#[derive(Debug, Clone)]
pub struct Population {
    pub pods: usize,
    pub volumes: usize,
    pub claims: usize,
    /// Claims of a stateful set.
    pub claims_of_set: usize,
    /// Of a hundred volumes, how many are Released and retained.
    pub released_percent: usize,
    /// What most of it is.
    pub mix: Mix,
    /// What makes this cluster differ from another of the same size.
    pub seed: u64,
    /// The moment as of which everything is true.
    pub now: DateTime<Utc>,
}

impl Default for Population {
    fn default() -> Self {
        Self {
            pods: 20_000,
            volumes: 10_000,
            claims: 10_000,
            claims_of_set: REPLICAS,
            released_percent: 4,
            mix: Mix::Usual,
            seed: 1,
            now: DateTime::from_timestamp(1_790_000_000, 0).expect("because it is in range"),
        }
    }
}

/// What most of a cluster is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Mix {
    /// Disks of two drivers
    Usual,
    /// Volumes of every driver that is known here
    Families,
    /// Access points of one EFS file system
    Efs,
    /// Whole EFS file systems, and directories of one NFS server
    FileSystems,
    /// Directories of one NFS server
    Nfs,
    /// One directory of an NFS server, in every volume
    Export,
    /// Volumes of a driver of which nothing is known, whose handles all contain an id
    Unknown,
    /// Everything in one namespace
    Namespace,
    /// Every volume is Released
    Released,
    /// Everything is broken in one way or another
    Broken,
    /// A set for each claim
    Sets,
    /// Half as many claims more, which wait
    Waiting,
}

/// Options for the size of a cluster.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct Size {
    #[arg(long, default_value_t = 20_000)]
    pub pods: usize,
    #[arg(long, default_value_t = 10_000)]
    pub volumes: usize,
    #[arg(long, default_value_t = 10_000)]
    pub claims: usize,
    /// What most of it is
    #[arg(long, value_enum, default_value = "usual")]
    pub mix: Mix,
}

impl Size {
    /// What a cluster of this size is like.
    pub fn population(self) -> Population {
        let Self { pods, volumes, claims, mix } = self;
        let usual = Population { pods, volumes, claims, mix, ..Population::default() };
        match mix {
            Mix::Usual | Mix::Namespace | Mix::Broken => usual,
            Mix::Families | Mix::Efs | Mix::FileSystems | Mix::Nfs | Mix::Export | Mix::Unknown => {
                Population { released_percent: 30, ..usual }
            }
            Mix::Released => Population { released_percent: 100, claims: 0, ..usual },
            Mix::Sets => Population { claims_of_set: 1, ..usual },
            Mix::Waiting => Population { claims: claims + claims / 2, ..usual },
        }
    }
}

/// One object, and where etcd keeps it.
pub struct Made {
    /// `persistentvolumes`, or `group/resource` as the API server's storage calls it.
    pub registry: &'static str,
    pub object: Value,
}

/// Pods on one node.
const PODS_PER_NODE: usize = 40;
/// Replicas of a deployment, and of a stateful set unless it is told otherwise.
const REPLICAS: usize = 3;

/// What holds the claims: which driver serves a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Driver {
    pub name: &'static str,
    pub class: &'static str,
    pub namespace: &'static str,
    /// Whether its provisioner needs a secret to delete a volume.
    pub secret: bool,
    /// Whether its volumes are file systems that several nodes mount.
    pub shared: bool,
}

const EBS: Driver = Driver {
    name: "ebs.csi.aws.com",
    class: "gp3",
    namespace: "kube-system",
    secret: false,
    shared: false,
};
const RBD: Driver = Driver {
    name: "rook-ceph.rbd.csi.ceph.com",
    class: "ceph-block",
    namespace: "rook-ceph",
    secret: true,
    shared: false,
};
const EFS: Driver = Driver { name: "efs.csi.aws.com", class: "efs", shared: true, ..EBS };
const NFS: Driver = Driver { name: "nfs.csi.k8s.io", class: "nfs", shared: true, ..EBS };
const UNKNOWN: Driver = Driver { name: "disk.example.com", class: "unknown", ..EBS };
const TRIDENT: Driver = Driver { name: "csi.trident.netapp.io", class: "trident", ..EBS };
const MANILA: Driver =
    Driver { name: "nfs.manila.csi.openstack.org", class: "manila", shared: true, ..EBS };
const VSPHERE: Driver = Driver { name: "csi.vsphere.vmware.com", class: "vsphere", ..EBS };
const PD: Driver = Driver { name: "pd.csi.storage.gke.io", class: "pd", ..EBS };

impl Population {
    /// Every object, kind by kind.
    pub fn objects(&self) -> impl Iterator<Item = Made> + '_ {
        self.infrastructure()
            .chain(self.storage())
            .chain(self.workloads())
            .chain(self.pod_objects())
    }

    /// Volumes that are bound to a claim; the others are Released.
    pub fn bound(&self) -> usize {
        (self.volumes - self.volumes * self.released_percent / 100).min(self.claims)
    }

    /// Pods of stateful sets, each with a claim.
    pub fn stateful_pods(&self) -> usize {
        (self.pods * 38 / 100).min(self.bound())
    }

    pub fn nodes(&self) -> usize {
        (self.pods / PODS_PER_NODE).max(3)
    }

    pub fn namespaces(&self) -> usize {
        if self.mix == Mix::Namespace { 1 } else { (self.pods / 100).max(2) }
    }

    /// The drivers that serve its volumes.
    pub fn drivers(&self) -> &'static [Driver] {
        match self.mix {
            Mix::Usual
            | Mix::Namespace
            | Mix::Released
            | Mix::Broken
            | Mix::Sets
            | Mix::Waiting => &[EBS, RBD],
            Mix::Families => &[EBS, RBD, EFS, NFS, UNKNOWN, TRIDENT, MANILA, VSPHERE, PD, EFS],
            Mix::Efs => &[EFS],
            Mix::FileSystems => &[EFS, NFS],
            Mix::Nfs | Mix::Export => &[NFS],
            Mix::Unknown => &[UNKNOWN],
        }
    }

    pub fn driver(&self, volume: usize) -> Driver {
        match self.drivers() {
            [EBS, RBD] => [EBS, RBD][usize::from(volume % 10 >= 7)],
            drivers => drivers[volume % drivers.len()],
        }
    }

    pub fn namespace_of_set(&self, set: usize) -> String {
        format!("team-{:03}", set % self.namespaces())
    }

    /// A number that depends on nothing but the seed, what it is for, and which one it is.
    pub fn roll(&self, purpose: &str, index: usize) -> u64 {
        let mut state = self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (index as u64);
        for byte in purpose.bytes() {
            state = mix(state ^ u64::from(byte));
        }
        mix(state)
    }

    pub fn uid(&self, kind: &str, index: usize) -> String {
        let high = u128::from(self.roll(kind, index));
        let low = u128::from(mix(self.roll(kind, index) ^ 0xabcd));
        uuid::Builder::from_random_bytes(((high << 64) | low).to_be_bytes())
            .into_uuid()
            .hyphenated()
            .to_string()
    }

    /// A point in time some seconds ago.
    pub fn ago(&self, seconds: u64) -> String {
        let seconds = i64::try_from(seconds).expect("because no cluster is that old");
        let time = self.now - chrono::Duration::seconds(seconds);
        time.to_rfc3339_opts(SecondsFormat::Secs, true)
    }
}

/// The finisher of splitmix64.
fn mix(state: u64) -> u64 {
    let mut z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
