//! Clusters as documents, and the truth about each.

use serde_json::{Value, json};

use super::{
    background::background,
    chance::Chance,
    cloud, model,
    model::{Names, Other, Ruling, Sort, Truth, World},
    nodes,
    nodes::UNKNOWN,
    objects::{claim, object, persistent_volume, pod_spec, templated, uid},
    shares,
    volumes::{Drawn, Room, Setting, volume},
};

/// More volumes than any cluster has.
pub(super) const MOST: usize = 16;

/// A cluster, and what has to become of the volumes in it that could be reclaimed.
#[derive(Default)]
pub(super) struct Universe {
    pub objects: Vec<Value>,
    /// How many of them are always there.
    pub usual: usize,
    pub rulings: Vec<(String, &'static str, Ruling)>,
}

/// What references storage, before anything is decided.
#[derive(Default)]
struct Draft {
    objects: Vec<Value>,
    usual: usize,
    volumes: Vec<(Drawn, bool)>,
    others: Vec<Other>,
    /// Driver and handle of kept backend volumes.
    records: Vec<(String, String, Other)>,
    /// Volumes that must not be reclaimed, or need not be, whatever they name.
    apart: Vec<(usize, Option<&'static str>)>,
}

fn setting(chance: &mut Chance) -> Setting {
    Setting {
        room: chance.pick(&Room::ALL),
        efs_erases: chance.pick(&[Some(false), Some(false), Some(true), None]),
        attach_required: !chance.one_in(4),
        nfs_subdir_class: chance.pick(&[
            json!({"archiveOnDelete": "false"}),
            json!({"archiveOnDelete": "true"}),
            json!({"onDelete": "delete"}),
            json!({"onDelete": "retain"}),
        ]),
        nfs_subdir_root: chance
            .pick(&[("nfs.example.com", "/srv/claims"), ("nfs.example.com", "/export")]),
    }
}

/// Builds the cluster that chance decided on.
pub(super) fn universe(of_all: &[u8], of_each: &[Vec<u8>]) -> Universe {
    let setting = setting(&mut Chance::new(of_all));
    let (objects, others) = background(&setting);
    let mut draft = Draft { usual: objects.len(), objects, others, ..Draft::default() };
    for (index, bytes) in of_each.iter().enumerate() {
        let chance = &mut Chance::new(bytes);
        let room = if chance.one_in(6) { chance.pick(&Room::ALL) } else { setting.room };
        match if index == 0 { 0 } else { chance.roll(12) } {
            0..=5 => draft.volume(chance, &setting, room, index),
            6 | 7 => draft.pod(chance, room, index),
            8 => draft.template(chance, room, index),
            9 => draft.record(chance, &setting, room, index),
            10 => draft.snapshot(chance, index),
            _ => draft.wanted_or_attached(chance, room, index),
        }
    }
    draft.decide()
}

/// An inline volume of a room: its type, its source, and what it names.
fn inline(chance: &mut Chance, room: Room) -> (&'static str, Value, Names) {
    match room {
        Room::Aws => cloud::aws_inline(chance),
        Room::Google => cloud::google_inline(chance),
        Room::Azure => cloud::azure_inline(chance),
        Room::Nfs => shares::nfs_inline(chance),
        Room::Efs => shares::efs_inline(chance),
        Room::Ceph => shares::ceph_inline(chance),
        Room::Node | Room::Longhorn | Room::Unknown => nodes::inline(chance),
    }
}

impl Draft {
    fn volume(&mut self, chance: &mut Chance, setting: &Setting, room: Room, index: usize) {
        let is_released = index == 0 || !chance.one_in(3);
        let drawn = volume(chance, setting, room, index);
        self.objects.push(persistent_volume(&drawn, is_released, index));
        if !is_released {
            self.objects.push(object(
                "v1",
                "PersistentVolumeClaim",
                "shop",
                &claim(index),
                json!({
                    "spec": {"volumeName": format!("pvc-{index}"), "accessModes": [drawn.access],
                        "storageClassName": drawn.class,
                        "resources": {"requests": {"storage": "10Gi"}}},
                    "status": {"phase": "Bound"},
                }),
            ));
        }
        self.volumes.push((drawn, is_released));
    }

    /// A pod in whatever phase, with an inline volume.
    fn pod(&mut self, chance: &mut Chance, room: Room, index: usize) {
        let (kind, source, mut names) = inline(chance, room);
        let phase = chance.pick(&["Running", "Succeeded", "Failed", "Pending"]);
        let mut spec = pod_spec((kind, source));
        // The name of a node need not be the label by which volumes are bound to it.
        let mut is_obscure = false;
        if phase != "Pending" {
            let on = chance.pick(&model::NODES);
            spec["nodeName"] = on.into();
            if let Names::Path { node, .. } = &mut names {
                *node = Some(on.to_owned());
                is_obscure = true;
            }
        }
        let status = json!({"phase": phase});
        let rest = json!({"spec": spec, "status": status});
        self.objects.push(object("v1", "Pod", "shop", &format!("app-{index}"), rest));
        self.others.push(Other { names, sort: Sort::Inline, is_obscure });
    }

