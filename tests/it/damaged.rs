//! Readers of what others write, given input that was damaged byte by byte: none panics, and none takes long.
//!
//! The sound input is in `tests/damaged`; readers that only the crate itself can call are held by its unit tests. By default
//! each reader gets a hundred damaged ones, others each time; `INPUTS` says how many. What fails is told as the edits
//! that it takes, and as the bytes that come of them.

use std::{fs, io::Write as _, path::PathBuf};

use flate2::{Compression, write::GzEncoder};
use kubectl_storage::{
    dump::Input,
    model::Kind,
    output::writing::{self, Plan},
    sources::{
        documents::{DumpOptions, read},
        intake::Intake,
    },
    watch::policy::WatchPolicy,
};

use crate::{damage::hold, support::root};

/// Sound input of a kind, in the order of its names.
fn sound(kind: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = root().join("tests/damaged").join(kind);
    let mut found = Vec::new();
    let mut folders = vec![folder];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("because the folder was just read").path();
            match path.is_dir() {
                true => folders.push(path),
                false => found.push((path.clone(), fs::read(path).expect("it can be read"))),
            }
        }
    }
    found.sort();
    found
}

/// The same, without the names.
fn sound_bytes(kind: &str) -> Vec<Vec<u8>> {
    sound(kind).into_iter().map(|(_, bytes)| bytes).collect()
}

/// Reads a dump as `audit -f -` does.
fn read_dump(bytes: &[u8]) {
    let kinds = Kind::ALL.to_vec();
    let options = DumpOptions { kinds, ..DumpOptions::default() };
    let mut intake = Intake::new(None);
    // It may be refused.
    let _ = read(&[Input::Stdin], &mut &bytes[..], &options, &mut intake);
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(bytes).expect("because memory takes all bytes");
    gzip.finish().expect("because memory takes all bytes")
}

/// The must-gather, as one archive.
fn must_gather() -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (path, bytes) in sound("dumps")
        .iter()
        .filter(|(path, _)| path.components().any(|it| it.as_os_str() == "must-gather"))
    {
        let name: PathBuf =
            path.components().skip_while(|it| it.as_os_str() != "must-gather").collect();
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, name, &bytes[..]).expect("because memory takes all bytes");
    }
    archive.into_inner().expect("because memory takes all bytes")
}

#[test]
fn dumps_in_json_and_yaml() {
    hold("dumps in JSON and YAML", &sound_bytes("dumps"), read_dump);
}

#[test]
fn archives_of_dumps() {
    let mut archives = sound_bytes("dumps");
    archives.push(must_gather());
    let sound: Vec<_> = archives.iter().map(|it| gzip(it)).chain([must_gather()]).collect();
    hold("archives", &sound, read_dump);
}

/// What is in an archive is damaged, and not its sums.
#[test]
fn contents_of_archives() {
    let mut sound = sound_bytes("dumps");
    sound.push(must_gather());
    hold("contents of archives", &sound, |bytes| read_dump(&gzip(bytes)));
}

/// The full example of the documentation.
fn policy() -> Vec<u8> {
    let page = include_str!("../../docs/watch.md");
    let example = page.split("Full example:").nth(1).and_then(|it| it.split("```").nth(1));
    let example = example.and_then(|it| it.strip_prefix("yaml\n")).expect("the page has one");
    assert!(WatchPolicy::parse(&"policy", example).is_ok());
    example.as_bytes().to_vec()
}

#[test]
fn policies() {
    hold("policies", &[policy()], |bytes| {
        let text = String::from_utf8_lossy(bytes);
        match WatchPolicy::parse(&"policy", &text) {
            Ok(policy) => {
                let _ = policy.settings();
            }
            Err(error) => assert!(!error.lines().is_empty()),
        }
    });
}

#[test]
fn saved_plans() {
    hold("saved plans", &sound_bytes("plans"), |bytes| {
        let text = String::from_utf8_lossy(bytes);
        let whole = writing::read(&text);
        // Whoever edits a plan can write its digest anew.
        let Ok(plan) = serde_yaml::from_str::<Plan>(&text) else { return assert!(whole.is_err()) };
        let _ = (plan.made(), plan.metadata.settings.settings());
    });
}
