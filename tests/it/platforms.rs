//! The scripts that build and try the program for other systems: what they refuse, before they install anything.

use std::process::Command;

use crate::support::{Ran, root};

fn script(name: &str, arguments: &[&str]) -> Ran {
    let output = Command::new(root().join("release").join(name)).args(arguments).output();
    let output = output.expect("bash runs");
    let text = |bytes| String::from_utf8(bytes).expect("it prints UTF-8");
    Ran { stdout: text(output.stdout), stderr: text(output.stderr), code: output.status.code() }
}

#[test]
fn only_published_targets_are_built() {
    let listed = script("build", &["--list"]);
    assert_eq!(listed.code, Some(0), "{}", listed.stderr);
    let targets: Vec<_> = listed.stdout.lines().collect();
    assert!(targets.contains(&"x86_64-unknown-linux-musl"), "{targets:?}");
    for (arguments, refusal) in [
        (&[][..], "which target? One of: x86_64-unknown-linux-musl"),
        (&["riscv"], "no target is called 'riscv': x86_64-unknown-linux-musl"),
        (&["--fast", targets[0]], "unknown argument '--fast'"),
        (&targets[..2], "one target at a time, not also 'aarch64-unknown-linux-musl'"),
    ] {
        for name in ["build", "try"] {
            let ran = script(name, arguments);
            assert_eq!((ran.code, &*ran.stdout), (Some(1), ""), "{name} {arguments:?}");
            assert!(ran.stderr.starts_with(&format!("{name}: {refusal}")), "{}", ran.stderr);
        }
    }
}
