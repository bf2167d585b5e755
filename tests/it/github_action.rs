//! The GitHub Action: its script run as a runner does, and that its inputs, outputs and script belong together.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{Ran, read, root};

fn action() -> Value {
    let text = read(&root().join("deploy/github-action/action.yaml"));
    serde_yaml::from_str(&text).expect("because it is YAML")
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().into_iter().flatten().map(|it| it.0.as_str()).collect()
}

#[test]
fn what_the_action_declares_is_what_its_script_takes() {
    let (action, script) = (action(), read(&root().join("deploy/github-action/audit.sh")));
    let step = &action["runs"]["steps"][0];
    let run = step["run"].as_str().expect("it is a script");
    // An input in a script would be a part of it, whatever it says.
    assert!(!run.contains("${{"), "{run}");
    for name in keys(&step["env"]).into_iter().filter(|it| *it != "GH_TOKEN") {
        assert!(
            script.contains(&format!("${{{name}")) || run.contains(&format!("${name}")),
            "{name}"
        );
    }
    let env = step["env"].to_string();
    for input in keys(&action["inputs"]) {
        assert!(env.contains(&format!("inputs.{input} ")), "{input}");
        assert!(action["inputs"][input]["default"].is_string(), "{input}");
    }
    for output in keys(&action["outputs"]) {
        assert!(script.contains(&format!("{output}=")), "{output}");
        let value = format!("${{{{ steps.audit.outputs.{output} }}}}");
        assert_eq!(action["outputs"][output]["value"], value);
    }
    assert_eq!(action["inputs"]["version"]["default"], env!("CARGO_PKG_VERSION"));
}

/// A runner: where the step writes, and what is on its PATH.
struct Runner(TempDir);

impl Runner {
    fn new() -> Self {
        let runner = Self(tempfile::tempdir().expect("a temporary folder"));
        for name in ["bin", "temp"] {
            fs::create_dir(runner.0.path().join(name)).expect("it is writable");
        }
        // Neither gh nor the plugin of the machine that runs the tests.
        let path = std::env::var_os("PATH").unwrap_or_default();
        for name in ["bash", "cat", "chmod", "gzip", "mkdir", "mktemp", "od", "tar", "tr", "uname"]
        {
            let program = std::env::split_paths(&path).map(|it| it.join(name));
            let program = program.into_iter().find(|it| it.is_file());
            symlink(program.expect("every machine has it"), runner.program_path(name))
                .expect("it is writable");
        }
        runner
    }

    fn program_path(&self, name: &str) -> PathBuf {
        self.0.path().join("bin").join(name)
    }

    /// Puts a program on the PATH.
    fn has(&self, name: &str, script: &str) {
        let path = self.program_path(name);
        let _ = fs::remove_file(&path); // never through a link
        fs::write(&path, format!("#!/usr/bin/env bash\n{script}\n")).expect("it is writable");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it is ours");
    }

    /// The program.
    fn program() -> String {
        format!("exec '{}' \"$@\"", env!("CARGO_BIN_EXE_kubectl-storage"))
    }

    fn audit(&self, env: &[(&str, &str)]) -> Ran {
        let folder = self.0.path();
        let output = Command::new(root().join("deploy/github-action/audit.sh"))
            .env_clear()
            .env("PATH", folder.join("bin"))
            .env("RUNNER_TEMP", folder.join("temp"))
            .env("GITHUB_OUTPUT", folder.join("output"))
            .env("GITHUB_STEP_SUMMARY", folder.join("summary"))
            .envs(env.iter().copied())
            .current_dir(root())
            .output()
            .expect("because bash is there");
        let text = |bytes| String::from_utf8(bytes).expect("because it is text");
        Ran { stdout: text(output.stdout), stderr: text(output.stderr), code: output.status.code() }
    }

    fn file(&self, name: &str) -> String {
        fs::read_to_string(self.0.path().join(name)).unwrap_or_default()
    }

    /// An output of the step.
    fn output(&self, name: &str) -> Option<String> {
        let text = self.file("output");
        text.lines().find_map(|it| it.strip_prefix(name)?.strip_prefix('=').map(str::to_owned))
    }
}

const EXAMPLE: &str = "examples/leaky-cluster.json.gz";

#[test]
fn an_audit_leaves_its_files_and_its_exit_code() {
    for (fail_on, code) in [("", 0), ("critical", 3)] {
        let runner = Runner::new();
        runner.has("kubectl-storage", &Runner::program());
        // One argument a line, which stays one.
        let more = "--older-than\n30d\n--ignore\npvc-lost";
        let ran = runner.audit(&[("FILENAME", EXAMPLE), ("FAIL_ON", fail_on), ("ARGUMENTS", more)]);
        assert_eq!(ran.code, Some(code), "{}", ran.stderr);
        assert_eq!(runner.output("exit-code"), Some(code.to_string()));
        let file = |name: &str| read(Path::new(&runner.output(name).expect("there is one")));
        assert_eq!(runner.file("summary"), file("markdown"));
        let report: Value = serde_json::from_str(&file("sarif")).expect("because it is JSON");
        let results = report["runs"][0]["results"].as_array().expect("there are some");
        let has = |id: &str| results.iter().any(|it| it["ruleId"] == id);
        assert!(has("duplicate-volume-handle") && !has("pvc-lost"), "{report:#}");
    }
}

#[test]
fn without_a_report_nothing_is_promised() {
    let runner = Runner::new();
    runner.has("kubectl-storage", &Runner::program());
    let ran = runner.audit(&[("FILENAME", "examples/leaky-cluster.json.gz\nnowhere.json")]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stdout.contains("nowhere.json"), "{}", ran.stdout);
    assert_eq!(runner.file("output"), "exit-code=1\n");
    assert_eq!(runner.file("summary"), "");
}

