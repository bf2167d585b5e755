//! The program as a user meets it: what is typed, what is printed, and the exit code.
//!
//! Each folder of `tests/cli` is one call: `cmd.yaml` says what is typed and what is there,
//! `expected.txt` what comes of it. `UPDATE=1 cargo test --test it cli` writes the latter anew.

mod help;
mod renamed;
mod streams;

use std::{
    collections::BTreeMap,
    fs::{self, File, Permissions},
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
};

use serde::Deserialize;

use crate::{
    fixture,
    support::{Call, Ran, expect_file, root},
    terminal::Terminal,
};

/// What is typed, and what is there.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    /// What follows the name. `{rules}` is the folder of the rules' fixtures.
    args: Vec<String>,
    #[serde(default)]
    stdin: String,
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// Files in the folder where it runs; a name that ends in a slash is an empty folder.
    #[serde(default)]
    files: BTreeMap<String, String>,
    /// Case whose `files` are here too.
    #[serde(default)]
    like: Option<String>,
    /// More of them, as hexadecimal digits.
    #[serde(default)]
    binary: BTreeMap<String, String>,
    /// The width of the terminal at which it runs; without, it runs at pipes.
    #[serde(default)]
    columns: Option<u16>,
    /// Those that nobody may read. Root may read anything: to it such a case means nothing.
    #[serde(default)]
    closed: Vec<String>,
}

impl Case {
    fn of(folder: &Path) -> Self {
        let file = folder.join("cmd.yaml");
        serde_yaml::from_str(&crate::support::read(&file))
            .unwrap_or_else(|error| panic!("{}: {error}", file.display()))
    }
}

#[test]
fn every_case_ends_as_expected() {
    hold_all(|folder| {
        if let Some((_, printed)) = printed(folder, None) {
            expect_file(&folder.join("expected.txt"), &printed);
        }
    });
}

/// Holds every case, and tells of all that do not hold.
fn hold_all(judge: impl Fn(&Path) + std::panic::RefUnwindSafe) {
    let folder = root().join("tests/cli");
    let mut cases: Vec<_> = fs::read_dir(&folder)
        .expect("tests/cli")
        .map(|entry| entry.expect("because the folder was just read").path())
        .collect();
    cases.sort();
    assert!(cases.len() > 50, "only {} cases", cases.len());
    let mut wrong = Vec::new();
    for case in cases {
        let held = std::panic::catch_unwind(|| judge(&case));
        if let Err(reason) = held {
            let reason = reason.downcast::<String>().map_or_else(|_| String::new(), |text| *text);
            wrong.push(format!("{}: {reason}", case.display()));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n\n"));
}

/// What a case prints, called by a path; `None` where it means nothing.
fn printed(folder: &Path, called: Option<&Path>) -> Option<(Case, String)> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut case = Case::of(folder);
    if let Some(other) = &case.like {
        case.files.extend(Case::of(&folder.with_file_name(other)).files);
    }
    let place = tempfile::tempdir().expect("a temporary folder");
    for (file, text) in &case.files {
        let path = place.path().join(file);
        if file.ends_with('/') {
            fs::create_dir_all(&path).expect("a folder can be made");
        } else {
            let folder = path.parent().expect("because it is in the place");
            fs::create_dir_all(folder).expect("a folder can be made");
            fs::write(&path, text).expect("a file can be written");
        }
    }
    for (file, digits) in &case.binary {
        let digits: String = digits.split_whitespace().collect();
        let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).expect("two digits");
        let bytes: Vec<_> = (0..digits.len()).step_by(2).map(byte).collect();
        fs::write(place.path().join(file), bytes).expect("a file can be written");
    }
    for file in &case.closed {
        let path = place.path().join(file);
        fs::set_permissions(&path, Permissions::from_mode(0o000)).expect("it can be closed");
        if File::open(path).is_ok() {
            return None;
        }
    }
    // By a path that is as long on every machine: lines are broken where it ends.
    let rules = fixture::folder().to_string_lossy().into_owned();
    symlink(&rules, place.path().join("rules")).expect("a link can be made");
    let call = Call {
        args: case.args.iter().map(|arg| arg.replace("{rules}", "rules")).collect(),
        stdin: case.stdin.clone().into_bytes(),
        env: case.env.clone(),
        folder: Some(place.path().to_owned()),
        called: called.map(Path::to_owned),
    };
    let ran = match case.columns {
        None => call.run(),
        Some(columns) => at_terminal(&call, columns),
    };
    ran.is_decent(&name);
    let redact = |text: &str| {
        let folder = place.path().to_string_lossy();
        let text = text.replace(&*folder, "{folder}").replace(&rules, "{rules}");
        let platform = format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH);
        let text = text.replace(env!("CARGO_PKG_VERSION"), "{version}");
        without_digests(&text.replace(&platform, "{platform}"))
    };
    let code = ran.code.expect("because it is decent");
    let mut expected = format!("exit: {code}\n");
    for (what, text) in [("stdout", &ran.stdout), ("stderr", &ran.stderr)] {
        if !text.is_empty() {
            expected.extend(["--- ", what, "\n", &redact(text)]);
        }
    }
    Some((case, expected))
}

/// Runs a call at a terminal, where stdout and stderr are one screen. Escape sequences are shown.
fn at_terminal(call: &Call, columns: u16) -> Ran {
    let mut command = call.command();
    command.env("TERM", call.env.get("TERM").map_or("xterm", |term| term));
    let (screen, code) = Terminal::sized(command, columns).finish();
    let stdout = screen.replace('\u{1b}', "␛");
    for line in stdout.lines().filter(|line| !line.contains('␛')) {
        let width = line.chars().count();
        assert!(width <= usize::from(columns), "wider than {columns} columns: {line}");
    }
    Ran { stdout, stderr: String::new(), code }
}

/// Those of plans are over the version of the program too.
fn without_digests(text: &str) -> String {
    const LENGTH: usize = 64;
    let mut parts = text.split("sha256:");
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_hexdigit).count();
        let rest = if digits == LENGTH { &part[LENGTH..] } else { part };
        whole.extend(["sha256:", if digits == LENGTH { "{digest}" } else { "" }, rest]);
    }
    whole
}

#[test]
fn the_same_dump_gives_the_same_report() {
    for file in ["pv-released-delete-stuck", "pv-released-past-threshold"] {
        let path = fixture::folder().join(file).join("found-verdicts.yaml");
        let path = path.to_string_lossy().into_owned();
        let first = Call::new(["audit", "-o", "json", "-f", &path]).run().stdout;
        for _ in 0..5 {
            assert_eq!(Call::new(["audit", "-o", "json", "-f", &path]).run().stdout, first);
        }
    }
}
