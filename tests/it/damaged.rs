//! Readers of what others write, given input that was damaged byte by byte: none panics, and none takes long.
//!
//! The sound input is in `tests/damaged`. By default each reader gets a hundred damaged ones, others each time; `INPUTS`
//! says how many. What fails is told as the edits that it takes, and as the
//! bytes that come of them.

use std::{
    cell::Cell,
    env, fs,
    io::Write as _,
    path::PathBuf,
    time::{Duration, Instant},
};

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
use proptest::{
    collection::vec,
    prelude::*,
    sample::{Index, select},
    test_runner::{Config, TestError, TestRunner},
};

use crate::support::root;

/// How many damaged inputs each reader gets.
const INPUTS: u32 = 100;
/// The longest that is made of one input.
const LONGEST: usize = 64 << 10;
/// No reader of so little takes so long, however slow the machine is.
const PATIENCE: Duration = Duration::from_secs(60);

/// What means something in one of the formats.
const TOKENS: [&[u8]; 36] = [
    b"{",
    b"}",
    b"[",
    b"]",
    b"\"",
    b"'",
    b"\\",
    b",",
    b":",
    b"\n",
    b"\n---\n",
    b"\n- ",
    b"\n  ",
    b"&a ",
    b"*a",
    b"!!binary ",
    b"|\n",
    b"? ",
    b"<<: ",
    b"null",
    b"-1",
    b"1e400",
    b"18446744073709551616",
    b"9999-12-31T23:59:59Z",
    b"\"items\":[",
    b"\"kind\":\"List\"",
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\xe2\x80\xae",
    b"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01",
    b"\x1f\x8b\x08",
    b"ustar",
    b"..",
    b"[*]",
    b"[?(@",
];

/// One damage. Places and lengths are parts of what there is.
#[derive(Debug, Clone)]
enum Edit {
    Flip {
        at: Index,
        bit: u8,
    },
    Put {
        at: Index,
        token: &'static [u8],
    },
    Cut {
        at: Index,
        length: u16,
    },
    /// Puts a part once more behind itself, so often.
    Repeat {
        at: Index,
        length: u8,
        times: u16,
    },
    /// Puts a part of another input there.
    Splice {
        at: Index,
        of: Index,
        from: Index,
        length: u16,
    },
    End {
        at: Index,
    },
}

fn edit() -> impl Strategy<Value = Edit> {
    let at = any::<Index>;
    prop_oneof![
        (at(), 0..8_u8).prop_map(|(at, bit)| Edit::Flip { at, bit }),
        (at(), select(&TOKENS[..])).prop_map(|(at, token)| Edit::Put { at, token }),
        (at(), 1..200_u16).prop_map(|(at, length)| Edit::Cut { at, length }),
        (at(), 1..64_u8, 1..500_u16).prop_map(|(at, length, times)| Edit::Repeat {
            at,
            length,
            times
        }),
        (at(), at(), at(), 1..500_u16).prop_map(|(at, of, from, length)| Edit::Splice {
            at,
            of,
            from,
            length
        }),
        at().prop_map(|at| Edit::End { at }),
    ]
}

fn part(bytes: &[u8], at: usize, length: usize) -> &[u8] {
    &bytes[at..bytes.len().min(at + length)]
}

/// Makes an edit.
fn damage(bytes: &mut Vec<u8>, edit: &Edit, sound: &[Vec<u8>]) {
    let place = |at: &Index| at.index(bytes.len().max(1)).min(bytes.len());
    let put = match edit {
        Edit::Flip { at, bit } => {
            let at = place(at);
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << bit;
            }
            return;
        }
        Edit::Cut { at, length } => {
            let at = place(at);
            let end = bytes.len().min(at + usize::from(*length));
            bytes.drain(at..end);
            return;
        }
        Edit::End { at } => {
            let at = place(at);
            return bytes.truncate(at);
        }
        Edit::Put { at, token } => (place(at), token.to_vec()),
        Edit::Repeat { at, length, times } => {
            let at = place(at);
            (at, part(bytes, at, usize::from(*length)).repeat(usize::from(*times)))
        }
        Edit::Splice { at, of, from, length } => {
            let of = &sound[of.index(sound.len())];
            (place(at), part(of, from.index(of.len().max(1)), usize::from(*length)).to_vec())
        }
    };
    let (at, put) = put;
    bytes.splice(at..at, put);
    bytes.truncate(LONGEST);
}

/// Gives damaged inputs to a reader.
fn hold(name: &str, sound: &[Vec<u8>], read: impl Fn(&[u8])) {
    assert!(!sound.is_empty());
    // What is sound is read too.
    for it in sound {
        read(it);
    }
    let inputs =
        env::var("INPUTS").ok().map_or(INPUTS, |it| it.parse().expect("INPUTS is a number"));
    let config = Config { cases: inputs, failure_persistence: None, ..Config::default() };
    let slowest = Cell::new(Duration::ZERO);
    let begun = Instant::now();
    let damaged = |which: &Index, edits: &[Edit]| {
        let mut bytes = sound[which.index(sound.len())].clone();
        for it in edits {
            damage(&mut bytes, it, sound);
        }
        bytes
    };
    let strategy = (any::<Index>(), vec(edit(), 1..8));
    let held = TestRunner::new(config).run(&strategy, |(which, edits)| {
        let bytes = damaged(&which, &edits);
        let begun = Instant::now();
        read(&bytes);
        slowest.set(slowest.get().max(begun.elapsed()));
        prop_assert!(
            begun.elapsed() < PATIENCE,
            "{:?} for {}",
            begun.elapsed(),
            bytes.escape_ascii()
        );
        Ok(())
    });
    match held {
        Ok(()) => {}
        Err(TestError::Fail(reason, (which, edits))) => {
            panic!("{name}: {reason}\n{edits:?}\n{}", damaged(&which, &edits).escape_ascii());
        }
        Err(TestError::Abort(reason)) => panic!("{name}: {reason}"),
    }
    // Shown with --nocapture.
    let told = format!(
        "{name}: {inputs} inputs in {:?}, the slowest in {:?}, at most {} resident\n",
        begun.elapsed(),
        slowest.get(),
        resident()
    );
    std::io::stderr().write_all(told.as_bytes()).expect("stderr is open");
}

/// The most memory that the process had so far, where Linux tells it.
fn resident() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|it| it.strip_prefix("VmHWM:"));
    line.map_or_else(|| "an unknown amount".to_owned(), |it| it.trim().to_owned())
}

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
