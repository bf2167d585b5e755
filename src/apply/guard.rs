//! Writes the guard's policies and bindings, and sends the dry runs that prove them.

use http::Method;
use serde_json::{Value, json};

use super::journal::OpenJournal;
use super::request::{self, WriteRequest};
use super::run::run_id;
use super::writer::{WhoAmI, who_am_i};
use super::writer::{WriteError, Writer};
use super::{Outcome, receipt::ChangeEnd};
use crate::client::Connection;
use crate::guard::{GUARD, Probe, ProbeAnswer, Step};
use crate::journal::{Intent, SentRequest};
use crate::model::{ObjectRef, Time, Uid};

const JSON: &str = "application/json";
const JSON_PATCH: &str = "application/json-patch+json";

/// Writes the guard of one cluster.
pub(crate) struct GuardWriter {
    writer: Writer,
}

/// The end of a write of the guard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StepEnd {
    /// The outcome of the write.
    pub(crate) outcome: Outcome,
    /// The reason for the outcome; empty where the write was carried out.
    pub(crate) detail: String,
    /// The journal entry of the write.
    pub(crate) entry: Option<u64>,
}

impl GuardWriter {
    /// Returns a writer for a connection.
    pub(crate) fn new(connection: &Connection, field_manager: &str) -> Self {
        Self { writer: Writer::new(connection, field_manager) }
    }

    /// Sends every write as a dry run, so that RBAC and admission refuse before anything is written.
    ///
    /// # Errors
    /// Why the first one was refused, with its object.
    pub(crate) async fn dry_run(&self, steps: &[Step]) -> Result<(), String> {
        for step in steps {
            let sent = self.writer.send(&render(step), true).await;
            sent.map_err(|error| format!("{}: {error}", step.key()))?;
        }
        Ok(())
    }

    /// Sends one write, after its intent is in the journal.
    pub(crate) async fn write(
        &self,
        step: &Step,
        command: &str,
        run: &str,
        journal: &OpenJournal,
        now: Option<Time>,
    ) -> StepEnd {
        let request = render(step);
        let intent = Intent {
            command: command.to_owned(),
            object: ObjectRef { uid: uid(step), key: step.key() },
            action: action(step).to_owned(),
            because: GUARD.to_owned(),
            request: SentRequest {
                method: request.method.to_string(),
                path: self.writer.uri(&request, false),
                content_type: request.content_type.to_owned(),
                body: request.body.clone(),
            },
            pre_image: live(step).cloned(),
            backend: None,
            capacity: None,
            keeps: false,
            adds_finalizer: None,
            removes_finalizer: None,
            undoes: None,
        };
        let entry = match journal.begin(run, now, intent).await {
            Ok(entry) => entry,
            Err(error) => {
                let detail = error.with_cause();
                return StepEnd { outcome: Outcome::Failed, detail, entry: None };
            }
        };
        let (outcome, detail) = match self.writer.send(&request, false).await {
            // The answer has the object as it was stored: nothing else follows from it.
            Ok(_) => (Outcome::Done, String::new()),
            Err(error)
                if request.method == Method::DELETE && error.is_absence_of(&step.key().name) =>
            {
                (Outcome::Done, "it was deleted meanwhile".to_owned())
            }
            Err(error) => {
                let ChangeEnd { outcome, detail, .. } = ChangeEnd::unsent(&error);
                (outcome, detail)
            }
        };
        let mut end = StepEnd { outcome, detail, entry: Some(entry) };
        if let Err(error) = journal.end(entry, now, outcome, &end.detail).await {
            end.detail = format!("{}; {}", end.detail, error.with_cause());
        }
        end
    }

