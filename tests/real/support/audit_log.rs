//! What the API server wrote down about the tool's requests.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Seek, SeekFrom};

use serde_json::Value;

use super::{Cluster, Scenario, eventually};

/// A place in the audit log.
#[derive(Clone, Copy)]
pub(crate) struct Mark(u64);

/// A request of the tool that changes something, or would if it were no dry run.
#[derive(Clone, Debug)]
pub(crate) struct Write {
    /// `create`, `update`, `patch`, `delete` or `deletecollection`.
    pub(crate) verb: String,
    /// The plural, as in `persistentvolumes`.
    pub(crate) resource: String,
    /// Empty where there is none.
    pub(crate) subresource: String,
    /// Empty where there is none.
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// Nothing was to be written: the query says so, or the options of a deletion.
    pub(crate) dry: bool,
    /// What was sent: the object, the patch (a list when it is a JSON patch) or the options of a deletion.
    /// `Null` when it was refused before anybody read it.
    pub(crate) body: Value,
    pub(crate) user: String,
    /// What the server answered, whether or not it arrived.
    pub(crate) code: u64,
}

impl Write {
    /// A line of the log, if it is of such a request.
    pub(super) fn of(event: &Value) -> Option<Self> {
        changes(event).then(|| Self::read(event))
    }

    fn read(event: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let object = &event["objectRef"];
        let body = event["requestObject"].clone();
        // Whoever creates an object names it in the body only.
        let name = object["name"].as_str().or(body["metadata"]["name"].as_str());
        Self {
            verb: text(&event["verb"]),
            resource: text(&object["resource"]),
            subresource: text(&object["subresource"]),
            namespace: text(&object["namespace"]),
            name: name.unwrap_or_default().to_owned(),
            dry: is_dry_run(event),
            user: text(&event["user"]["username"]),
            code: event["responseStatus"]["code"].as_u64().unwrap_or_default(),
            body,
        }
    }

    /// `verb resource name`, after `dry` where nothing was to be written and before the code where it is no success.
    pub(crate) fn line(&self) -> String {
        let Self { verb, resource, name, .. } = self;
        let dry = if self.dry { "dry " } else { "" };
        let part = if self.subresource.is_empty() { "" } else { "/" };
        let code = if self.code < 300 { String::new() } else { format!(" {}", self.code) };
        format!("{dry}{verb} {resource}{part}{} {name}{code}", self.subresource)
    }
}

impl Scenario<'_> {
    /// Everything that the tool asked to be changed since the scenario began, in order: dry runs too, but no access
    /// reviews and no Events (see [`Self::events_sent`]).
    ///
    /// A scenario in which the tool writes has a cluster of its own, because others assert that nothing is written.
    pub(crate) fn writes(&self) -> Vec<Write> {
        let mut writes = self.asked_to_change();
        writes.retain(|write| write.resource != "events");
        writes
    }

    /// The Events that the tool sent since the scenario began.
    pub(crate) fn events_sent(&self) -> Vec<Write> {
        let mut writes = self.asked_to_change();
        writes.retain(|write| write.resource == "events");
        writes
    }

    /// Everybody's requests since the scenario began whose line in the audit log contains a text.
    pub(crate) fn events(&self, text: &str) -> Vec<Value> {
        self.cluster.settle_audit_log();
        self.cluster.events_since(self.began, text)
    }

    fn asked_to_change(&self) -> Vec<Write> {
        self.cluster.settle_audit_log();
        let events = self.cluster.requests_since(self.began);
        let writes: Vec<_> = events.iter().filter_map(Write::of).collect();
        assert!(
            !self.cluster.is_shared() || writes.iter().all(|it| it.dry),
            "a scenario in which the tool writes needs a cluster of its own: {writes:#?}"
        );
        writes
    }
}

const WRITES: [&str; 5] = ["create", "update", "patch", "delete", "deletecollection"];

impl Cluster {
    /// Remembers the end of the audit log.
    pub(crate) fn mark(&self) -> Mark {
        Mark(fs::metadata(self.audit_log_file()).map_or(0, |file| file.len()))
    }

    /// Waits until the log has what was asked before now: the server writes a line when it is done with a request,
    /// which for a long answer may be after the client has read it.
    fn settle_audit_log(&self) {
        let before = self.mark();
        let question = format!("/version?mark={}", before.0);
        if self.api().read(&question).is_ok() {
            eventually("the audit log has the latest request", || {
                !self.events_since(before, &question).is_empty()
            });
        }
    }

    /// Returns the requests that the tool sent since, but for those of whoever acts in a name of their own: writers on
    /// a cluster that many share do.
    pub(crate) fn requests_since(&self, mark: Mark) -> Vec<Value> {
        let mut events = self.events_since(mark, "kubectl-storage");
        events.retain(|event| {
            event["impersonatedUser"].is_null()
                && event["userAgent"]
                    .as_str()
                    .is_some_and(|agent| agent.starts_with("kubectl-storage/"))
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
        self.assert_no_write_but(since, &|_| false);
    }

    /// The same, but for what other processes of the tool may write meanwhile.
    pub(crate) fn assert_no_write_but(&self, since: Mark, is_of_others: &dyn Fn(&Value) -> bool) {
        let mut writes = self.requests_since(since);
        writes.retain(|it| is_write(it) && !is_of_others(it));
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
    changes(event) && !is_dry_run(event)
}

/// Whether a request changes something, or would if it were no dry run. Access reviews are questions.
fn changes(event: &Value) -> bool {
    let verb = event["verb"].as_str().unwrap_or_default();
    let resource = event["objectRef"]["resource"].as_str().unwrap_or_default();
    WRITES.contains(&verb) && !resource.ends_with("accessreviews")
}

fn is_dry_run(event: &Value) -> bool {
    let in_query = event["requestURI"].as_str().is_some_and(|uri| uri.contains("dryRun=All"));
    // Of deletions, clients say it in the options that are their body.
    let options = event["requestObject"]["dryRun"].as_array();
    in_query || options.is_some_and(|all| all.iter().any(|it| it == "All"))
}
