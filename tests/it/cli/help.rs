//! Help of every command that the program declares, however deep it stands.

use std::{collections::BTreeMap, path::PathBuf};

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
