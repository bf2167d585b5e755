//! gzip and tar, alone and in each other.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::{JSON_LIST, YAML_LIST, json, read};

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
