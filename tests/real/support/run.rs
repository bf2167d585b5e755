//! Running the tool as users run it.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::Cluster;
use super::faults::Proxy;
use super::record::{Saved, recording};
use super::report::Report;
use super::testbed::testbed;
use crate::terminal::Terminal;

/// The binary under test.
const TOOL: &str = env!("CARGO_BIN_EXE_kubectl-storage");

/// One run of the tool, with a home of its own: nothing of the user's reaches it.
pub(crate) struct Run {
    args: Vec<OsString>,
    environment: Vec<(&'static str, OsString)>,
    stdin: String,
    home: tempfile::TempDir,
    by_kubectl: bool,
    /// Another program in the place of the tool.
    instead: Option<PathBuf>,
}

/// What a run left behind.
pub(crate) struct Outcome {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// `None` when a signal ended it.
    pub(crate) code: Option<i32>,
}

/// A run at a terminal that is not over.
pub(crate) struct AtTerminal {
    terminal: Terminal,
    _home: tempfile::TempDir,
}

/// A run that is not over.
pub(crate) struct Running {
    child: Child,
    /// What was read of its stderr so far.
    heard: Vec<u8>,
    _home: tempfile::TempDir,
}

impl Run {
    /// Starts to describe a run: the words after `kubectl storage`.
    pub(crate) fn of(args: &[&str]) -> Self {
        Self {
            args: args.iter().map(OsString::from).collect(),
            environment: Vec::new(),
            stdin: String::new(),
            home: tempfile::tempdir().expect("because the temporary folder is writable"),
            by_kubectl: false,
            instead: None,
        }
    }

    /// Has another program do it.
    pub(crate) fn program(mut self, program: PathBuf) -> Self {
        self.instead = Some(program);
        self
    }

    /// Appends words.
    pub(crate) fn more(mut self, args: &[&str]) -> Self {
        self.args.extend(args.iter().map(OsString::from));
        self
    }

    /// By this kubeconfig, as the environment names it: a flag would be repeated in each command that is printed.
    pub(crate) fn kubeconfig(self, path: &Path) -> Self {
        self.env("KUBECONFIG", path)
    }

    /// By way of a proxy, as the administrator.
    pub(crate) fn through(self, proxy: &Proxy) -> Self {
        self.kubeconfig(proxy.kubeconfig())
    }

    pub(crate) fn stdin(mut self, text: &str) -> Self {
        text.clone_into(&mut self.stdin);
        self
    }

    pub(crate) fn env(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.environment.push((name, value.into()));
        self
    }

    /// Has kubectl run it: the tool is on the PATH as a plugin, and the words are those after `kubectl`.
    pub(crate) fn plugin(mut self) -> Self {
        let plugin = self.home.path().join("kubectl-storage");
        std::os::unix::fs::symlink(TOOL, &plugin).expect("because the home is empty");
        self.by_kubectl = true;
        let path = self.home.path().as_os_str().to_owned();
        self.env("PATH", path)
    }

    /// Runs it to its end.
    pub(crate) fn go(self) -> Outcome {
        self.start().finish()
    }

    /// Starts it.
    pub(crate) fn start(self) -> Running {
        self.start_into(Stdio::piped(), Stdio::piped())
    }

    /// Starts it, with these for its stdout and stderr.
    pub(crate) fn start_into(self, stdout: Stdio, stderr: Stdio) -> Running {
        let mut child = self
            .command()
            .stdin(Stdio::piped())
            .stdout(stdout)
            .stderr(stderr)
            .spawn()
            .unwrap_or_else(|error| panic!("failed to start {:?}: {error}", self.args));
        let mut pipe = child.stdin.take().expect("because it is piped");
        // A run that does not read its stdin is no failure of the test.
        let _ = pipe.write_all(self.stdin.as_bytes());
        Running { child, heard: Vec::new(), _home: self.home }
    }

    /// Starts it at a terminal.
    pub(crate) fn at_terminal(self) -> AtTerminal {
        let mut command = self.command();
        command.env_remove("NO_COLOR").env("TERM", "xterm");
        AtTerminal { terminal: Terminal::sized(command, 80), _home: self.home }
    }

    /// Runs it to its end at a terminal of so many columns without colours, and returns all that it showed, and its
    /// exit code.
    pub(crate) fn shown_at(&self, columns: u16) -> (String, Option<i32>) {
        let mut command = self.command();
        command.env("TERM", "dumb"); // has neither colours nor a progress line
        Terminal::sized(command, columns).finish()
    }

    fn command(&self) -> Command {
        let mut command = match &self.instead {
            Some(program) => Command::new(program),
            None if self.by_kubectl => Command::new(testbed().program("kubectl")),
            None => Command::new(TOOL),
        };
        command
            .args(&self.args)
            .env_remove("KUBECONFIG")
            .env("HOME", self.home.path())
            .env("XDG_STATE_HOME", self.home.path().join("state"))
            .envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }
}

impl Running {
    /// Ends it as `kill -9` does, wherever it is, and waits until it is gone.
    pub(crate) fn kill(mut self) -> Outcome {
        self.child.kill().expect("because it was started");
        self.finish()
    }