    /// A workload, with an inline volume in its template; it need not have pods.
    fn template(&mut self, chance: &mut Chance, room: Room, index: usize) {
        let (kind, source, names) = inline(chance, room);
        let of = chance.pick(&["Deployment", "StatefulSet", "DaemonSet", "CronJob"]);
        let spec = pod_spec((kind, source));
        self.objects.push(templated(of, &format!("app-{index}"), 0, &spec));
        self.others.push(Other { names, sort: Sort::Inline, is_obscure: false });
    }

    /// A record of a backend volume that was kept: nothing is left of it but its handle.
    fn record(&mut self, chance: &mut Chance, setting: &Setting, room: Room, index: usize) {
        let drawn = volume(chance, setting, room, index);
        // What was mounted by a volume whose attributes said otherwise, nobody can know.
        let contradicts = drawn.family.contains("mismatch") || drawn.family == "CephFS, static";
        let Some((driver, handle)) =
            drawn.handle().filter(|(_, handle)| !contradicts || handle.starts_with("shared-"))
        else {
            return;
        };
        self.objects.push(json!({
            "apiVersion": "storage.kubectl.dev/v1alpha1", "kind": "KeptBackend",
            "driver": driver, "handle": handle, "volume": format!("kept-{index}"),
            "uid": uid("kept", &index.to_string()), "recorded": "journal",
            "since": "2026-09-01T12:00:00Z",
        }));
        let (names, is_obscure) =
            (drawn.truth.mounts.clone(), drawn.truth.is_static || drawn.family == "PD, multi-zone");
        let other = Other { names, sort: Sort::Volume, is_obscure };
        self.records.push((driver.to_owned(), handle.to_owned(), other));
    }

    /// A snapshot of one of the volumes.
    fn snapshot(&mut self, chance: &mut Chance, index: usize) {
        let of = chance.roll(self.volumes.len());
        let (drawn, _) = &self.volumes[of];
        let Some((driver, handle)) = drawn.handle() else { return };
        let (ready, decoded) = (!chance.one_in(4), chance.one_in(3));
        let is_longhorn = driver == "driver.longhorn.io";
        let kind = chance.pick(&["snap", "bak"]);
        let own = match is_longhorn {
            true => format!("{kind}://{handle}/snapshot-{index}"),
            false => format!("snap-{index}"),
        };
        let is_static = is_longhorn && decoded;
        let source = match is_static {
            true => json!({"snapshotHandle": own}),
            false => json!({"volumeHandle": handle}),
        };
        self.objects.push(object(
            "snapshot.storage.k8s.io/v1",
            "VolumeSnapshotContent",
            "",
            &format!("snapcontent-{index}"),
            json!({
                "spec": {"driver": driver, "deletionPolicy": "Delete", "source": source,
                    "volumeSnapshotRef": {"apiVersion": "snapshot.storage.k8s.io/v1",
                        "kind": "VolumeSnapshot", "namespace": "shop", "name": "nightly",
                        "uid": uid("VolumeSnapshot", "nightly")}},
                "status": {"readyToUse": ready, "snapshotHandle": own},
            }),
        ));
        let survives = match driver {
            "driver.longhorn.io" => kind == "bak",
            UNKNOWN | "file.csi.azure.com" => false,
            _ => true,
        };
        let plainly = ["EBS", "EBS Auto", "PD", "Azure disk", "RBD"].contains(&drawn.family);
        if drawn.truth.is_static {
            // Of which volume it is, its handle does not say.
            self.apart.extend((0..MOST).map(|it| (it, None)));
        }
        if !ready && ["nfs.csi.k8s.io", "efs.csi.aws.com"].contains(&driver) {
            // Any other file system may be the same one under another name.
            self.apart.extend((0..MOST).map(|it| (it, None)));
        }
        match (ready, survives) {
            (true, true) if plainly => {}
            (true, true) => self.apart.push((of, None)),
            (true, false) => self.apart.push((of, Some("a snapshot dies with it"))),
            (false, _) if is_static => self.apart.push((of, None)),
            (false, _) => self.apart.push((of, Some("a snapshot is not ready"))),
        }
    }

