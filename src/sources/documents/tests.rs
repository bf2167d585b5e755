//! Tests of what dumps prove, and what they do not.

mod kinds;
mod lists;

use std::{fs, path::Path};

use super::*;
use crate::dump::{DumpWriter, Replace};

/// A dump of ours that says it has seen all claims and attachments, and holds one attachment.
fn own(path: &Path) {
    let mut writer = DumpWriter::create(path, Replace::Dumps, &records::DumpHeader::now(None))
        .expect("because there is room");
    let attachment = serde_json::json!({"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment",
        "metadata": {"name": "a"}, "spec": {"attacher": "d", "source": {"persistentVolumeName": "pv"}}});
    writer.object(&attachment).expect("because there is room");
    for kind in [Kind::PersistentVolumeClaim, Kind::VolumeAttachment] {
        let covered =
            records::SavedCoverage::new(&Reach::all(kind), &Coverage::Seen { began: 9, ended: 10 });
        writer.record(records::COVERAGE, &covered).expect("because there is room");
    }
    writer.finish().expect("because there is room");
}

fn unseen(paths: &[&Path]) -> Vec<Kind> {
    let inputs: Vec<_> = paths.iter().map(|path| Input::Path(path.to_path_buf())).collect();
    let kinds = vec![Kind::PersistentVolumeClaim, Kind::VolumeAttachment];
    let options = DumpOptions { kinds, ..DumpOptions::default() };
    let mut intake = Intake::new(None);
    read(&inputs, &mut std::io::empty(), &options, &mut intake).expect("readable");
    let unseen = |kind: &Kind| intake.cluster.reach(*kind, None).is_err();
    options.kinds.iter().copied().filter(unseen).collect()
}

#[test]
fn a_dump_whose_only_object_of_a_kind_is_damaged_has_not_shown_that_kind() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("dump.json");
    own(&path);
    assert_eq!(unseen(&[&path]), []);
    let text = fs::read_to_string(&path).expect("because it was written");
    fs::write(&path, text.replace("\"kind\":\"VolumeAttachment\"", "\"kind\":7")).expect("room");
    assert_eq!(unseen(&[&path]), [Kind::PersistentVolumeClaim, Kind::VolumeAttachment]);
}

/// Earlier versions saved objects without that by which a cluster is known at a provider, and what is saved again of
/// such a dump lacks it too.
#[test]
fn a_dump_says_whether_it_has_the_identity_of_the_cluster() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    own(&at("earlier.json"));
    let volumes = r#"{"apiVersion": "v1", "kind": "PersistentVolumeList", "items": [
        {"metadata": {"name": "pv"}, "spec": {"capacity": {"storage": "1Gi"}}}]}"#;
    fs::write(at("list.json"), volumes).expect("because there is room");
    let has_identity = |from: &str, to: &str| {
        let saving = DumpWriter::create(&at(to), Replace::Dumps, &records::DumpHeader::now(None));
        let mut intake = Intake::new(Some(saving.expect("because there is room")));
        let inputs = [Input::Path(at(from))];
        read(&inputs, &mut std::io::empty(), &DumpOptions::default(), &mut intake)
            .expect("readable");
        intake.finish_saving().expect("because there is room");
        intake.cluster.has_identity()
    };
    assert!(!has_identity("earlier.json", "again.json"));
    assert!(!has_identity("again.json", "other.json"));
    assert!(has_identity("list.json", "now.json"));
    assert!(has_identity("now.json", "other.json"));
}

#[test]
fn a_dump_of_ours_beside_anything_else_proves_no_absence() {
    let folder = tempfile::tempdir().expect("a folder");
    let [one, two, list] = ["one.json", "two.json", "pv.json"].map(|it| folder.path().join(it));
    own(&one);
    own(&two);
    let volumes = r#"{"apiVersion": "v1", "kind": "PersistentVolumeList", "items": [
        {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "later"},
            "spec": {"capacity": {"storage": "1Gi"}}}]}"#;
    fs::write(&list, volumes).expect("because there is room");
    let both = [Kind::PersistentVolumeClaim, Kind::VolumeAttachment];
    assert_eq!(unseen(&[&one]), []);
    assert_eq!(unseen(&[&one, &two]), both);
    assert_eq!(unseen(&[&one, &list]), both);
    assert_eq!(unseen(&[&list, &one]), both);
}

/// Reads each text as a file of its own, with the word that nothing is missing in them.
fn read_texts(texts: &[&str]) -> (Intake, DumpNotes) {
    let folder = tempfile::tempdir().expect("a folder");
    let inputs = texts.iter().enumerate().map(|(index, text)| {
        let path = folder.path().join(format!("{index}.json"));
        fs::write(&path, text).expect("because there is room");
        Input::Path(path)
    });
    let inputs: Vec<_> = inputs.collect();
    let kinds = vec![Kind::PersistentVolume, Kind::PersistentVolumeClaim, Kind::Pod];
    let complete = kinds.iter().copied().collect();
    let options = DumpOptions { kinds, complete, ..DumpOptions::default() };
    let mut intake = Intake::new(None);
    let notes = read(&inputs, &mut std::io::empty(), &options, &mut intake).expect("readable");
    (intake, notes)
}

