//! Completion: the scripts that are shipped, and what kubectl gets to hear.

use clap_complete::aot::Shell;
use kubectl_storage::{
    cli::completion_script,
    model::{Severity, Threshold},
    rules::REGISTRY,
};

use crate::support::{Call, binary, commands, expect_file, root};

#[test]
fn the_shipped_scripts_are_those_of_the_command_line() {
    for (shell, file) in [
        (Shell::Bash, "kubectl-storage.bash"),
        (Shell::Zsh, "_kubectl-storage"),
        (Shell::Fish, "kubectl-storage.fish"),
        (Shell::PowerShell, "_kubectl-storage.ps1"),
    ] {
        let script = String::from_utf8(completion_script(shell)).expect("scripts are text");
        expect_file(&root().join("completions").join(file), &script);
    }
}

#[test]
fn the_program_prints_the_same_scripts() {
    for (shell, file) in [("bash", "kubectl-storage.bash"), ("powershell", "_kubectl-storage.ps1")]
    {
        let ran = Call::new(["completion", shell]).run();
        assert_eq!(ran.code, Some(0));
        let shipped = crate::support::read(&root().join("completions").join(file));
        assert!(ran.stdout == shipped, "`completion {shell}` prints another script than {file}");
    }
}

/// What kubectl is told when these words were typed after `kubectl storage`.
fn complete(words: &[&str]) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let link = folder.path().join("kubectl_complete-storage");
    std::os::unix::fs::symlink(binary(), &link).expect("a link");
    let mut call = Call::new(words.iter().copied());
    call.called = Some(link);
    let ran = call.run();
    ran.is_decent(&format!("completing {words:?}"));
    assert_eq!(ran.code, Some(0), "{words:?}: {}", ran.stderr);
    assert_eq!(ran.stderr, "", "kubectl would show it in the middle of the prompt");
    let mut lines: Vec<_> = ran.stdout.lines().map(str::to_owned).collect();
    assert_eq!(lines.pop().as_deref(), Some(":4"), "{words:?}: the directive comes last");
    lines
}

/// The words themselves, without what they mean.
fn values(words: &[&str]) -> Vec<String> {
    let value = |line: String| line.split('\t').next().unwrap_or_default().to_owned();
    complete(words).into_iter().map(value).collect()
}

#[test]
fn kubectl_is_told_commands_and_what_they_do() {
    for words in commands() {
        let Some((command, before)) = words.split_last() else { continue };
        let typed: Vec<_> = before.iter().map(String::as_str).chain([""]).collect();
        let lines = complete(&typed);
        let line = lines.iter().find(|line| line.starts_with(&format!("{command}\t")));
        assert!(line.is_some(), "{words:?} is missing or says nothing: {lines:?}");
    }
    assert_eq!(values(&["ver"]), ["version"]);
}

#[test]
fn kubectl_is_told_flags() {
    let flags = values(&["audit", "--"]);
    for flag in ["--filename", "--older-than", "--threshold", "--context", "--fail-on"] {
        assert!(flags.iter().any(|it| it == flag), "{flag} is missing: {flags:?}");
    }
    assert_eq!(values(&["audit", "--older"]), ["--older-than"]);
}

#[test]
fn kubectl_is_told_values() {
    let ids: Vec<_> = REGISTRY.iter().map(|rule| rule.id.to_owned()).collect();
    let kinds = ["pv", "pvc", "sts", "pod", "va", "vs", "vsc", "sc", "vac", "driver", "ns"];
    let explained = values(&["explain", ""]);
    let explained = explained.iter().filter(|it| !it.starts_with('-')).cloned();
    let kinds = kinds.iter().map(|it| (*it).to_owned());
    assert_eq!(explained.collect::<Vec<_>>(), ids.iter().cloned().chain(kinds).collect::<Vec<_>>());
    for words in [&["audit", "--rule", ""][..], &["audit", "--ignore", ""]] {
        let found = values(words);
        let known: Vec<_> = found.iter().filter(|it| !it.starts_with('-')).cloned().collect();
        assert_eq!(known, ids, "{words:?}");
    }
    let expected: Vec<_> = Threshold::ALL.map(|it| format!("{}=", it.name())).into();
    assert_eq!(values(&["audit", "--threshold", ""]), expected);
    let expected: Vec<_> = Severity::ALL.map(|it| it.name().to_owned()).into();
    assert_eq!(values(&["audit", "--fail-on", ""]), expected);
    assert_eq!(values(&["completion", "p"]), ["powershell"]);
}

#[test]
fn nonsense_completes_to_nothing() {
    assert_eq!(values(&["zzz"]), [""; 0]);
    assert_eq!(values(&["audit", "--rule", "zzz"]), [""; 0]);
}
