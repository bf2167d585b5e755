//! The same calls under another name, as krew may install the program: what people read follows it, what programs read
//! does not.

use std::{os::unix::fs::symlink, path::PathBuf};

use super::{Case, hold_all, printed};
use crate::support::{Call, binary, commands, read};

/// What the texts say.
const USUAL: &str = "kubectl storage";
/// Another name, which is as long: lines break at the same words.
const OTHER: (&str, &str) = ("kubectl-volumes", "kubectl volumes");
/// A name that is longer, and begins like the usual one.
const LONGER: (&str, &str) = ("kubectl-storage_doctor", "kubectl storage-doctor");
/// The variable that wins over the name of the file.
const VARIABLE: &str = "KUBECTL_STORAGE_NAME";
/// Formats that programs read.
const FOR_PROGRAMS: [&str; 10] = [
    "json",
    "yaml",
    "name",
    "jsonpath",
    "custom-columns",
    "csv",
    "junit",
    "markdown",
    "openmetrics",
    "sarif",
];

/// A link to the program, in a folder that has to be kept.
fn link(file: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let link = folder.path().join(file);
    symlink(binary(), &link).expect("a link can be made");
    (folder, link)
}

fn is_for_programs(case: &Case) -> bool {
    let formats = case.args.windows(2).filter(|it| it[0] == "-o").map(|it| &*it[1]);
    formats.into_iter().any(|it| FOR_PROGRAMS.iter().any(|format| it.starts_with(format)))
}

/// What is printed, the part for programs apart.
fn parts(printed: &str) -> (&str, &str) {
    let (before, stdout) = printed.split_once("--- stdout\n").unwrap_or((printed, ""));
    let (stdout, stderr) = stdout.split_once("--- stderr\n").unwrap_or((stdout, before));
    (stdout, stderr)
}

#[test]
fn every_case_prints_the_name_by_which_the_program_was_called() {
    let (_folder, link) = link(OTHER.0);
    hold_all(|folder| {
        let expected = read(&folder.join("expected.txt"));
        let Some((case, printed)) = printed(folder, Some(&link)) else { return };
        if case.env.contains_key(VARIABLE) {
            return assert_eq!(printed, expected, "the variable comes first");
        }
        let renamed = expected.replace(USUAL, OTHER.1);
        // One says both names, others have that of the file, or the variable for it.
        let first = case.args.first().map_or("", String::as_str);
        if first == "version" || first == "completion" || case.args.iter().any(|it| it == "print") {
            let told = printed.replace("which is kubectl storage", "");
            return assert!(!told.contains(USUAL), "{printed}");
        }
        if is_for_programs(&case) {
            let (stdout, stderr) = parts(&printed);
            assert_eq!(stdout, parts(&expected).0);
            assert_eq!(stderr, parts(&renamed).1);
        } else {
            assert_eq!(printed, renamed);
        }
    });
}

#[test]
#[ignore = "extended suite: every case once more"]
fn no_case_prints_half_of_a_longer_name() {
    let (_folder, link) = link(LONGER.0);
    hold_all(|folder| {
        let Some((case, printed)) = printed(folder, Some(&link)) else { return };
        let own =
            case.env.contains_key(VARIABLE) || case.args.first().is_some_and(|it| it == "version");
        if own || is_for_programs(&case) {
            return;
        }
        // Lines break between words, and a shell reads two lines of a command as one.
        let words = printed.replace(" \\\n", " ");
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        let half = words.replace(LONGER.1, "");
        assert!(!half.contains(USUAL) && !half.contains("-doctor"), "{printed}");
    });
}

#[test]
fn both_names_are_told_where_they_differ() {
    let (_folder, link) = link(LONGER.0);
    let run = |args: &[&str]| {
        let ran = Call { called: Some(link.clone()), ..Call::new(args.iter().copied()) }.run();
        assert_eq!((ran.code, &*ran.stderr), (Some(0), ""), "{args:?}");
        ran.stdout
    };
    let told = run(&["version"]);
    assert!(
        told.starts_with("kubectl storage-doctor v")
            && told.ends_with(", which is kubectl storage\n"),
        "{told}"
    );
    let json = Call::new(["version", "-o", "json"]).run().stdout;
    assert_eq!(run(&["version", "-o", "json"]), json);
}

#[test]
fn what_runs_in_a_cluster_is_told_the_name() {
    let (_folder, link) = link(LONGER.0);
    let print = |called: Option<PathBuf>| {
        Call { called, ..Call::new(["watch", "print", "--monitoring"]) }.run().stdout
    };
    let variable =
        "        - name: KUBECTL_STORAGE_NAME\n          value: kubectl storage-doctor\n";
    let printed = print(Some(link));
    assert!(printed.contains(variable), "{printed}");
    assert!(printed.contains("`kubectl storage-doctor gc --older-than 30d --dry-run` lists"));
    assert_eq!(printed.replace(variable, ""), print(None).replace(USUAL, LONGER.1));
}

#[test]
fn the_guard_offers_commands_under_the_name_by_which_it_was_printed() {
    let (_folder, link) = link(OTHER.0);
    let print =
        |called: Option<PathBuf>| Call { called, ..Call::new(["guard", "print"]) }.run().stdout;
    let usual = print(None);
    assert!(usual.contains("Use: kubectl storage delete pvc"), "{usual}");
    let other = print(Some(link));
    let recorded = r#","program":"kubectl volumes""#;
    assert!(other.contains(recorded), "{other}");
    assert_eq!(other.replace(recorded, ""), usual.replace(USUAL, OTHER.1));
}

/// Help of every command, and its examples.
#[test]
fn no_help_has_the_usual_name() {
    let (_folder, link) = link(OTHER.0);
    for words in commands() {
        let args = words.iter().cloned().chain(["--help".to_owned()]);
        let ran = Call { called: Some(link.clone()), ..Call::new(args.clone()) }.run();
        let usual = Call::new(args).run().stdout;
        assert_eq!(ran.stdout, usual.replace(USUAL, OTHER.1), "{words:?}");
    }
}
