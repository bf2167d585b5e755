//! A real API server, through the testbed's supervisor (tests/testbed/README.md).

use std::{
    collections::BTreeSet,
    fs,
    io::{self, BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
};

use serde_json::{Value, json};

/// Runs until it is dropped.
pub struct Testbed {
    supervisor: Child,
    /// Closing it ends everything.
    requests: Option<ChildStdin>,
    set: PathBuf,
    pub kubeconfig: PathBuf,
    audit_log: PathBuf,
}

impl Testbed {
    /// Starts etcd with a seed, and the API server.
    pub fn start(seed: &Path, peers: bool) -> io::Result<Self> {
        let set = build(peers)?;
        let mut supervisor = Command::new(set.join("bin/testbed"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (Some(mut requests), Some(replies)) =
            (supervisor.stdin.take(), supervisor.stdout.take())
        else {
            return Err(io::Error::other("the supervisor has no pipes"));
        };
        let request =
            json!({ "id": 1, "op": "cluster.start", "version": "1.36.3", "etcd_seed": seed });
        writeln!(requests, "{request}")?;
        let mut reply = String::new();
        BufReader::new(replies).read_line(&mut reply)?;
        let reply: Value = serde_json::from_str(&reply)?;
        let path = |field: &str| {
            let text = reply["ok"][field].as_str();
            text.map(PathBuf::from).ok_or_else(|| io::Error::other(format!("no cluster: {reply}")))
        };
        Ok(Self {
            kubeconfig: path("kubeconfig")?,
            audit_log: path("audit_log")?,
            requests: Some(requests),
            supervisor,
            set,
        })
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
