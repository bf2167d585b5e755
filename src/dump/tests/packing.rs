//! gzip and tar, alone and in each other; folders, and what their layout tells.

use std::fs;
use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::super::{FileFormat, FileLayout, FileScope, FileSummary};
use super::{JSON_LIST, YAML_LIST, json, read, read_path};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(bytes).expect("because memory takes all bytes");
    gzip.finish().expect("because memory takes all bytes")
}

fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (path, bytes) in files {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        let path = if path.len() > 100 {
            // As GNU tar and Go write long names.
            let mut long = tar::Header::new_gnu();
            long.set_entry_type(tar::EntryType::GNULongName);
            long.set_size(path.len() as u64 + 1);
            long.set_cksum();
            let name = [path.as_bytes(), b"\0"].concat();
            tar.append(&long, &name[..]).expect("because memory takes all bytes");
            &path[..50]
        } else {
            path
        };
        tar.append_data(&mut header, path, *bytes).expect("because memory takes all bytes");
    }
    tar.into_inner().expect("because memory takes all bytes")
}

#[test]
fn wrappings_change_nothing() {
    let plain = read(JSON_LIST).pieces;
    let member = tar(&[("d/list.json", JSON_LIST.as_bytes())]);
    let packed = tar(&[("d/list.json.gz", &gzip(JSON_LIST.as_bytes()))]);
    let halves = [gzip(&JSON_LIST.as_bytes()[..99]), gzip(&JSON_LIST.as_bytes()[99..])].concat();
    for bytes in [
        gzip(JSON_LIST.as_bytes()),
        halves,
        member.clone(),
        gzip(&member),
        packed.clone(),
        gzip(&packed),
    ] {
        let outcome = read(bytes);
        assert_eq!(outcome.pieces, plain);
        assert!(outcome.files[0].intact && outcome.files[0].lists[0].complete);
    }
}

#[test]
fn an_archive_is_read_like_a_folder() {
    let long = format!("must-gather/{}/namespaces/n/core/pods.yaml", "x".repeat(120));
    let archive = gzip(&tar(&[
        ("./a/pods.json", json("Pod", "a").as_bytes()),
        ("a/pod.log", b"{ nonsense"),
        ("a/insights.tar.gz", &gzip(&tar(&[("old.json", JSON_LIST.as_bytes())]))),
        ("a/metrics.json", br#"[{"metric":"x"},{"items":[{"a":1}]}]"#),
        ("a/broken.yaml", b"a: [\n"),
        ("a/._pods.json", b"\0\0"),
        (&long, YAML_LIST.as_bytes()),
    ]));
    let outcome = read(&archive);
    assert_eq!(outcome.objects(), ["v1/Pod a", "v1/PersistentVolume a", "v1/PersistentVolume b"]);
    let [broken] = outcome.broken()[..] else { panic!("{outcome:?}") };
    assert!(broken.starts_with("! stdin!a/broken.yaml:2 is not valid YAML"), "{broken}");
    let names: Vec<_> = outcome.files.iter().map(|file| &*file.path).collect();
    let long = format!("stdin!{long}");
    assert_eq!(names, ["stdin!a/pods.json", "stdin!a/metrics.json", "stdin!a/broken.yaml", &long]);
    assert_eq!(outcome.files[1].foreign, 2);

    let nested = read(tar(&[("a.json", &member_in_member())]));
    assert_eq!(nested.pieces, ["! stdin!a.json is packed more than once over"]);
    let nothing = read(tar(&[("a.log", b"x")]));
    assert_eq!(nothing.pieces, ["! stdin contains no .json or .yaml file"]);
}

fn member_in_member() -> Vec<u8> {
    gzip(&tar(&[("b.json", JSON_LIST.as_bytes())]))
}

#[test]
fn names_in_archives_cannot_drive_a_terminal() {
    let mut header = tar::Header::new_old();
    header.as_old_mut().name[..20].copy_from_slice(b"\x1b[2J/../../../x.json");
    header.set_size(1);
    header.set_cksum();
    let mut tar = tar::Builder::new(Vec::new());
    tar.append(&header, &b"{"[..]).expect("because memory takes all bytes");
    let outcome = read(tar.into_inner().expect("because memory takes all bytes"));
    assert_eq!(outcome.files.len(), 1);
    assert!(!outcome.pieces[0].contains('\u{1b}'), "{outcome:?}");
}

#[test]
fn a_cut_archive_is_noticed_wherever_it_is_cut() {
    let item = json("Pod", "a");
    let list = format!(r#"{{"kind":"PodList","apiVersion":"v1","items":[{item}]}}"#);
    let yaml = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: b\n";
    let plain = tar(&[("a.json", list.as_bytes()), ("b.yaml", yaml.as_bytes())]);
    for whole in [plain.clone(), gzip(&plain)] {
        assert_eq!(read(&whole).pieces, ["v1/Pod a", "v1/Pod b"]);
        // The first of the two empty blocks ends the archive already.
        let needed = if whole == plain { 2048 + 512 } else { whole.len() };
        for cut in 0..needed {
            let part = read(&whole[..cut]);
            assert!(!part.broken().is_empty(), "{cut}: {part:?}");
            assert!(part.lists().iter().all(|list| list.ends_with("partial")), "{cut}: {part:?}");
        }
    }
}

#[test]
fn a_wrong_checksum_is_noticed() {
    let mut bytes = gzip(JSON_LIST.as_bytes());
    let at = bytes.len() - 8;
    bytes[at] ^= 1;
    let outcome = read(&bytes);
    assert_eq!((outcome.objects().len(), outcome.broken().len()), (2, 1), "{outcome:?}");
    assert_eq!(outcome.lists(), ["List 2 partial"]);
}

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