    /// Sends it a signal: `INT` as Ctrl-C does, or `TERM` as whoever supervises it does.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it is still there");
    }

    /// Takes its stdout and its stderr, to be read as they come.
    pub(crate) fn pipes(&mut self) -> (ChildStdout, ChildStderr) {
        let stdout = self.child.stdout.take().expect("because it is piped");
        (stdout, self.child.stderr.take().expect("because it is piped"))
    }

    /// Waits until it has said something on stderr.
    pub(crate) fn says(&mut self, text: &str) {
        let pipe = self.child.stderr.as_mut().expect("because it is piped");
        let mut byte = [0];
        while !String::from_utf8_lossy(&self.heard).contains(text) {
            let read = pipe.read(&mut byte).expect("because it is piped");
            assert_eq!(read, 1, "it ended: {}", String::from_utf8_lossy(&self.heard));
            self.heard.extend(byte);
        }
    }

    /// Whether it has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("because it was started").is_some()
    }

    /// Waits for its end.
    pub(crate) fn finish(self) -> Outcome {
        let output = self.child.wait_with_output().expect("because it was started");
        let stderr = [self.heard, output.stderr].concat();
        Outcome {
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&stderr).into_owned(),
            code: output.status.code(),
        }
    }
}

impl AtTerminal {
    /// Waits until it has asked a question, and types an answer.
    pub(crate) fn answer(&mut self, question: &str, answer: &str) {
        while !self.terminal.screen().contains(question) {
            assert!(self.terminal.read(), "it ended: {}", self.terminal.screen());
        }
        // The next question may have the same words.
        self.terminal.shown.clear();
        let mut keyboard = &self.terminal.device;
        keyboard.write_all(answer.as_bytes()).expect("because it is a terminal");
    }

    /// Waits for its end, and returns what it showed since the last answer, and its exit code.
    pub(crate) fn finish(self) -> (String, Option<i32>) {
        self.terminal.finish()
    }
}

impl Outcome {
    /// Reads the report that it printed.
    pub(crate) fn report(self) -> Report {
        Report::read(self)
    }
}

/// What `explain` said of an object.
#[derive(Debug)]
pub(crate) struct Explained(pub(crate) serde_json::Value);

impl Explained {
    /// What would happen to the object if something were done, in a word: all outcomes of it.
    pub(crate) fn outcomes(&self, when: &str) -> Vec<&str> {
        let all = self.0["outcomes"].as_array().expect("because there is always a list");
        let of = all.iter().filter(|it| it["if"] == *when);
        of.map(|it| it["then"].as_str().unwrap_or_default()).collect()
    }

    /// Who uses it, by name, in order.
    pub(crate) fn users(&self) -> Vec<&str> {
        let all = self.0["usedBy"].as_array().expect("because there is always a list");
        all.iter().map(|it| it["object"]["name"].as_str().unwrap_or_default()).collect()
    }
}

impl Cluster {
    /// Audits as the administrator. Nothing may be unseen, and nothing may be written.
    pub(crate) fn audit(&self, args: &[&str]) -> Report {
        self.audit_beside(args, &|_| false)
    }

    /// The same, while other processes of the tool write.
    pub(crate) fn audit_beside(
        &self,
        args: &[&str],
        is_of_others: &dyn Fn(&serde_json::Value) -> bool,
    ) -> Report {
        let report = self.audited(self.kubeconfig(), args, is_of_others);
        assert_eq!(report.code, Some(0), "{report}");
        report
    }

    /// Explains an object. Nothing may be written.
    pub(crate) fn explain(&self, object: &str, namespace: &str) -> Explained {
        let before = self.mark();
        let args = ["explain", object, "-n", namespace, "-o", "json"];
        let outcome = Run::of(&args).kubeconfig(self.kubeconfig()).go();
        self.assert_no_write(before);
        self.assert_no_dry_run(before);
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        Explained(serde_json::from_str(&outcome.stdout).expect("it is JSON"))
    }

    /// Audits with a kubeconfig. Nothing may be written.
    pub(crate) fn audit_as(&self, kubeconfig: &Path, args: &[&str]) -> Report {
        self.audited(kubeconfig, args, &|_| false)
    }

    fn audited(
        &self,
        kubeconfig: &Path,
        args: &[&str],
        is_of_others: &dyn Fn(&serde_json::Value) -> bool,
    ) -> Report {
        let before = self.mark();
        let run = Run::of(&["audit", "-o", "json"]).more(args).kubeconfig(kubeconfig);
        let mut report = run.go().report();
        if recording() {
            let folder = tempfile::tempdir().expect("because the temporary folder is writable");
            let file = folder.path().join("saved.json");
            Run::of(&["dump", &file.display().to_string()]).kubeconfig(kubeconfig).go();
            report.saved = Some(Saved::read(&file, args));
        }
        self.assert_no_write_but(before, is_of_others);
        self.assert_no_dry_run(before);
        report
    }
}