#[test]
fn no_input_becomes_a_command() {
    let runner = Runner::new();
    runner.has("kubectl-storage", "printf '[%s]' \"$@\"");
    let mark = runner.0.path().join("mark");
    let input = format!("a b; $(touch {0}) `touch {0}` *", mark.display());
    let ran = runner.audit(&[("FILENAME", &input), ("FAIL_ON", &input), ("ARGUMENTS", &input)]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let expected = format!("[audit][--filename][{input}][--fail-on][{input}][{input}][-o][sarif=");
    let (_, said) = ran.stdout.split_once('\n').expect("commands are stopped first");
    assert!(said.starts_with(&expected), "{}", ran.stdout);
    assert!(!mark.exists());
}

/// Where the program is not on the PATH its release is downloaded, and not run unless it is verified.
#[test]
fn a_release_is_verified_before_it_runs() {
    for (verified, code) in [(0, 0), (1, 1)] {
        let runner = Runner::new();
        let gh = format!(
            "case $1 in\n\
             release) mkdir -p \"$RUNNER_TEMP/made\" && cd \"$RUNNER_TEMP/made\" && \
             printf '#!/bin/sh\\necho it runs\\n' >kubectl-storage && chmod +x kubectl-storage && \
             tar -czf \"${{@: -1}}/${{@: -3:1}}\" kubectl-storage ;;\n\
             attestation) echo \"$@\"; exit {verified} ;; esac"
        );
        runner.has("gh", &gh);
        let ran = runner.audit(&[("FILENAME", EXAMPLE), ("VERSION", "9.8.7")]);
        assert_eq!(ran.code, Some(code), "{}", ran.stderr);
        assert!(ran.stdout.contains("kubectl-storage_v9.8.7_linux_"), "{}", ran.stdout);
        let by = "--repo kubectl-storage/kubectl-storage --signer-workflow \
                  kubectl-storage/kubectl-storage/.github/workflows/release.yaml --source-ref refs/tags/v9.8.7\n";
        assert!(ran.stdout.contains(by), "{}", ran.stdout);
        assert_eq!(ran.stdout.contains("it runs"), verified == 0, "{}", ran.stdout);
    }
}

/// What a runner takes for commands, and for text: it stops at `::stop-commands::TOKEN`, and goes on at `::TOKEN::`.
fn commands(log: &str) -> (Vec<&str>, Vec<&str>, &str) {
    let (mut given, mut text, mut token, mut stopped) = (Vec::new(), Vec::new(), "", false);
    for line in log.split(['\n', '\r']) {
        if stopped {
            stopped = line != format!("::{token}::");
            text.push(line);
        } else if let Some(name) = line.strip_prefix("::stop-commands::") {
            (token, stopped) = (name, true);
        } else if line.trim_start().starts_with("::") || line.contains("##[") {
            given.push(line);
        }
    }
    assert!(!stopped, "no command of this step counts any more: {log}");
    (given, text, token)
}

#[test]
fn names_of_a_dump_give_the_runner_no_commands() {
    let mut tokens = std::collections::BTreeSet::new();
    for code in [0, 3, 1] {
        let runner = Runner::new();
        let said = "a ##[error]b\\n::error::c\\r::add-mask::d\\n ::e::\\n::stop-commands::f\\n::f::\\n::set-env g";
        let script = format!("printf '{said}'; printf '{said}' >&2; exit {code}");
        runner.has("kubectl-storage", &script);
        let ran = runner.audit(&[("FILENAME", EXAMPLE)]);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(code), ""));
        let (given, text, token) = commands(&ran.stdout);
        assert_eq!(given, [""; 0], "{}", ran.stdout);
        assert!(text.contains(&"::error::c") && text.contains(&"::set-env g"), "{text:?}");
        assert!(token.len() == 32 && tokens.insert(token.to_owned()), "{token} can be foreseen");
    }
    // It would see one.
    assert_eq!(commands("a\n::error::b\n").0, ["::error::b"]);
}

#[test]
fn what_is_not_set_up_is_refused_with_advice() {
    let uname = |system: &str, machine: &str| {
        format!("case $1 in -s) echo '{system}' ;; *) echo '{machine}' ;; esac")
    };
    let windows = uname("MINGW64_NT-10.0-26100", "x86_64");
    let (other, usual) = (uname("Linux", "riscv64"), uname("Linux", "x86_64"));
    let dump = ("FILENAME", EXAMPLE);
    for (uname, env, advice) in [
        (
            &windows,
            dump,
            "no release for MINGW64_NT-10.0-26100 is downloaded here: install kubectl-storage",
        ),
        (&other, dump, "no release for riscv64: install kubectl-storage"),
        (
            &usual,
            dump,
            "gh is not on PATH, which downloads and verifies the release: install it, or",
        ),
        (
            &usual,
            ("FILENAME", "\n"),
            "set filename to a dump, or kubeconfig to the path of a kubeconfig",
        ),
        (&usual, ("KUBECONFIG", "of/the/runner"), "set filename to a dump, or kubeconfig"),
    ] {
        let runner = Runner::new();
        runner.has("uname", uname);
        let ran = runner.audit(&[env, ("VERSION", "9.8.7")]);
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(ran.stderr.contains(advice), "{}", ran.stderr);
        assert_eq!(runner.file("output"), "exit-code=2\n");
    }
}

#[test]
fn without_a_dump_the_cluster_of_the_kubeconfig_is_audited() {
    let runner = Runner::new();
    runner.has("kubectl-storage", "echo \"$KUBECONFIG $*\"");
    let ran = runner.audit(&[("KUBECONFIG_PATH", "a config"), ("KUBECONFIG", "of/the/runner")]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.contains("\na config audit -o sarif="), "{}", ran.stdout);
}
