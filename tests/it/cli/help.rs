//! Help of every command that the program declares, however deep it stands.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use crate::support::{Call, Ran, binary, commands};

fn help(words: &[String], flag: &str, called: Option<PathBuf>, columns: &str) -> Ran {
    let env = BTreeMap::from([("COLUMNS".to_owned(), columns.to_owned())]);
    let args = words.iter().cloned().chain([flag.to_owned()]);
    let ran = Call { env, called, ..Call::new(args) }.run();
    ran.is_decent(&format!("{words:?}"));
    assert_eq!((ran.code, &*ran.stderr), (Some(0), ""), "{words:?}: help is no error");
    ran
}

#[test]
fn help_fits_the_screen() {
    let mut wrong = Vec::new();
    for words in commands() {
        for (flag, columns, width) in
            [("--help", "80", 80), ("-h", "80", 80), ("--help", "400", 100)]
        {
            let ran = help(&words, flag, None, columns);
            let long = ran.stdout.lines().filter(|line| line.chars().count() > width);
            wrong.extend(long.map(|line| format!("{words:?} {flag} in {columns} columns: {line}")));
        }
    }
    assert!(wrong.is_empty(), "too wide:\n{}", wrong.join("\n"));
}

/// Lines of a help on a narrow screen: two for each flag, of which `gc` has most.
const LINES: usize = 115;

#[test]
fn help_is_read_in_one_sitting() {
    let mut long = Vec::new();
    for words in commands() {
        let count = help(&words, "--help", None, "80").stdout.lines().count();
        if count > LINES {
            long.push(format!("{words:?}: {count} lines"));
        }
    }
    assert!(long.is_empty(), "longer than {LINES} lines:\n{}", long.join("\n"));
}

/// Flags with which the user answers for what the tool cannot see, whichever commands have them.
const ASSERTIONS: [&str; 20] = [
    "accept-leak",
    "all-clusters",
    "backend-exclusive",
    "backend-verified",
    "complete",
    "destroy-data",
    "destroy-snapshots",
    "distinct",
    "driver-absent",
    "include-recreated",
    "include-unknown-age",
    "include-vetoed",
    "include-wanted",
    "no-other-users",
    "no-secret",
    "owner-kind-gone",
    "provisioner-alive",
    "remove-finalizer",
    "replicas-zero",
    "rolled-back",
];

#[test]
fn assertions_stand_under_a_heading_of_their_own() {
    fn check(command: &clap::Command, seen: &mut BTreeSet<String>) {
        for arg in command.get_arguments() {
            let Some(long) = arg.get_long() else { continue };
            let heading = arg.get_help_heading().unwrap_or_default();
            if ASSERTIONS.contains(&long) {
                assert!(heading.starts_with("Assertions"), "{} --{long}", command.get_name());
                let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
                assert!(help.starts_with("Assert that "), "{} --{long}", command.get_name());
                seen.insert(long.to_owned());
            }
        }
        for command in command.get_subcommands() {
            check(command, seen);
        }
    }
    let mut seen = BTreeSet::new();
    check(&kubectl_storage::cli::command("kubectl-storage"), &mut seen);
    assert_eq!(seen.len(), ASSERTIONS.len(), "{seen:?}");
}

#[test]
fn help_names_the_program_as_it_was_called() {
    for (alias, name) in [
        ("kubectl-storage", "kubectl storage"),
        ("kubectl-volume_doctor", "kubectl volume-doctor"),
        ("storage-tool", "kubectl storage"),
    ] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let link = folder.path().join(alias);
        std::os::unix::fs::symlink(binary(), &link).expect("a link");
        for words in commands() {
            let ran = help(&words, "--help", Some(link.clone()), "100");
            let usage = ran.stdout.lines().find(|line| line.starts_with("Usage: "));
            let usage = usage.unwrap_or_else(|| panic!("{words:?}: no usage"));
            let expected = format!("Usage: {name} {}", words.join(" "));
            assert!(usage.starts_with(expected.trim_end()), "{alias}: {usage}");
            // What was typed wrong is told under the same name.
            let wrong = words.iter().cloned().chain(["--nonsense".to_owned()]);
            let ran = Call { called: Some(link.clone()), ..Call::new(wrong) }.run();
            assert_eq!(ran.code, Some(2), "{words:?} --nonsense: {}", ran.stderr);
            assert!(ran.stderr.contains(&expected), "{alias}: {}", ran.stderr);
        }
    }
}
