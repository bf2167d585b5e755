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
            seed: 1,
            now: DateTime::from_timestamp(1_790_000_000, 0).expect("because it is in range"),
        }
    }
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
}

impl Size {
    /// What a cluster of this size is like.
    pub fn population(self) -> Population {
        let Self { pods, volumes, claims } = self;
        Population { pods, volumes, claims, ..Population::default() }
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
#[derive(Debug, Clone, Copy)]
pub struct Driver {
    pub name: &'static str,
    pub class: &'static str,
    pub namespace: &'static str,
    /// Whether its provisioner needs a secret to delete a volume.
    pub secret: bool,
}

pub const DRIVERS: [Driver; 2] = [
    Driver { name: "ebs.csi.aws.com", class: "gp3", namespace: "kube-system", secret: false },
    Driver {
        name: "rook-ceph.rbd.csi.ceph.com",
        class: "ceph-block",
        namespace: "rook-ceph",
        secret: true,
    },
];

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
        (self.pods / 100).max(2)
    }

    pub fn driver(volume: usize) -> Driver {
        DRIVERS[usize::from(volume % 10 >= 7)]
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