    /// Sends a probe as a dry run. `Err` where no answer came.
    pub(crate) async fn probe(&self, probe: &Probe) -> Result<ProbeAnswer, String> {
        let request = WriteRequest {
            method: Method::POST,
            path: probe.path.clone(),
            content_type: JSON,
            body: probe.manifest.clone(),
        };
        match self.writer.send(&request, true).await {
            Ok(answer) => Ok(ProbeAnswer { refused: None, warnings: answer.warnings }),
            Err(WriteError::Rejected { code, reason, message, .. }) => Ok(ProbeAnswer {
                refused: Some(format!("the API server answered {code} {reason}: {message}")),
                warnings: Vec::new(),
            }),
            Err(
                error @ (WriteError::NotSent(_)
                | WriteError::Withdrawn(_)
                | WriteError::CarriedOut(_)
                | WriteError::Unanswered(_)),
            ) => Err(error.to_string()),
        }
    }

    /// Asks for the username and the groups of the user.
    ///
    /// # Errors
    /// Why it is not known: the review is served since Kubernetes 1.28.
    pub(crate) async fn who_am_i(&self) -> Result<(String, Vec<String>), String> {
        let WhoAmI { username, groups, now: _ } = who_am_i(&self.writer).await?;
        Ok((username, groups))
    }

    /// Returns an id for the entries of one run.
    pub(crate) fn run_id() -> String {
        run_id()
    }
}

fn live(step: &Step) -> Option<&Value> {
    match step {
        Step::Create(_) => None,
        Step::Change { live, .. } | Step::Delete { live, .. } => Some(live),
    }
}

fn uid(step: &Step) -> Option<Uid> {
    Uid::parse(live(step)?["metadata"]["uid"].as_str()?)
}

fn action(step: &Step) -> &'static str {
    match step {
        Step::Create(_) => "create-guard",
        Step::Change { .. } => "change-guard",
        Step::Delete { .. } => "delete-guard",
    }
}

/// Renders the request of a write: an object that was read is changed or deleted only as it was read.
fn render(step: &Step) -> WriteRequest {
    match step {
        Step::Create(object) => request::create(&object.key(), &object.manifest),
        Step::Change { object, live, .. } => {
            let test = |field: &str| {
                let path = format!("/metadata/{field}");
                json!({"op": "test", "path": path, "value": live["metadata"][field]})
            };
            let mut operations = vec![test("uid"), test("resourceVersion")];
            // An object of the guard has both, or it would not be recognised.
            for field in ["labels", "annotations"] {
                let wanted = object.manifest["metadata"][field].as_object().into_iter().flatten();
                operations.extend(wanted.map(|(key, value)| {
                    let path = format!("/metadata/{field}/{}", request::escaped(key));
                    json!({"op": "add", "path": path, "value": value})
                }));
            }
            let spec = &object.manifest["spec"];
            operations.push(json!({"op": "replace", "path": "/spec", "value": spec}));
            WriteRequest {
                method: Method::PATCH,
                path: request::path(&object.key()),
                content_type: JSON_PATCH,
                body: Value::Array(operations),
            }
        }
        Step::Delete { live, .. } => request::delete_named(&step.key(), live),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::{GuardKind, GuardOptions, differences, objects};

    #[test]
    fn what_was_read_is_changed_only_as_it_was_read() {
        let object = objects(&GuardOptions::default()).remove(0);
        let mut live = object.manifest.clone();
        live["metadata"]["uid"] = json!("u");
        live["metadata"]["resourceVersion"] = json!("7");
        live["spec"]["failurePolicy"] = json!("Ignore");
        let found = differences(&live, &object.manifest);
        let step = Step::Change { object, live: live.clone(), differences: found };
        let request = render(&step);
        assert_eq!(request.method, Method::PATCH);
        assert_eq!(request.body[0]["value"], "u");
        assert_eq!(request.body[1]["value"], "7");
        let keys = request.body.to_string();
        assert!(
            keys.contains("/metadata/annotations/storage.kubectl.dev~1guard-options"),
            "{keys}"
        );
        let deleted = render(&Step::Delete { kind: GuardKind::Policy, live });
        assert_eq!(deleted.method, Method::DELETE);
        assert_eq!(deleted.body["preconditions"], json!({"uid": "u", "resourceVersion": "7"}));
        assert!(deleted.path.ends_with("/kubectl-storage-guard-persistentvolumeclaims"));
    }
}
