//! A policy that reports, and what can be read where it does.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;

use serde_json::Value;

use crate::support::Cluster;

/// A policy in a file, and an address that its metrics may have.
pub(super) struct Reporting {
    pub(super) folder: tempfile::TempDir,
    pub(super) port: u16,
}

impl Reporting {
    /// A policy that reports as `report` says; PORT stands for a free port and FOLDER for its folder.
    pub(super) fn new(report: &str) -> Self {
        Self::with(report, "")
    }

    /// The same, with more keys of the policy.
    pub(super) fn with(report: &str, rest: &str) -> Self {
        let folder = tempfile::tempdir().expect("because the temporary folder is writable");
        let free = TcpListener::bind("127.0.0.1:0").expect("because loopback has free ports");
        let port = free.local_addr().expect("because it is bound").port();
        let reporting = Self { folder, port };
        let report = report
            .replace("PORT", &port.to_string())
            .replace("FOLDER", &reporting.folder.path().display().to_string());
        let policy = format!(
            "apiVersion: storage.kubectl.dev/v1alpha1\nkind: WatchPolicy\n\
             thresholds: {{older-than: 1s, claim-protection: 1s, delete-wait: 10s}}\nreport: {report}\n{rest}\n"
        );
        fs::write(reporting.policy(), policy).expect("because the folder is writable");
        reporting
    }

    pub(super) fn policy(&self) -> PathBuf {
        self.folder.path().join("policy.yaml")
    }

    /// Asks over HTTP, and returns the status and the body.
    pub(super) fn get(&self, path: &str) -> Option<(u16, String)> {
        ask(TcpStream::connect(("127.0.0.1", self.port)).ok()?, path, "")
    }

    /// The whole numbers of a metric, by their labels as they are written.
    pub(super) fn numbers(&self, metric: &str) -> Vec<(String, u64)> {
        let Some((200, text)) = self.get("/metrics") else { return Vec::new() };
        numbers(&text, metric)
    }
}

/// Sends one request, and reads its answer until the server hangs up.
pub(super) fn ask(
    mut stream: impl std::io::Read + std::io::Write,
    path: &str,
    header: &str,
) -> Option<(u16, String)> {
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{header}\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = Vec::new();
    // Without a closing message of TLS the bytes are there all the same.
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8(answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some((status, body.to_owned()))
}

fn numbers(text: &str, metric: &str) -> Vec<(String, u64)> {
    let of = |line: &str| {
        let rest = line.strip_prefix(metric)?;
        let (labels, number) = rest.rsplit_once(' ')?;
        let is_it = labels.is_empty() || labels.starts_with('{');
        let whole = number.strip_suffix(".0").unwrap_or(number);
        is_it.then_some((labels.to_owned(), whole.parse().ok()?))
    };
    text.lines().filter_map(of).collect()
}

/// The Events of this tool, as kubectl shows them.
pub(super) fn events(cluster: &Cluster, namespace: &str) -> Vec<Value> {
    let shown = cluster.kubectl(&["get", "events.v1.events.k8s.io", "-n", namespace, "-o", "json"]);
    let shown: Value = serde_json::from_str(&shown).expect("because kubectl prints JSON");
    let all = shown["items"].as_array().cloned().unwrap_or_default();
    all.into_iter().filter(|it| it["reportingController"] == "kubectl-storage").collect()
}

pub(super) fn count_of(numbers: &[(String, u64)], labels: &[&str]) -> u64 {
    let is_it = |it: &&(String, u64)| labels.iter().all(|label| it.0.contains(label));
    numbers.iter().filter(is_it).map(|it| it.1).sum()
}
