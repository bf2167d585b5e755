//! A real API server, through the testbed's supervisor (tests/testbed/README.md).

use std::{
    collections::BTreeSet,
    fs,
    io::{self, BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use serde_json::{Value, json};

/// Runs until it is dropped.
pub struct Testbed {
    supervisor: Child,
    /// Closing it ends everything.
    requests: Option<ChildStdin>,
    replies: BufReader<ChildStdout>,
    asked: u64,
    /// What the supervisor calls the cluster.
    cluster: String,
    set: PathBuf,
    pub kubeconfig: PathBuf,
    audit_log: PathBuf,
}

impl Testbed {
    /// Starts etcd with a seed, and the API server.
    pub fn start(seed: &Path, peers: bool) -> io::Result<Self> {
        Self::start_with(&json!({ "version": "1.36.3", "etcd_seed": seed }), peers)
    }

    /// Starts a cluster of these components.
    pub fn start_with(options: &Value, peers: bool) -> io::Result<Self> {
        let set = build(peers)?;
        let mut supervisor = Command::new(set.join("bin/testbed"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (Some(requests), Some(replies)) = (supervisor.stdin.take(), supervisor.stdout.take())
        else {
            return Err(io::Error::other("the supervisor has no pipes"));
        };
        let mut testbed = Self {
            supervisor,
            requests: Some(requests),
            replies: BufReader::new(replies),
            asked: 0,
            cluster: String::new(),
            set,
            kubeconfig: PathBuf::new(),
            audit_log: PathBuf::new(),
        };
        let reply = testbed.request("cluster.start", options.clone())?;
        let text = |field: &str| reply[field].as_str().unwrap_or_default().to_owned();
        testbed.cluster = text("cluster");
        testbed.kubeconfig = text("kubeconfig").into();
        testbed.audit_log = text("audit_log").into();
        Ok(testbed)
    }

    /// Asks the supervisor for something in the cluster.
    pub fn request(&mut self, op: &str, mut request: Value) -> io::Result<Value> {
        self.asked += 1;
        request["id"] = json!(self.asked);
        request["op"] = json!(op);
        if !self.cluster.is_empty() {
            request["cluster"] = json!(self.cluster);
        }
        let requests = self.requests.as_mut().ok_or_else(|| io::Error::other("it has ended"))?;
        writeln!(requests, "{request}")?;
        let mut reply = String::new();
        self.replies.read_line(&mut reply)?;
        let mut reply: Value = serde_json::from_str(&reply)?;
        match reply["ok"].take() {
            Value::Null => Err(io::Error::other(format!("{op}: {reply}"))),
            ok => Ok(ok),
        }
    }

    pub fn binary(&self, name: &str) -> PathBuf {
        self.set.join("bin").join(name)
    }

    /// The lists that the floor asked for, and those that the audit asked for.
    pub fn lists(&self) -> io::Result<(BTreeSet<String>, BTreeSet<String>)> {
        let (mut floor, mut audit) = (BTreeSet::new(), BTreeSet::new());
        for line in BufReader::new(fs::File::open(&self.audit_log)?).lines() {
            let event: Value = serde_json::from_str(&line?)?;
            let text = |field: &str| event[field].as_str().unwrap_or_default();
            let into = match text("userAgent").split('/').next() {
                Some("floor") => &mut floor,
                Some("kubectl-storage") => &mut audit,
                _ => continue,
            };
            if text("verb") == "list" {
                into.insert(text("requestURI").to_owned());
            }
        }
        Ok((floor, audit))
    }
}

impl Drop for Testbed {
    fn drop(&mut self) {
        self.requests = None;
        let _ = self.supervisor.wait();
    }
}

fn build(peers: bool) -> io::Result<PathBuf> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/testbed/build");
    let mut command = Command::new(script);
    if peers {
        command.args(["--with", "popeye"]);
    }
    let output = command.stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(io::Error::other("the testbed could not be built"));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().into())
}