    fn wanted_or_attached(&mut self, chance: &mut Chance, room: Room, index: usize) {
        let translated = match inline(chance, room) {
            ("awsElasticBlockStore", _, Names::Piece(piece)) => {
                Some(("ebs.csi.aws.com", piece[1].clone(), Names::Piece(piece)))
            }
            ("gcePersistentDisk", source, names) => {
                let name = source["pdName"].as_str().unwrap_or_default();
                let handle = format!("projects/UNSPECIFIED/zones/UNSPECIFIED/disks/{name}");
                Some(("pd.csi.storage.gke.io", handle, names))
            }
            ("azureDisk", source, names) => {
                let id = source["diskURI"].as_str().unwrap_or_default().to_owned();
                Some(("disk.csi.azure.com", id, names))
            }
            _ => None,
        };
        let Some((driver, handle, names)) = translated.filter(|_| chance.one_in(2)) else {
            return self.wanted(chance, index);
        };
        let name = format!("csi-{index}");
        let spec = json!({"accessModes": ["ReadWriteOnce"],
            "csi": {"driver": driver, "volumeHandle": handle}});
        self.objects.push(object(
            "storage.k8s.io/v1",
            "VolumeAttachment",
            "",
            &name,
            json!({
                "spec": {"attacher": driver, "nodeName": "node-1",
                    "source": {"inlineVolumeSpec": spec}},
                "status": {"attached": true},
            }),
        ));
        self.others.push(Other { names, sort: Sort::Inline, is_obscure: false });
    }

    /// A workload that names a claim which is gone.
    fn wanted(&mut self, chance: &mut Chance, index: usize) {
        let of = chance.roll(self.volumes.len());
        let number = self.numbers()[of];
        let kind = chance.pick(&["Deployment", "StatefulSet", "DaemonSet", "CronJob", "Job"]);
        let spec = pod_spec(("persistentVolumeClaim", json!({"claimName": claim(number)})));
        self.objects.push(templated(kind, &format!("wants-{index}"), 0, &spec));
        if kind != "Job" {
            self.apart.push((of, Some("a workload wants its claim back")));
        }
    }

    /// The numbers that the volumes were drawn with.
    fn numbers(&self) -> Vec<usize> {
        let volumes = self.objects.iter().filter(|it| it["kind"] == "PersistentVolume");
        let number =
            |it: &Value| it["metadata"]["name"].as_str()?.strip_prefix("pvc-")?.parse().ok();
        volumes.filter_map(number).collect()
    }

    fn decide(self) -> Universe {
        let worlds = model::worlds(self.trusts_handles());
        let numbers = self.numbers();
        let mut rulings = Vec::new();
        for (place, (drawn, is_released)) in self.volumes.iter().enumerate() {
            if *is_released {
                let ruling = self.ruling(place, &drawn.truth, &worlds);
                rulings.push((format!("pvc-{}", numbers[place]), drawn.family, ruling));
            }
        }
        Universe { objects: self.objects, usual: self.usual, rulings }
    }

    fn ruling(&self, place: usize, truth: &Truth, worlds: &[World]) -> Ruling {
        let besides = self.volumes.iter().enumerate().filter(|(other, _)| *other != place);
        let besides = besides.map(|(_, (other, _))| Other {
            names: other.truth.mounts.clone(),
            sort: Sort::Volume,
            // Whether a regional disk may be one of them is not documented.
            is_obscure: other.family == "PD, multi-zone",
        });
        // The record of this very backend volume may be told of it, or of another that has it now.
        let handle = self.volumes[place].0.handle();
        let (own, records): (Vec<_>, Vec<_>) =
            self.records.iter().partition(|(driver, id, other)| match handle {
                Some(handle) => (&**driver, &**id) == handle,
                // That of an in-tree volume is the one that it is translated to.
                None => other.names == truth.mounts,
            });
        let records = records.into_iter().map(|(_, _, other)| other);
        let others: Vec<_> = besides.chain(self.others.iter().chain(records).cloned()).collect();
        let apart = self.apart.iter().filter(|(it, _)| *it == place).map(|(_, why)| *why);
        let apart: Vec<_> = apart.chain(own.iter().map(|_| None)).collect();
        if let Some(why) = apart.iter().flatten().next() {
            return Ruling::Never((*why).to_owned());
        }
        match model::ruling(truth, &others, worlds) {
            Ruling::Always if !apart.is_empty() => Ruling::Either,
            ruling => ruling,
        }
    }

    /// Whether handles of the unknown driver may be taken for names of disks.
    fn trusts_handles(&self) -> bool {
        let of_it = self.objects.iter().filter(|it| it["spec"]["csi"]["driver"] == UNKNOWN);
        let handles = of_it.clone().filter_map(|it| it["spec"]["csi"]["volumeHandle"].as_str());
        let records = self.records.iter().filter(|(driver, ..)| driver == UNKNOWN);
        let handles: Vec<_> = handles.chain(records.map(|(_, handle, _)| &**handle)).collect();
        let is_shared = of_it.clone().any(|it| it["spec"]["accessModes"][0] != "ReadWriteOnce");
        let is_inside = |one: &&str| {
            let inside = |it: &&str| it.strip_prefix(*one).is_some_and(|it| it.starts_with('/'));
            handles.iter().any(inside)
        };
        let driver = self
            .objects
            .iter()
            .find(|it| it["kind"] == "CSIDriver" && it["metadata"]["name"] == UNKNOWN);
        let attached = driver.is_some_and(|it| it["spec"]["attachRequired"] == true);
        attached && !is_shared && !handles.iter().any(is_inside)
    }
}
