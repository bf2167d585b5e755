//! Commands that a screen shows, run as somebody does who has copied them.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use super::screen::Screen;
use crate::support::{Cluster, program};

/// Runs a command: `kubectl`, with the tool as its plugin.
pub(super) fn run(cluster: &Cluster, command: &str) {
    let plugins = tempfile::tempdir().expect("because the temporary folder is writable");
    let link = |program: &Path, name: &str| {
        symlink(program, plugins.path().join(name)).expect("because the folder is empty");
    };
    link(Path::new(env!("CARGO_BIN_EXE_kubectl-storage")), "kubectl-storage");
    link(&program("kubectl"), "kubectl");
    let path = format!("{}:/usr/bin:/bin", plugins.path().display());
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).env("PATH", path).env("HOME", plugins.path());
    let done = shell.env("KUBECONFIG", cluster.kubeconfig()).output();
    let done = done.expect("because every system has a shell");
    assert!(done.status.success(), "{command}: {}", String::from_utf8_lossy(&done.stderr));
}

/// The line of a screen that is a command and begins so.
#[track_caller]
pub(super) fn command(screen: &Screen, begins: &str) -> String {
    let mut lines = screen.0.lines().filter_map(|line| {
        let line = line.trim_start();
        let line = line.strip_prefix("Next:").unwrap_or(line).trim_start();
        line.starts_with(begins).then(|| line.to_owned())
    });
    lines.next().unwrap_or_else(|| panic!("no line begins with {begins:?}:\n{}", screen.0))
}
