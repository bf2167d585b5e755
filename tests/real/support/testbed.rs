//! The supervisor process: one per test binary, started when the first test asks.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, LazyLock, Mutex};
use std::thread;

use serde_json::{Value, json};

type Waiting = Arc<Mutex<HashMap<u64, Sender<Value>>>>;

/// The binaries of the testbed, and the process that owns its clusters.
///
/// It is never dropped: when this process ends, the supervisor's stdin closes and it removes everything.
pub(crate) struct Testbed {
    bin: PathBuf,
    stdin: Mutex<ChildStdin>,
    waiting: Waiting,
    next: AtomicU64,
}

static TESTBED: LazyLock<Result<Testbed, String>> = LazyLock::new(Testbed::start);

/// Returns the testbed.
///
/// Panics when there is none: a scenario that cannot run has failed.
pub(crate) fn testbed() -> &'static Testbed {
    TESTBED.as_ref().unwrap_or_else(|reason| panic!("no testbed: {reason}"))
}

impl Testbed {
    fn start() -> Result<Self, String> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/testbed/build");
        // Tests of the extended suite are ignored unless somebody asks for them.
        let extended = std::env::args().any(|it| matches!(&*it, "--ignored" | "--include-ignored"));
        let built = Command::new(&script)
            .args(extended.then_some("--extended"))
            .stderr(Stdio::inherit()) // a cold build takes minutes, and says what it does
            .output()
            .map_err(|error| format!("failed to run {}: {error}", script.display()))?;
        if !built.status.success() {
            return Err(format!("{} failed, see above", script.display()));
        }
        let bin = Path::new(String::from_utf8_lossy(&built.stdout).trim()).join("bin");
        let mut child = Command::new(bin.join("testbed"))
            .env("NODE_NAME", "node-1") // where provisioners of a node (`--node-deployment`) run
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .map_err(|error| {
                format!("failed to start {}: {error}", bin.join("testbed").display())
            })?;
        let stdin = child.stdin.take().expect("because it is piped");
        let stdout = child.stdout.take().expect("because it is piped");
        let waiting = Waiting::default();
        let replies = Arc::clone(&waiting);
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                deliver(&replies, &line);
            }
            // Whoever still waits learns that the supervisor is gone.
            replies.lock().expect("because no holder panics").clear();
        });
        Ok(Self { bin, stdin: Mutex::new(stdin), waiting, next: AtomicU64::new(1) })
    }

    /// Returns the path of one of the testbed's programs.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.bin.join(name)
    }

    /// Sends a request and returns its answer.
    pub(crate) fn request(&self, op: &str, fields: Value) -> Value {
        self.try_request(op, fields).unwrap_or_else(|error| panic!("testbed: {op}: {error}"))
    }

    /// Sends a request and returns its answer, or what was wrong with it.
    pub(crate) fn try_request(&self, op: &str, fields: Value) -> Result<Value, String> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let mut request = fields;
        request["id"] = json!(id);
        request["op"] = json!(op);
        let (sender, receiver) = channel();
        self.waiting.lock().expect("because no holder panics").insert(id, sender);
        writeln!(self.stdin.lock().expect("because no holder panics"), "{request}")
            .map_err(|error| format!("the supervisor does not listen: {error}"))?;
        let mut reply = receiver.recv().map_err(|_| "the supervisor ended".to_owned())?;
        match reply.get("error").and_then(Value::as_str) {
            Some(error) => Err(error.to_owned()),
            None => Ok(reply["ok"].take()),
        }
    }
}

fn deliver(waiting: &Waiting, line: &str) {
    let Ok(reply) = serde_json::from_str::<Value>(line) else { return };
    let Some(id) = reply["id"].as_u64() else { return };
    if let Some(sender) = waiting.lock().expect("because no holder panics").remove(&id) {
        // A test that failed meanwhile does not wait any more.
        let _ = sender.send(reply);
    }
}
