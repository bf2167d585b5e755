//! What several tests share: the package's files, the binary, and files that are generated.

use std::{
    collections::BTreeMap,
    env, fs,
    io::{Read as _, Write as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
};

/// The folder of the package.
pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Reads a file of the package.
pub(crate) fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every file beneath a folder whose name ends like this, sorted.
pub(crate) fn files(folder: &Path, suffix: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder);
        let entries = entries.unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        for entry in entries {
            let path = entry.expect("because the folder was just read").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.to_string_lossy().ends_with(suffix) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Whether generated files are to be written instead of compared.
pub(crate) fn updating() -> bool {
    env::var_os("UPDATE").is_some_and(|value| value == "1")
}

/// Holds a generated file against what it should be; with `UPDATE=1` writes it instead.
#[track_caller]
pub(crate) fn expect_file(path: &Path, expected: &str) {
    let found = fs::read_to_string(path).unwrap_or_default();
    if found == expected {
        return;
    }
    if updating() {
        let folder = path.parent().expect("because a file is in a folder");
        fs::create_dir_all(folder).expect("the folder can be created");
        fs::write(path, expected).expect("the file can be written");
        return;
    }
    let path = path.strip_prefix(root()).unwrap_or(path).display();
    panic!("{path} is stale; `UPDATE=1 cargo test --test it` rewrites it as\n{expected}");
}

/// One call of the real binary.
#[derive(Default)]
pub(crate) struct Call {
    /// What follows the program's name.
    pub args: Vec<String>,
    /// What is on stdin.
    pub stdin: Vec<u8>,
    /// Environment besides the few variables that every call gets.
    pub env: BTreeMap<String, String>,
    /// The folder it runs in.
    pub folder: Option<PathBuf>,
    /// A path to call it by, instead of its own.
    pub called: Option<PathBuf>,
}

/// What a call left behind.
#[derive(Debug)]
pub(crate) struct Ran {
    pub stdout: String,
    pub stderr: String,
    /// `None` when a signal ended it.
    pub code: Option<i32>,
}

/// The words of every command that the program declares, none for the program itself.
pub(crate) fn commands() -> Vec<Vec<String>> {
    fn collect(command: &clap::Command, words: &[String], found: &mut Vec<Vec<String>>) {
        found.push(words.to_owned());
        for command in command.get_subcommands() {
            let words = [words, &[command.get_name().to_owned()]].concat();
            collect(command, &words, found);
        }
    }
    let mut found = Vec::new();
    collect(&kubectl_storage::cli::command("kubectl-storage"), &[], &mut found);
    assert!(found.len() > 10, "{found:?}");
    found
}

/// The program under test.
pub(crate) fn binary() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_kubectl-storage"))
}

impl Call {
    /// A call with these arguments.
    pub(crate) fn new<S: Into<String>>(args: impl IntoIterator<Item = S>) -> Self {
        Self { args: args.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// The command, without anything of the environment of whoever runs the tests: no kubeconfig,
    /// no cluster around it, no proxies.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(self.called.clone().unwrap_or_else(binary));
        command.args(&self.args).env_clear();
        let folder = self.folder.clone().unwrap_or_else(env::temp_dir);
        command.env("HOME", &folder).env("PATH", "/usr/bin:/bin").env("TERM", "dumb");
        command.current_dir(folder).envs(&self.env);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs it to its end.
    pub(crate) fn run(self) -> Ran {
        let mut child = self.command().spawn().expect("the binary runs");
        let mut stdin = child.stdin.take().expect("because it is piped");
        let input = self.stdin;
        // It may end without reading: that is its own affair.
        let feeder = thread::spawn(move || drop(stdin.write_all(&input)));
        let mut stderr = child.stderr.take().expect("because it is piped");
        let listener = thread::spawn(move || {
            let mut text = Vec::new();
            stderr.read_to_end(&mut text).expect("stderr can be read");
            text
        });
        let mut stdout = Vec::new();
        let mut out = child.stdout.take().expect("because it is piped");
        out.read_to_end(&mut stdout).expect("stdout can be read");
        let status = child.wait().expect("it ends");
        feeder.join().expect("because writing does not panic");
        let stderr = listener.join().expect("because reading does not panic");
        let text = |bytes| String::from_utf8(bytes).expect("it prints UTF-8");
        Ran { stdout: text(stdout), stderr: text(stderr), code: status.code() }
    }
}

impl Ran {
    /// Whatever happens, a user never sees these.
    #[track_caller]
    pub(crate) fn is_decent(&self, what: &str) {
        for (name, text) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            // Lines of CSV end so (RFC 4180).
            let lines = text.replace("\r\n", "\n");
            let control = lines.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\t'));
            assert_eq!(control, None, "{what}: {name} holds a control character:\n{text}");
            for word in ["panicked at", "RUST_BACKTRACE", "stack backtrace", "src/"] {
                assert!(!text.contains(word), "{what}: {name} says {word:?}:\n{text}");
            }
        }
        assert_ne!(self.code, Some(101), "{what}: it panicked");
        assert!(self.code.is_some(), "{what}: a signal ended it");
    }
}
