//! What the API server wrote down about the tool's requests.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Seek, SeekFrom};

use serde_json::Value;

use super::Cluster;

/// A place in the audit log.
#[derive(Clone, Copy)]
pub(crate) struct Mark(u64);

const WRITES: [&str; 5] = ["create", "update", "patch", "delete", "deletecollection"];

impl Cluster {
    /// Remembers the end of the audit log.
    pub(crate) fn mark(&self) -> Mark {
        Mark(fs::metadata(self.audit_log_file()).map_or(0, |file| file.len()))
    }

    /// Returns the requests that the tool sent since, but for those of whoever acts in a name of their own: writers on
    /// a cluster that many share do.
    pub(crate) fn requests_since(&self, mark: Mark) -> Vec<Value> {
        let mut events = self.events_since(mark, "kubectl-storage");
        events.retain(|event| {
            event["impersonatedUser"].is_null()
                && event["userAgent"]
                    .as_str()
                    .is_some_and(|agent| agent.starts_with("kubectl-storage"))
        });
        events
    }

    /// Returns everybody's requests since whose line in the audit log contains a text.
    pub(crate) fn events_since(&self, mark: Mark, text: &str) -> Vec<Value> {
        let mut file =
            File::open(self.audit_log_file()).expect("because every cluster has an audit log");
        file.seek(SeekFrom::Start(mark.0)).expect("because it is a file");
        BufReader::new(file)
            .lines()
            .map_while(Result::ok)
            .filter(|line| line.contains(text))
            .filter_map(|line| serde_json::from_str(&line).ok())
            .collect()
    }

    /// Panics when the tool has written anything since. Access reviews and dry runs are no writes.
    pub(crate) fn assert_no_write(&self, since: Mark) {
        let writes: Vec<_> = self.requests_since(since).into_iter().filter(is_write).collect();
        assert!(writes.is_empty(), "the tool wrote: {writes:#?}");
    }

    /// Panics when the tool has asked for any dry run since.
    pub(crate) fn assert_no_dry_run(&self, since: Mark) {
        let requests = self.requests_since(since);
        let dry: Vec<_> = requests.iter().filter(|event| is_dry_run(event)).collect();
        assert!(dry.is_empty(), "the tool asked for dry runs: {dry:#?}");
    }
}

fn is_write(event: &Value) -> bool {
    let verb = event["verb"].as_str().unwrap_or_default();
    let resource = event["objectRef"]["resource"].as_str().unwrap_or_default();
    WRITES.contains(&verb) && !resource.ends_with("accessreviews") && !is_dry_run(event)
}

fn is_dry_run(event: &Value) -> bool {
    event["requestURI"].as_str().is_some_and(|uri| uri.contains("dryRun=All"))
}