/// The kinds that were not seen, and why.
fn gaps(texts: &[&str]) -> Vec<(Kind, String)> {
    let (intake, _) = read_texts(texts);
    intake.cluster.gaps().map(|gap| (gap.kind, gap.reason.clone())).collect()
}

#[test]
fn what_is_broken_blinds_only_the_kind_that_it_is_of() {
    const VOLUME: &str = r#"{"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pv"}, "spec": {"capacity": {"storage": "1Gi"}}}"#;
    let pod = [Kind::Pod].as_slice();
    let all = [Kind::PersistentVolume, Kind::PersistentVolumeClaim, Kind::Pod].as_slice();
    for (text, blind) in [
        // Its own word.
        (r#"{"apiVersion": "v1", "kind": "Pod"}"#, pod),
        (r#"{"kind": "Pod", "metadata": {"name": "a"}}"#, pod),
        (r#"{"apiVersion": "v1", "kind": "Pod", "metadata": 7}"#, pod),
        (r#"{"apiVersion": 7, "kind": "Pod", "metadata": {"name": "a"}}"#, pod),
        (r#"{"kind": "List", "items": [{"apiVersion": "v1", "kind": "Pod"}]}"#, pod),
        (
            r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "b"}, "spec": 7}"#,
            pod,
        ),
        // That of its list, first or last.
        (r#"{"apiVersion": "v1", "kind": "PodList", "items": [7]}"#, pod),
        (r#"{"apiVersion": "v1", "kind": "PodList", "items": [{"spec": {}}]}"#, pod),
        (
            r#"{"apiVersion": "v1", "items": [7, {"kind": 5}, {"spec": {}}], "kind": "PodList"}"#,
            pod,
        ),
        ("apiVersion: v1\nitems:\n- {\n- metadata: 5\nkind: PodList\nmetadata: {}\n", pod),
        ("apiVersion: v1\nkind: PodList\nmetadata: {}\nitems:\n- {\n", pod),
        // Of a kind that no rule needs.
        (r#"{"apiVersion": "v1", "kind": "ConfigMap"}"#, &[]),
        (r#"{"apiVersion": "example.com/v1", "kind": "Pod"}"#, &[]),
        // Nothing tells.
        (r#"{"apiVersion": "v1", "kind": 7, "metadata": {"name": "a"}}"#, all),
        (r#"{"apiVersion": "v1", "kind": "List", "items": [7]}"#, all),
        (r#"{"apiVersion": "v1", "items": [{"spec": {}}], "kind": "List"}"#, all),
        (r#"{"apiVersion": "v1", "kind": "Pod", "kind": "Job", "metadata": {"name": "a"}}"#, all),
        (r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {}, "metadata": {"name": "a"}}"#, all),
        (r#"{"apiVersion": "v1", "kind": "Status", "message": "no"}"#, all),
        // What is no JSON may hide others.
        (r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": }}"#, all),
        (r#"{"apiVersion": "v1", "kind": "PodList", "items": ["#, all),
        ("apiVersion: v1\nkind: Pod\nmetadata: {\n", all),
    ] {
        let gaps = gaps(&[VOLUME, text]);
        assert_eq!(gaps.iter().map(|gap| gap.0).collect::<Vec<_>>(), blind, "{text}: {gaps:?}");
        // Alone in its file, between others.
        if text.starts_with('{') && !text.ends_with('[') {
            let lines = format!("{VOLUME}\n{text}\n{VOLUME}\n");
            assert_eq!(self::gaps(&[&lines]).len(), blind.len(), "{lines}");
        }
    }
}

/// A volume with a uid, a version and a label.
fn volume(uid: &str, version: &str, label: &str) -> String {
    let metadata = serde_json::json!({"name": "a", "uid": uid, "resourceVersion": version, "labels": {"a": label}});
    let spec = serde_json::json!({"capacity": {"storage": "1Gi"}});
    serde_json::json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata, "spec": spec})
        .to_string()
}

/// The same, with a time of creation.
fn created(volume: &str, time: &str) -> String {
    volume.replacen(
        "\"metadata\":{",
        &format!("\"metadata\":{{\"creationTimestamp\":\"{time}\","),
        1,
    )
}

#[test]
fn of_two_versions_the_newer_counts_if_that_can_be_told() {
    let told = |texts: &[&str]| {
        let (intake, notes) = read_texts(texts);
        let volumes: Vec<_> = intake
            .cluster
            .volumes()
            .map(|(_, it)| it.metadata.label("a").unwrap_or_default())
            .collect();
        let is_told = notes
            .notes
            .iter()
            .any(|note| note.starts_with("the dump contains two versions of pv/a"));
        let read = intake.seen().get(&Kind::PersistentVolume).copied().unwrap_or_default();
        assert_eq!(read, volumes.len() as u64, "{texts:?}");
        (volumes.join(" "), is_told, intake.cluster.gaps().count())
    };
    let [old, new] = [volume("u", "9", "old"), volume("u", "10", "new")];
    assert_eq!(told(&[&old, &old]), ("old".into(), false, 0));
    assert_eq!(told(&[&old, &new]), ("new".into(), true, 0));
    assert_eq!(told(&[&new, &old]), ("new".into(), true, 0));
    assert_eq!(told(&[&old, &new, &old, &new]), ("new".into(), true, 0));
    // Neither is seen, and nothing is found in either, however often they come.
    for other in [volume("v", "10", "other"), volume("u", "x", "other"), volume("u", "", "other")] {
        assert_eq!(told(&[&old, &other]), (String::new(), false, 1), "{other}");
        assert_eq!(told(&[&other, &old]), (String::new(), false, 1), "{other}");
        assert_eq!(told(&[&old, &other, &old, &new]), (String::new(), false, 1), "{other}");
        assert_eq!(told(&[&other, &other]), ("other".into(), false, 0), "{other}");
    }
    // Created anew: the time of creation tells, unless the version contradicts.
    let early = created(&old, "2026-01-01T00:00:00Z");
    for (version, time, expected) in [
        ("10", "2026-01-02T00:00:00Z", ("other", true, 0)),
        ("", "2026-01-02T00:00:00Z", ("other", true, 0)),
        ("8", "2025-01-02T00:00:00Z", ("old", true, 0)),
        ("8", "2026-01-02T00:00:00Z", ("", false, 1)),
        ("10", "2026-01-01T00:00:00Z", ("", false, 1)),
    ] {
        let other = created(&volume("v", version, "other"), time);
        let expected = (expected.0.to_owned(), expected.1, expected.2);
        assert_eq!(told(&[&early, &other]), expected, "{other}");
        assert_eq!(told(&[&other, &early]), expected, "{other}");
    }
    let reason = &gaps(&[&old, &volume("v", "10", "other")])[0].1;
    assert!(reason.starts_with("two versions of pv/a in the inputs, the second in "), "{reason}");
    assert!(reason.ends_with("1.json:1: the inputs were not taken at the same time"), "{reason}");
}

#[test]
fn what_cannot_be_read_is_not_counted_as_read() {
    let odd = r#"{"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": ["odd"]}}"#;
    let (intake, _) = read_texts(&[odd, &volume("u", "1", "x")]);
    assert_eq!(intake.seen().get(&Kind::PersistentVolume), Some(&1));
}

#[test]
fn a_dump_of_ours_may_hold_an_object_twice() {
    // A list that broke and began anew is saved with both beginnings.
    let header = r#"{"apiVersion": "storage.kubectl.dev/v1alpha1", "kind": "Dump"}"#;
    let end = r#"{"apiVersion": "storage.kubectl.dev/v1alpha1", "kind": "DumpEnd", "count": 2}"#;
    for (first, second) in [("u", "u"), ("u", "v")] {
        let (old, new) = (volume(first, "9", "old"), volume(second, "10", "new"));
        let (intake, notes) = read_texts(&[&format!("{header}\n{old}\n{new}\n{end}\n")]);
        let labels: Vec<_> =
            intake.cluster.volumes().filter_map(|(_, it)| it.metadata.label("a")).collect();
        assert_eq!((labels, intake.cluster.gaps().count()), (vec!["new"], 0));
        assert!(!notes.notes.iter().any(|note| note.contains("two versions")), "{notes:?}");
    }
}

#[test]
fn a_dump_of_a_newer_version_is_refused() {
    let volume = volume("u", "1", "x");
    let dump = |version: &str, kind: &str| {
        format!(r#"{{"apiVersion": "storage.kubectl.dev/{version}", "kind": "{kind}"}}"#)
    };
    let (header, newer) = (dump("v1alpha1", "Dump"), "written by a newer version of this tool");
    let other = r#"{"apiVersion": "v1", "kind": "PersistentVolumeList", "items": []}"#;
    // Beside others it is not seen, and may hold anything.
    for text in [
        format!("{}\n{volume}\n", dump("v2", "Dump")),
        format!("{}\n{volume}\n", dump("v2", "Excerpt")),
        format!("{header}\n{volume}\n{}\n", dump("v1beta1", "Coverage")),
    ] {
        let gaps = gaps(&[other, &text]);
        assert!(gaps.len() == 3 && gaps.iter().all(|gap| gap.1.contains(newer)), "{gaps:?}");
    }
    // Alone it is an error.
    let mut intake = Intake::new(None);
    let stdin = format!("{}\n{volume}\n", dump("v2", "Dump"));
    let error = read(&[Input::Stdin], &mut stdin.as_bytes(), &DumpOptions::default(), &mut intake)
        .expect_err("because nobody here knows it");
    assert!(error.to_string().contains(newer) && error.hint().is_some(), "{error}");
    // What is not known of the same version is passed over.
    let end = r#"{"apiVersion": "storage.kubectl.dev/v1alpha1", "kind": "DumpEnd", "count": 2}"#;
    let text = format!("{header}\n{volume}\n{}\n{end}\n", dump("v1alpha1", "Novelty"));
    assert_eq!(self::gaps(&[&text]), []);
}
