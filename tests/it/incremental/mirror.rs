//! What is there, told without any of the code under test.

use std::collections::BTreeMap;

use kubectl_storage::{
    cluster::{Change, Reach},
    model::{
        AttachmentSource, Kind, ObjectKey, Question, Row, Settings, SnapshotSource, Volume,
        VolumeSource,
    },
};

/// Every object, with the point in the order of changes at which it was last seen.
#[derive(Default)]
pub(super) struct Mirror {
    rows: BTreeMap<ObjectKey, (u64, Row)>,
    begun: BTreeMap<Reach, u64>,
    sequence: u64,
}

/// The kind that a question is about.
pub(super) fn asks_about(question: &Question) -> Kind {
    question.kind()
}

impl Mirror {
    pub(super) fn apply(&mut self, change: &Change) {
        self.sequence += 1;
        match change {
            Change::Seen(row) | Change::Odd(Some(row), _) => {
                if let Some(key) = row.key() {
                    self.rows.insert(key, (self.sequence, row.clone()));
                }
            }
            Change::Gone(key) => {
                self.rows.remove(key);
            }
            Change::Begin(reach) => {
                self.begun.insert(reach.clone(), self.sequence);
            }
            Change::Complete(reach) => {
                let began = self.begun.remove(reach).unwrap_or_default();
                self.rows.retain(|key, (seen, _)| {
                    let within = key.kind == reach.kind
                        && (reach.namespace.is_none() || reach.namespace == key.namespace);
                    !within || *seen >= began
                });
            }
            Change::NotServed(kind) => self.rows.retain(|key, _| key.kind != *kind),
            Change::Whole(_)
            | Change::Covered(..)
            | Change::Odd(None, _)
            | Change::Served(..)
            | Change::Lost(_)
            | Change::Clock(_)
            | Change::ClockAtLeast(_)
            | Change::Server(_)
            | Change::IdentityLeftOut
            | Change::Figures(_)
            | Change::Forgotten(_)
            | Change::Traced(..) => {}
        }
    }

    fn volumes(&self) -> impl Iterator<Item = &Volume> {
        self.rows.values().filter_map(|(_, row)| match row {
            Row::Volume(row) => Some(&**row),
            _ => None,
        })
    }

    /// Returns who uses a volume, or might, if anybody does.
    pub(super) fn use_of(&self, name: &str, settings: &Settings) -> Option<String> {
        let volume = self.volumes().find(|it| it.name() == name)?;
        let other = self.volumes().find(|it| it.name() != name && shares(it, volume));
        if let Some(other) = other {
            return Some(format!("shares its backend with {}", other.name()));
        }
        let claim = volume.claim_ref.as_ref()?;
        // Whoever says so may reclaim a volume whose claim was made again and bound elsewhere.
        let mut moved = false;
        for (_, row) in self.rows.values() {
            if let Row::Claim(row) = row {
                let namesake = row.key() == claim.key;
                let elsewhere = row.volume_name.as_deref().is_some_and(|it| it != name);
                let same = row.metadata.uid == claim.uid;
                if row.volume_name.as_deref() == Some(name) || namesake && same && !elsewhere {
                    return Some(format!("{} is its claim", row.object()));
                }
                if namesake && !same && !settings.include_recreated {
                    return Some(format!("{} was made again", row.object()));
                }
                moved |= namesake && elsewhere && settings.include_recreated;
            }
        }
        self.rows.values().find_map(|(_, row)| {
            let uses = match row {
                Row::Pod(pod) => {
                    let names = |it: &str| *it == *claim.key.name;
                    pod.namespace == claim.key.namespace
                        && pod.claims.iter().any(|it| names(&it.claim))
                        && !moved
                }
                Row::Attachment(it) => {
                    matches!(&it.source, AttachmentSource::Volume(of) if **of == *name)
                }
                Row::Node(node) => match &volume.source {
                    VolumeSource::Csi { driver, handle, .. } => {
                        let held = format!("kubernetes.io/csi/{driver}^{handle}");
                        node.volumes.iter().any(|it| **it == *held)
                    }
                    _ => false,
                },
                Row::Snapshot(it) => {
                    let of = |backend: &kubectl_storage::model::BackendKey| match &it.source {
                        SnapshotSource::Volumes(handles) => {
                            it.driver == backend.driver
                                && handles.iter().any(|it| **it == *backend.handle)
                        }
                        SnapshotSource::Existing => false,
                    };
                    (!it.ready || it.being_created) && volume.backend.as_ref().is_some_and(of)
                }
                _ => false,
            };
            uses.then(|| format!("{:?}", row.key()))
        })
    }
}

fn shares(one: &Volume, other: &Volume) -> bool {
    let (Some(one), Some(other)) = (&one.backend, &other.backend) else { return false };
    // The one wildcard of handles: a project that an in-tree volume leaves open.
    let disk = |handle: &str| handle.rsplit('/').next().unwrap_or_default().to_owned();
    let open = |handle: &str| handle.starts_with("projects/UNSPECIFIED/");
    let alike =
        (open(&one.handle) || open(&other.handle)) && disk(&one.handle) == disk(&other.handle);
    one.driver == other.driver
        && (one.handle == other.handle || alike && one.driver.contains("gke.io"))
}
