//! Completion: the scripts that are shipped and what they get to hear, and what kubectl gets to hear.

use std::{collections::BTreeMap, path::Path, process::Command};

use kubectl_storage::{
    cli::completion_script,
    model::{Severity, Threshold},
    rules,
};

use crate::support::{Call, binary, commands, expect_file, root};

/// The shells, and the names under which their scripts are shipped.
const SCRIPTS: [(&str, &str); 4] = [
    ("bash", "kubectl-storage.bash"),
    ("zsh", "_kubectl-storage"),
    ("fish", "kubectl-storage.fish"),
    ("powershell", "_kubectl-storage.ps1"),
];

#[test]
fn the_shipped_scripts_ask_the_program() {
    for (shell, file) in SCRIPTS {
        let script = String::from_utf8(completion_script(shell, "kubectl-storage"))
            .expect("scripts are text");
        assert!(script.contains("KUBECTL_STORAGE_COMPLETE"), "{script}");
        expect_file(&root().join("completions").join(file), &script);
    }
}

#[test]
fn the_program_prints_the_same_scripts() {
    for (shell, file) in SCRIPTS {
        let ran = Call::new(["completion", shell]).run();
        assert_eq!(ran.code, Some(0));
        let shipped = crate::support::read(&root().join("completions").join(file));
        assert!(ran.stdout == shipped, "`completion {shell}` prints another script than {file}");
    }
}

/// What the script of bash proposes for these words, of which the last is being typed.
fn in_bash(words: &[&str]) -> Vec<String> {
    in_bash_as(&binary(), &root().join("completions/kubectl-storage.bash"), words)
}

/// What a script of bash for a program of this name proposes.
fn in_bash_as(program: &Path, script: &Path, words: &[&str]) -> Vec<String> {
    let folder = program.parent().expect("it is in a folder");
    let program = program.file_name().and_then(|it| it.to_str()).expect("a name in ASCII");
    let last = words.last().copied().unwrap_or_default();
    let complete = format!(
        r#"source {}; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_TYPE=9
        _clap_complete_{} {program} "${{@: -1}}" "${{@: -2:1}}"
        printf '%s\n' "${{COMPREPLY[@]}}""#,
        script.display(),
        program.replace('-', "_"),
    );
    let ran = Command::new("bash")
        .args(["--norc", "--noprofile", "-c", &complete, "bash", program])
        .args(words)
        .env_clear()
        .env("PATH", format!("{}:/usr/bin:/bin", folder.display()))
        .current_dir(root().join("completions"))
        .output()
        .expect("bash runs");
    assert!(ran.stderr.is_empty(), "{last}: {}", String::from_utf8_lossy(&ran.stderr));
    let text = String::from_utf8(ran.stdout).expect("it prints UTF-8");
    text.lines().filter(|it| !it.is_empty()).map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_flags_values_and_files() {
    assert_eq!(in_bash(&["ver"]), ["version"]);
    assert_eq!(in_bash(&["audit", "--older"]), ["--older-than"]);
    assert_eq!(in_bash(&["guard", "install", "--vol"]), ["--volumes"]);
    assert_eq!(in_bash(&["audit", "--fail-on", "hi"]), ["high"]);
    assert_eq!(in_bash(&["completion", "p"]), ["powershell"]);
    assert_eq!(in_bash(&["rbac", "watch-p"]), ["watch-pause"]);
    assert_eq!(in_bash(&["explain", "pv-leak-i"]), ["pv-leak-imminent"]);
    for words in [
        &["audit", "-f"][..],
        &["apply"],
        &["apply", "-f"],
        &["dump"],
        &["gc", "--plan-out"],
        &["watch", "-f"],
    ] {
        let words = [words, &["kubectl-storage.b"]].concat();
        assert_eq!(in_bash(&words), ["kubectl-storage.bash"], "{words:?}");
    }
    assert_eq!(
        in_bash(&["audit", "-o", "js"]),
        ["json", "json=", "jsonpath=", "jsonpath-as-json=", "jsonpath-file="]
    );
    assert_eq!(in_bash(&["journal", "-o", "y"]), ["yaml"]);
    assert_eq!(in_bash(&["explain", "driver/ebs.csi.a"]), ["driver/ebs.csi.aws.com"]);
    assert_eq!(in_bash(&["help", "vers"]), ["version"]);
    assert_eq!(in_bash(&["-n", "shop", "aud"]), ["audit"]);
    assert_eq!(in_bash(&["zzz"]), [""; 0]);
}

#[test]
fn another_name_is_completed_in_bash_and_in_kubectl() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let link = folder.path().join("kubectl-volume_doctor");
    std::os::unix::fs::symlink(binary(), &link).expect("a link");
    let printed = |what| {
        let ran = Call { called: Some(link.clone()), ..Call::new(["completion", what]) }.run();
        assert_eq!((ran.code, &*ran.stderr), (Some(0), ""), "{what}");
        ran.stdout
    };
    let script = folder.path().join("script");
    std::fs::write(&script, printed("bash")).expect("it is writable");
    assert_eq!(in_bash_as(&link, &script, &["ver"]), ["version"]);
    for (shell, _) in SCRIPTS {
        let script = printed(shell);
        assert!(
            script.contains("volume_doctor") && !script.contains("kubectl-storage"),
            "{script}"
        );
    }
    let complete = folder.path().join("kubectl_complete-volume_doctor");
    assert_eq!(printed("install"), format!("{} now completes for kubectl\n", complete.display()));
    let ran = Call { called: Some(complete), ..Call::new(["ver"]) }.run();
    assert_eq!(
        (&*ran.stdout.replace('\t', ": "), ran.code),
        ("version: Print the version\n:4\n", Some(0))
    );
}

