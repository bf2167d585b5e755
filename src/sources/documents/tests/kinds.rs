//! Tests of objects without a kind, in old API versions, and of other groups; and of the same documents
//! in every form: files, standard input, folders, gzip, tar.

use std::fs;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use super::*;

fn bare(namespace: &str, name: &str, rest: &Value) -> Value {
    let mut object = json!({"metadata": {"name": name}});
    if !namespace.is_empty() {
        object["metadata"]["namespace"] = namespace.into();
    }
    for (key, value) in rest.as_object().cloned().unwrap_or_default() {
        object[key] = value;
    }
    object
}

fn volume(name: &str) -> Value {
    bare(
        "",
        name,
        &json!({"spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]}}),
    )
}

fn pod(namespace: &str, name: &str) -> Value {
    bare(namespace, name, &json!({"spec": {"containers": [{"name": "c"}]}}))
}

fn workload(namespace: &str, name: &str) -> Value {
    bare(
        namespace,
        name,
        &json!({"spec": {"selector": {}, "template": {"spec": {"containers": [{"name": "c"}]}}}}),
    )
}

#[test]
fn objects_without_a_kind_are_read_where_place_or_shape_tells_it() {
    let insights = [
        ("config/persistentvolumes/v1.json", volume("v1").to_string()),
        ("config/pod/openshift-x/p.json", pod("openshift-x", "p").to_string()),
        // Of kinds that no rule needs.
        (
            "config/clusteroperator/dns.json",
            bare("", "dns", &json!({"spec": {}, "status": {"conditions": []}})).to_string(),
        ),
        ("config/metrics.json", json!({"metric": 7}).to_string()),
    ];
    let sonobuoy = [
        ("resources/cluster/PersistentVolumes.json", json!([volume("v1")]).to_string()),
        ("resources/ns/a/Pods.json", json!([pod("a", "p")]).to_string()),
        ("resources/ns/a/Deployments.json", json!([workload("a", "d")]).to_string()),
    ];
    let unnamed = [
        ("x/one.json", json!({"metadata": {}, "items": [volume("v1")]}).to_string()),
        ("x/two.yaml", serde_yaml::to_string(&pod("a", "p")).expect("because JSON is YAML")),
    ];
    for files in [&insights[..], &sonobuoy, &unnamed] {
        for form in Form::FOUND {
            let (intake, notes) = read_as(form, files, &[]).expect("readable");
            let read = |kind| intake.seen().get(&kind).copied().unwrap_or_default();
            assert_eq!((read(Kind::PersistentVolume), read(Kind::Pod)), (1, 1), "{files:?}");
            assert!(!notes.notes.iter().any(|it| it.contains("without kind")), "{notes:?}");
            // One by one they prove nothing, unless the user says so.
            assert!(gap(&intake, Kind::PersistentVolume).is_some());
            let complete = [Kind::PersistentVolume];
            let (intake, _) = read_as(form, files, &complete).expect("readable");
            assert_eq!(gap(&intake, Kind::PersistentVolume), None);
        }
    }
}

#[test]
fn objects_that_may_be_of_several_kinds_are_told_and_are_gaps() {
    let files = [
        ("x/list.json", list("List", &[object("v1", "PersistentVolume", "", "v")]).to_string()),
        ("x/odd.json", workload("a", "w").to_string()),
        ("x/odder.json", json!([workload("a", "w")]).to_string()),
    ];
    let all: Vec<_> = Kind::ALL.into_iter().filter(|kind| kind.is_listed()).collect();
    for form in Form::FOUND {
        for complete in [&all[..], &[]] {
            let (intake, notes) = read_as(form, &files, complete).expect("readable");
            for kind in [Kind::Deployment, Kind::StatefulSet, Kind::DaemonSet, Kind::Job] {
                let gap = gap(&intake, kind).expect("a gap");
                assert!(gap.starts_with("2 objects have neither kind nor apiVersion"), "{gap}");
            }
            assert_eq!(gap(&intake, Kind::PersistentVolume), None);
            let told = |note: &String| {
                note.contains("odd.json and 1 other file contain objects without kind")
            };
            assert!(notes.notes.iter().any(told), "{notes:?}");
        }
        let (intake, _) = read_as(form, &files, &all).expect("readable");
        assert_eq!((gap(&intake, Kind::Pod), gap(&intake, Kind::Node)), (None, None));
    }
    // A folder that is called like a kind decides among those that fit, and no others.
    for (path, kinds) in [("x/deployments/w.json", 0), ("x/pods/w.json", 6)] {
        let files = [files[0].clone(), (path, workload("a", "w").to_string())];
        let (intake, _) = read_as(Form::Folder, &files, &all).expect("readable");
        assert_eq!(intake.cluster.gaps().count(), kinds, "{path}");
    }
}

#[test]
fn a_kind_is_read_in_every_version_that_served_it() {
    let uses = |api_version: &str, kind: &str| {
        let mut object = object(api_version, kind, "a", &kind.to_lowercase());
        let claim = json!({"name": "d", "persistentVolumeClaim": {"claimName": "c"}});
        let template = json!({"spec": {"containers": [], "volumes": [claim]}});
        object["spec"] = match kind {
            "CronJob" => json!({"jobTemplate": {"spec": {"template": template}}}),
            _ => json!({"template": template}),
        };
        object
    };
    for (api_version, kind) in [
        ("extensions/v1beta1", "Deployment"),
        ("extensions/v1beta1", "DaemonSet"),
        ("extensions/v1beta1", "ReplicaSet"),
        ("apps/v1beta1", "Deployment"),
        ("apps/v1beta1", "StatefulSet"),
        ("apps/v1beta2", "DaemonSet"),
        ("apps/v1beta2", "ReplicaSet"),
        ("batch/v1beta1", "CronJob"),
        ("batch/v2alpha1", "CronJob"),
        ("extensions/v1beta1", "Job"),
    ] {
        let known = Kind::ALL.into_iter().find(|it| it.name() == kind).expect("a kind");
        let files = [("all.json", list("List", &[uses(api_version, kind)]).to_string())];
        for form in Form::ALL {
            let (intake, _) = read_as(form, &files, &[]).expect("readable");
            let gap = gap(&intake, known).expect("of one namespace");
            assert!(gap.contains("only namespace a"), "{api_version} {kind}: {gap}");
        }
        let (intake, _) = read_as(Form::Files, &files, &[known]).expect("readable");
        assert_eq!(intake.seen().get(&known), Some(&1), "{api_version} {kind}");
        // Typed lists name the version once.
        let mut typed = list(&format!("{kind}List"), &[]);
        typed["apiVersion"] = api_version.into();
        let (intake, _) = read_as(Form::Stdin, &[("x", typed.to_string())], &[]).expect("readable");
        let gap = self::gap(&intake, known).expect("it may be of one namespace");
        assert!(gap.contains("an empty list of them"), "{api_version} {kind}: {gap}");
    }
    for (api_version, kind) in [
        ("storage.k8s.io/v1beta1", "StorageClass"),
        ("storage.k8s.io/v1beta1", "CSIDriver"),
        ("csi.storage.k8s.io/v1alpha1", "CSIDriver"),
        ("storage.k8s.io/v1beta1", "CSINode"),
        ("storage.k8s.io/v1alpha1", "VolumeAttachment"),
        ("storage.k8s.io/v1alpha1", "VolumeAttributesClass"),
        ("snapshot.storage.k8s.io/v1beta1", "VolumeSnapshotContent"),
        ("groupsnapshot.storage.k8s.io/v1beta2", "VolumeGroupSnapshotContent"),
    ] {
        let known = Kind::ALL.into_iter().find(|it| it.name() == kind).expect("a kind");
        let mut object = object(api_version, kind, "", "x");
        object["provisioner"] = "d".into();
        if kind == "VolumeAttachment" {
            object["spec"]["source"] = json!({"persistentVolumeName": "v"});
        }
        let (intake, _) = read_as(Form::Stdin, &[("x", list("List", &[object]).to_string())], &[])
            .expect("readable");
        assert_eq!((gap(&intake, known), intake.seen().len()), (None, 1), "{api_version} {kind}");
    }
}

#[test]
fn events_of_the_newer_group_are_events() {
    let mut event = object("events.k8s.io/v1beta1", "Event", "a", "e");
    event["regarding"] = json!({"kind": "PersistentVolumeClaim", "namespace": "a", "name": "c"});
    event["note"] = "no disk".into();
    event["reason"] = "ProvisioningFailed".into();
    event["type"] = "Warning".into();
    event["deprecatedLastTimestamp"] = "2026-01-01T00:00:00Z".into();
    event["deprecatedSource"] = json!({"component": "provisioner"});
    let object: crate::objects::Event = serde_json::from_value(event).expect("an event");
    assert_eq!((&*object.message, &*object.involved_object.name), ("no disk", "c"));
    assert_eq!(&*object.source.component, "provisioner");
    assert_ne!(object.last_timestamp, crate::objects::Event::default().last_timestamp);
}

#[test]
fn what_is_only_called_like_a_known_kind_is_told() {
    let volumes = list("List", &[object("v1", "PersistentVolume", "", "v")]).to_string();
    let node = object("config.openshift.io/v1", "Node", "", "cluster").to_string();
    let job = object("batch.volcano.sh/v1alpha1", "Job", "a", "j").to_string();
    let files =
        [("a.json", volumes.clone()), ("b.json", node), ("c.json", job.clone()), ("d.json", job)];
    let all: Vec<_> = Kind::ALL.into_iter().filter(|kind| kind.is_listed()).collect();
    for form in Form::ALL {
        let (intake, notes) = read_as(form, &files, &all).expect("readable");
        assert_eq!(intake.cluster.gaps().count(), 0);
        for told in ["is a Node.config.openshift.io", "2 objects are of Job.batch.volcano.sh"] {
            assert!(notes.notes.iter().any(|note| note.contains(told)), "{told}: {notes:?}");
        }
    }
    // In a version whose fields are not known it is not seen.
    let old = object("snapshot.storage.k8s.io/v1alpha1", "VolumeSnapshot", "a", "s").to_string();
    let (intake, _) =
        read_as(Form::Files, &[("a.json", volumes), ("b.json", old)], &all).expect("readable");
    let gaps: Vec<_> = intake.cluster.gaps().map(|gap| (gap.kind, gap.reason.clone())).collect();
    let [(Kind::VolumeSnapshot, reason)] = &gaps[..] else { panic!("{gaps:?}") };
    assert!(reason.ends_with(
        "is of snapshot.storage.k8s.io/v1alpha1, whose fields this version does not know"
    ));
}

#[test]
fn what_holds_objects_that_are_not_read_says_so() {
    let mut template = object("template.openshift.io/v1", "Template", "a", "t");
    template["objects"] = json!([object("v1", "PersistentVolumeClaim", "a", "c")]);
    let error =
        read_as(Form::Stdin, &[("t.json", template.to_string())], &[]).err().expect("no use");
    assert_eq!(
        error.to_string(),
        "stdin:1 is a Template, which makes objects: it shows none of a cluster"
    );
    // A list in a list is broken, as far as it says of what.
    let volumes = [object("v1", "PersistentVolume", "", "v")];
    for (kind, blind) in [("PodList", 1), ("List", 2)] {
        let inner = list(kind, &[object("v1", "Pod", "a", "p")]);
        let outer = list("List", &[volumes[0].clone(), inner]);
        let (intake, _) = read_as(
            Form::Stdin,
            &[("l.json", outer.to_string())],
            &[Kind::PersistentVolume, Kind::Pod],
        )
        .expect("readable");
        let gaps = [Kind::PersistentVolume, Kind::Pod].map(|kind| gap(&intake, kind));
        assert_eq!(gaps.iter().flatten().count(), blind, "{gaps:?}");
        assert!(gaps.iter().flatten().all(|it| it.contains("within a list")), "{gaps:?}");
    }
    // Many files are told by the name of what holds them.
    let secrets = |name| (name, object("v1", "Secret", "a", "s").to_string());
    let files =
        [secrets("x/a.json"), secrets("x/b.json"), secrets("x/c.json"), secrets("x/d.json")];
    let error = read_as(Form::Tar, &files, &[]).err().expect("no use");
    assert_eq!(error.to_string(), "stdin holds no object that an audit looks at");
    let error = read_as(Form::Files, &files, &[]).err().expect("no use");
    assert_eq!(error.to_string(), "none of the 4 inputs holds an object that an audit looks at");
}

/// How documents are handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Each as a file that is named.
    Files,
    /// One after the other on standard input.
    Stdin,
    /// The same, packed.
    Gzip,
    Folder,
    Tar,
    TarGzip,
}

impl Form {
    pub(super) const ALL: [Self; 6] =
        [Self::Files, Self::Stdin, Self::Gzip, Self::Folder, Self::Tar, Self::TarGzip];
    /// Those in which files are found, and not named.
    pub(super) const FOUND: [Self; 3] = [Self::Folder, Self::Tar, Self::TarGzip];
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(bytes).expect("because memory takes all bytes");
    gzip.finish().expect("because memory takes all bytes")
}

fn tar(files: &[(&str, String)]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (path, text) in files {
        let mut header = tar::Header::new_ustar();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        let added = tar.append_data(&mut header, path, text.as_bytes());
        added.expect("because memory takes all bytes");
    }
    tar.into_inner().expect("because memory takes all bytes")
}

/// Reads files in a form; the kinds that matter are all that are listed.
pub(super) fn read_as(
    form: Form,
    files: &[(&str, String)],
    complete: &[Kind],
) -> Result<(Intake, DumpNotes), DumpError> {
    let folder = tempfile::tempdir().expect("a folder");
    let is_yaml =
        files.iter().any(|(name, _)| Path::new(name).extension() == Some("yaml".as_ref()));
    let texts: Vec<_> = files.iter().map(|(_, text)| text.as_str()).collect();
    let joined = texts.join(if is_yaml { "\n---\n" } else { "\n" });
    let (mut inputs, mut stdin) = (vec![Input::Stdin], Vec::new());
    match form {
        Form::Stdin => stdin = joined.into_bytes(),
        Form::Gzip => stdin = gzip(joined.as_bytes()),
        Form::Tar => stdin = tar(files),
        Form::TarGzip => stdin = gzip(&tar(files)),
        Form::Files | Form::Folder => {
            inputs.clear();
            for (name, text) in files {
                let path = folder.path().join(name);
                let parent = path.parent().expect("because it was joined");
                fs::create_dir_all(parent).expect("because there is room");
                fs::write(&path, text).expect("because there is room");
                inputs.push(Input::Path(path));
            }
            if form == Form::Folder {
                inputs = vec![Input::Path(folder.path().to_owned())];
            }
        }
    }
    let options = DumpOptions {
        kinds: Kind::ALL.into_iter().filter(|kind| kind.is_listed()).collect(),
        complete: complete.iter().copied().collect(),
        ..DumpOptions::default()
    };
    let mut intake = Intake::new(None);
    let notes = read(&inputs, &mut &stdin[..], &options, &mut intake)?;
    Ok((intake, notes))
}

/// Why a kind was not seen; `None` if it was, in all namespaces.
pub(super) fn gap(intake: &Intake, kind: Kind) -> Option<String> {
    intake.cluster.reach(kind, None).err().map(|unseen| unseen.reason)
}

/// Whether a kind was seen in a namespace.
pub(super) fn is_seen_in(intake: &Intake, kind: Kind, namespace: &str) -> bool {
    intake.cluster.reach(kind, Some(&namespace.into())).is_ok()
}

/// An object.
pub(super) fn object(
    api_version: &str,
    kind: &str,
    namespace: &str,
    name: &str,
) -> serde_json::Value {
    // What every object of any kind has: nobody has cut it.
    let template = serde_json::json!({"spec": {"containers": [{"image": "i"}]}});
    let mut object = serde_json::json!({
        "apiVersion": api_version, "kind": kind, "metadata": {"name": name},
        "provisioner": "p", "driver": "d", "driverName": "d",
        "spec": {"accessModes": ["ReadWriteOnce"], "attacher": "d", "driver": "d", "replicas": 1,
            "containers": [{"image": "i"}], "template": template,
            "scaleTargetRef": {"kind": "Deployment", "name": "d"},
            "jobTemplate": {"spec": {"template": template}}}});
    if !namespace.is_empty() {
        object["metadata"]["namespace"] = namespace.into();
    }
    object
}

/// A list as kubectl writes it, in JSON.
pub(super) fn list(kind: &str, items: &[serde_json::Value]) -> serde_json::Value {
    let metadata = serde_json::json!({"resourceVersion": ""});
    serde_json::json!({"apiVersion": "v1", "items": items, "kind": kind, "metadata": metadata})
}

/// A document as a JSON file and as a YAML file.
pub(super) fn both(document: &serde_json::Value) -> [(&'static str, String); 2] {
    let yaml = serde_yaml::to_string(document).expect("because JSON is YAML");
    [("json", format!("{document:#}\n")), ("yaml", yaml)]
}
