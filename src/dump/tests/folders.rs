//! Folders, and what their layout tells.

use std::fs;
use std::path::Path;

use super::{JSON_LIST, YAML_LIST, json, read_path};
use crate::dump::{FileFormat, FileLayout, FileScope, FileSummary};

fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().expect("because it was joined")).expect("because it is ours");
    fs::write(path, text).expect("because it is ours");
}

fn at<'a>(files: &'a [FileSummary], end: &str) -> &'a FileSummary {
    files.iter().find(|file| file.path.ends_with(end)).expect("because it was written")
}

#[test]
fn a_must_gather_is_understood() {
    let folder = tempfile::tempdir().expect("because there is room");
    let root = folder.path();
    write(
        root,
        "must-gather/timestamp",
        "2024-05-02 10:11:12.5 +0200 CEST m=+0.2\n2024-05-02 10:20:00 +0200 CEST m=+9\n",
    );
    write(root, "must-gather/x/version", "4.15");
    write(root, "must-gather/x/event-filter.html", "<html>");
    write(
        root,
        "must-gather/x/cluster-scoped-resources/core/persistentvolumes/a.yaml",
        "---\napiVersion: v1\nkind: PersistentVolume\nmetadata:\n  name: a\n",
    );
    write(root, "must-gather/x/cluster-scoped-resources/core/persistentvolumes.yaml", YAML_LIST);
    write(
        root,
        "must-gather/x/namespaces/n/core/pods.yaml",
        "---\napiVersion: v1\nitems: []\nkind: PodList\nmetadata:\n  resourceVersion: \"1\"\n",
    );
    write(
        root,
        "must-gather/x/namespaces/n/pods/p/p.yaml",
        "kind: Pod\napiVersion: v1\nmetadata: {name: p}\n",
    );
    write(root, "must-gather/x/etcd_info/health.json", r#"[{"endpoint":"x","health":true}]"#);
    write(root, "must-gather/x/cut.json", "{");
    write(root, "must-gather/x/.hidden.json", "{");
    let outcome = read_path(root);
    assert_eq!(
        outcome.objects(),
        ["v1/PersistentVolume a", "v1/PersistentVolume a", "v1/PersistentVolume b", "v1/Pod p"],
        "{outcome:#?}"
    );
    assert_eq!(outcome.broken().len(), 1, "{:?}", outcome.broken());
    assert_eq!(outcome.lists(), ["PersistentVolumeList 2 complete", "PodList 0 complete"]);
    let time = at(&outcome.files, "timestamp");
    assert_eq!((time.format, time.layout), (FileFormat::Timestamp, FileLayout::Gathered));
    // The earlier of the two, in UTC.
    assert_eq!(
        time.taken_at.map(|time| time.to_rfc3339()).as_deref(),
        Some("2024-05-02T08:11:12.500+00:00")
    );
    assert_eq!(at(&outcome.files, "core/persistentvolumes.yaml").scope, FileScope::Cluster);
    assert_eq!(at(&outcome.files, "a.yaml").scope, FileScope::Cluster);
    let pods = at(&outcome.files, "core/pods.yaml");
    assert_eq!(
        (pods.layout, &pods.scope),
        (FileLayout::Gathered, &FileScope::Namespace("n".to_owned()))
    );
    assert_eq!(at(&outcome.files, "health.json").foreign, 1);
    assert_eq!(at(&outcome.files, "cut.json").layout, FileLayout::Loose);
}

#[test]
fn crust_gather_is_understood() {
    let folder = tempfile::tempdir().expect("because there is room");
    let root = folder.path();
    write(root, "cluster/v1/persistentvolume/a.json", &json("PersistentVolume", "a"));
    write(root, "namespaces/n/v1/pod/p.json", &json("Pod", "p"));
    write(root, "namespaces/n/v1/pod/p/c/current.log", "log");
    let outcome = read_path(root);
    assert_eq!(outcome.pieces, ["v1/PersistentVolume a", "v1/Pod p"]);
    assert_eq!(at(&outcome.files, "a.json").scope, FileScope::Cluster);
    assert_eq!(at(&outcome.files, "p.json").scope, FileScope::Namespace("n".to_owned()));
}

#[test]
fn a_cluster_info_dump_is_recognised() {
    let folder = tempfile::tempdir().expect("because there is room");
    let root = folder.path();
    let list = |kind: &str| {
        format!(r#"{{"kind":"{kind}List","apiVersion":"v1","metadata":{{}},"items":[]}}"#)
    };
    write(root, "nodes.json", &list("Node"));
    write(root, "n/pods.json", &list("Pod"));
    write(root, "n/replication-controllers.json", &list("ReplicationController"));
    write(root, "n/p/logs.txt", "==== START");
    let outcome = read_path(root);
    assert!(outcome.files.iter().all(|file| file.layout == FileLayout::ClusterInfoDump));
    assert_eq!(at(&outcome.files, "nodes.json").scope, FileScope::Cluster);
    assert_eq!(at(&outcome.files, "n/pods.json").scope, FileScope::Namespace("n".to_owned()));
    assert_eq!(outcome.lists().len(), 3);
}

#[test]
fn a_folder_of_lists_is_loose() {
    let folder = tempfile::tempdir().expect("because there is room");
    let root = folder.path();
    write(root, "b.json", JSON_LIST);
    write(root, "a.yml", YAML_LIST);
    write(root, "c.txt", "x");
    let outcome = read_path(root);
    assert_eq!(outcome.files.len(), 2);
    assert!(outcome.files[0].path.ends_with("a.yml"), "by name");
    assert!(
        outcome
            .files
            .iter()
            .all(|file| (file.layout, &file.scope) == (FileLayout::Loose, &FileScope::Unknown))
    );
    // What is named is read, whatever it is called.
    fs::rename(root.join("b.json"), root.join("b.txt")).expect("because it is ours");
    assert_eq!(read_path(&root.join("b.txt")).objects().len(), 2);
    // And what is named must be something.
    write(root, "d/e.txt", "x");
    let broken = read_path(&root.join("d"));
    assert!(broken.pieces[0].ends_with("contains no .json or .yaml file"), "{broken:?}");
}

#[cfg(unix)]
#[test]
fn links_to_files_are_followed_and_circles_are_not() {
    let folder = tempfile::tempdir().expect("because there is room");
    let root = folder.path();
    // A mounted ConfigMap.
    write(root, "..2024/a.json", &json("Pod", "a"));
    std::os::unix::fs::symlink("..2024", root.join("..data")).expect("because it is ours");
    std::os::unix::fs::symlink("..data/a.json", root.join("a.json")).expect("because it is ours");
    std::os::unix::fs::symlink(".", root.join("circle")).expect("because it is ours");
    std::os::unix::fs::symlink("gone.json", root.join("dangling.json"))
        .expect("because it is ours");
    let outcome = read_path(root);
    assert_eq!(outcome.objects(), ["v1/Pod a"]);
    assert_eq!(outcome.broken().len(), 1, "{outcome:?}");
}
