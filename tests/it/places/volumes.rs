//! Volumes as drivers make them and as people write them, each with the truth about it.

use serde_json::{Map, Value, json};

use super::{
    chance::Chance,
    model::{Fate, Names, Truth},
};

/// What a whole cluster has in common.
#[derive(Debug, Clone)]
pub(super) struct Setting {
    pub room: Room,
    /// `--delete-access-point-root-dir` of the EFS driver; `None`: its workload is nowhere to be seen.
    pub efs_erases: Option<bool>,
    /// Of the unknown driver.
    pub attach_required: bool,
    /// What the class of nfs-subdir says: `archiveOnDelete`, `onDelete`.
    pub nfs_subdir_class: Value,
    /// The root of nfs-subdir.
    pub nfs_subdir_root: (&'static str, &'static str),
}

/// Families whose places have to do with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Room {
    Aws,
    Google,
    Azure,
    Nfs,
    Efs,
    Node,
    Ceph,
    Longhorn,
    Unknown,
}

impl Room {
    pub(super) const ALL: [Self; 9] = [
        Self::Aws,
        Self::Google,
        Self::Azure,
        Self::Nfs,
        Self::Efs,
        Self::Node,
        Self::Ceph,
        Self::Longhorn,
        Self::Unknown,
    ];
}

/// A volume: its object's fields, and the truth.
#[derive(Debug, Clone)]
pub(super) struct Drawn {
    pub family: &'static str,
    pub source: (&'static str, Value),
    pub annotations: Map<String, Value>,
    pub labels: Map<String, Value>,
    pub node: Option<String>,
    pub access: &'static str,
    pub class: &'static str,
    pub truth: Truth,
}

/// A volume of a CSI driver, dynamically provisioned and plain unless it is told otherwise.
pub(super) fn csi(
    family: &'static str,
    driver: &str,
    handle: String,
    attributes: Value,
    names: Names,
) -> Drawn {
    let mut attributes = fields(attributes);
    let identity = format!("1782000000000-4711-{driver}");
    attributes.insert("storage.kubernetes.io/csiProvisionerIdentity".to_owned(), identity.into());
    let mut source = json!({"driver": driver, "volumeAttributes": attributes});
    source["volumeHandle"] = handle.into();
    let annotations = json!({
        "pv.kubernetes.io/provisioned-by": driver,
        "volume.kubernetes.io/provisioner-deletion-secret-name": "",
        "volume.kubernetes.io/provisioner-deletion-secret-namespace": "",
    });
    Drawn { annotations: fields(annotations), ..of(family, ("csi", source), names) }
}

/// A volume of an in-tree source that a CSI driver took over.
pub(super) fn migrated(
    family: &'static str,
    plugin: &str,
    driver: &str,
    source: (&'static str, Value),
    names: Names,
) -> Drawn {
    let annotations = json!({
        "pv.kubernetes.io/provisioned-by": plugin,
        "pv.kubernetes.io/migrated-to": driver,
    });
    Drawn { annotations: fields(annotations), ..of(family, source, names) }
}

/// A volume of a provisioner that is not CSI.
pub(super) fn provisioned(
    family: &'static str,
    provisioner: &str,
    source: (&'static str, Value),
    names: Names,
) -> Drawn {
    let annotations = json!({"pv.kubernetes.io/provisioned-by": provisioner});
    let mut drawn = Drawn { annotations: fields(annotations), ..of(family, source, names) };
    drawn.truth.provisioner.push_str(provisioner);
    drawn
}

fn of(family: &'static str, source: (&'static str, Value), names: Names) -> Drawn {
    let truth = Truth {
        fate: Fate::Destroys(vec![names.clone()]),
        mounts: names,
        is_static: false,
        is_plain: true,
        base: None,
        provisioner: String::new(),
    };
    Drawn {
        family,
        source,
        annotations: Map::new(),
        labels: Map::new(),
        node: None,
        access: "ReadWriteOnce",
        class: "fast",
        truth,
    }
}

pub(super) fn fields(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

impl Drawn {
    /// The same, written by hand.
    pub(super) fn by_hand(mut self, family: &'static str) -> Self {
        self.annotations.clear();
        if let Some(Value::Object(attributes)) = self.source.1.get_mut("volumeAttributes") {
            attributes.remove("storage.kubernetes.io/csiProvisionerIdentity");
        }
        self.truth.is_static = true;
        self.odd(family)
    }

    /// The same, but nothing that everybody has.
    pub(super) fn odd(mut self, family: &'static str) -> Self {
        self.family = family;
        self.truth.is_plain = false;
        self
    }

    pub(super) fn fate(mut self, fate: Fate) -> Self {
        self.truth.fate = fate;
        self
    }

    pub(super) fn mounts(mut self, names: Names) -> Self {
        self.truth.mounts = names;
        self
    }

    pub(super) fn shared(self) -> Self {
        Self { access: "ReadWriteMany", ..self }
    }

    pub(super) fn class(self, class: &'static str) -> Self {
        Self { class, ..self }
    }

    /// Driver and handle, where it has them.
    pub(super) fn handle(&self) -> Option<(&str, &str)> {
        let ("csi", source) = &self.source else { return None };
        Some((source.get("driver")?.as_str()?, source.get("volumeHandle")?.as_str()?))
    }
}

/// A volume of a room.
///
/// `number` tells it from other volumes: its object is `pvc-0`, its claim `claim-0`.
pub(super) fn volume(chance: &mut Chance, setting: &Setting, room: Room, number: usize) -> Drawn {
    match room {
        Room::Aws => super::cloud::aws(chance),
        Room::Google => super::cloud::google(chance),
        Room::Azure => super::cloud::azure(chance),
        Room::Efs => super::shares::efs(chance, setting),
        Room::Nfs => super::shares::nfs(chance, setting, number),
        Room::Ceph => super::shares::ceph(chance),
        Room::Node => super::nodes::volume(chance, number),
        Room::Longhorn => super::nodes::longhorn(chance),
        Room::Unknown => super::nodes::unknown(chance, setting),
    }
}