#[test]
fn every_shell_gets_an_answer() {
    for (shell, expected) in [
        ("bash", "--older-than"),
        ("zsh", "--older-than:Report volumes"),
        ("fish", "--older-than\tReport volumes"),
        ("powershell", "--older-than\tReport volumes"),
    ] {
        let mut call = Call::new(["--", "kubectl-storage", "audit", "--older"]);
        call.env = BTreeMap::from([
            ("KUBECTL_STORAGE_COMPLETE".to_owned(), shell.to_owned()),
            ("_CLAP_COMPLETE_INDEX".to_owned(), "2".to_owned()),
        ]);
        let ran = call.run();
        ran.is_decent(shell);
        assert_eq!((ran.code, &*ran.stderr), (Some(0), ""), "{shell}");
        assert!(ran.stdout.starts_with(expected), "{shell}: {}", ran.stdout);
    }
}

/// A variable that a script of a shell has left in the environment makes no completion run what was typed.
#[test]
fn completing_never_runs_the_command() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let link = folder.path().join("kubectl_complete-storage");
    std::os::unix::fs::symlink(binary(), &link).expect("a link");
    for shell in ["bash", "elvish", ""] {
        let asked = BTreeMap::from([("KUBECTL_STORAGE_COMPLETE".to_owned(), shell.to_owned())]);
        let mut call = Call::new(["versio"]);
        (call.called, call.env) = (Some(link.clone()), asked.clone());
        let ran = call.run();
        assert!(ran.stdout.starts_with("version\t") && ran.stdout.ends_with(":4\n"), "{shell:?}");
        // A script's own request is answered, or fails.
        let mut call = Call::new(["--", "kubectl-storage", "version"]);
        call.env = asked.clone();
        assert!(!call.run().stdout.contains("kubectl storage v"), "{shell:?}");
        // What was typed without either runs.
        let mut call = Call::new(["version"]);
        call.env = asked;
        assert!(call.run().stdout.contains("kubectl storage v"), "{shell:?}");
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
    let goes_on = lines.iter().any(|it| {
        let value = it.split('\t').next().unwrap_or_default();
        value.ends_with(['/', '=']) && !value.starts_with(':')
    });
    // No file names but those that it is told, and no space behind what goes on.
    let directive = if goes_on { ":6" } else { ":4" };
    assert_eq!(lines.pop().as_deref(), Some(directive), "{words:?}: the directive comes last");
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
    let ids: Vec<_> = rules::all().map(|rule| rule.id.to_owned()).collect();
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
    let mut expected: Vec<_> = Threshold::ALL.map(|it| format!("{}=", it.name())).into();
    assert_eq!(values(&["gc", "--threshold", ""]), expected);
    expected.push("nearly-full=".to_owned());
    assert_eq!(values(&["audit", "--threshold", ""]), expected);
    let expected: Vec<_> = Severity::ALL.map(|it| it.name().to_owned()).into();
    assert_eq!(values(&["audit", "--fail-on", ""]), expected);
    assert_eq!(values(&["completion", "p"]), ["powershell"]);
    assert_eq!(values(&["gc", "-o", ""]), ["table", "json", "yaml", "name"]);
    let ebs = values(&["explain", "driver/ebs"]);
    assert_eq!(ebs, ["driver/ebs.csi.aws.com", "driver/ebs.csi.eks.amazonaws.com"]);
}

#[test]
fn kubectl_is_told_files() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("plan.yaml"), "").expect("it is writable");
    std::fs::create_dir(folder.path().join("plans")).expect("it is writable");
    let within = |words: &[&str]| {
        let link = folder.path().join("kubectl_complete-storage");
        if !link.exists() {
            std::os::unix::fs::symlink(binary(), &link).expect("a link");
        }
        let mut call = Call::new(words.iter().copied());
        call.called = Some(link);
        call.folder = Some(folder.path().to_owned());
        call.run().stdout
    };
    for words in [&["apply", "pla"][..], &["audit", "-f", "pla"], &["gc", "--plan-out", "pla"]] {
        assert_eq!(within(words), "plan.yaml\nplans/\n:6\n", "{words:?}");
    }
    assert_eq!(within(&["dump", "plan."]), "plan.yaml\n:4\n");
}

#[test]
fn nonsense_completes_to_nothing() {
    assert_eq!(values(&["zzz"]), [""; 0]);
    assert_eq!(values(&["audit", "--rule", "zzz"]), [""; 0]);
}
