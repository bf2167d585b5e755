//! What must be so after a case, whoever won.

mod data;
mod outcome;
mod story;
mod users;
mod writes;

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::case::Case;
use super::history::{Revision, answered, is_by, is_real, received, succeeded, text};
use super::run::Ran;
use super::world::Backing;

/// A deed that is no run, and what came of it: nothing where its moment never came.
#[derive(Debug, Clone)]
pub(super) struct Did {
    pub(super) index: usize,
    pub(super) begin: DateTime<Utc>,
    pub(super) end: DateTime<Utc>,
    pub(super) result: Option<Result<(), u16>>,
}

impl Did {
    pub(super) fn succeeded(&self) -> bool {
        self.result == Some(Ok(()))
    }
}

/// Everything that is known after a case.
#[derive(Debug, Clone)]
pub(super) struct Evidence {
    pub(super) case: Case,
    pub(super) backings: Vec<Backing>,
    pub(super) did: Vec<Did>,
    pub(super) ran: Vec<Ran>,
    pub(super) revisions: Vec<Revision>,
    pub(super) requests: Vec<Value>,
    /// What is in the files of the backings now.
    pub(super) files: Vec<Option<String>>,
}

/// What is to be said of a case.
#[derive(Default)]
pub(super) struct Verdict {
    pub(super) counts: BTreeMap<String, u64>,
    /// What should not have been.
    pub(super) wrong: Vec<String>,
    /// What happened, for whoever wants to know how it came to that.
    pub(super) story: String,
}

pub(super) fn judge(evidence: &Evidence) -> Verdict {
    let mut verdict = Verdict::default();
    for ran in &evidence.ran {
        verdict.writes(evidence, ran);
        verdict.users(evidence, ran);
        verdict.outcome(evidence, ran);
    }
    verdict.data(evidence);
    verdict.deeds(evidence);
    if !verdict.wrong.is_empty() {
        verdict.story = story::tell(evidence);
    }
    verdict
}

impl Verdict {
    fn count(&mut self, what: &str) {
        *self.counts.entry(what.to_owned()).or_default() += 1;
    }

    fn holds(&mut self, so: bool, what: impl FnOnce() -> String) {
        if !so {
            self.wrong.push(what());
        }
    }

    fn deeds(&mut self, evidence: &Evidence) {
        for did in &evidence.did {
            self.count(match did.result {
                Some(Ok(())) => "(deeds done)",
                Some(Err(_)) => "(deeds that the server refused)",
                None => "(deeds whose moment never came)",
            });
        }
    }
}

impl Evidence {
    /// What a run asked, in order.
    fn requests_of<'a>(&'a self, ran: &'a Ran) -> impl Iterator<Item = &'a Value> {
        self.requests.iter().filter(|it| is_by(it, &ran.user))
    }

    /// What a run had done to objects of a resource.
    fn writes_of<'a>(
        &'a self,
        ran: &'a Ran,
        verb: &'a str,
        resource: &'a str,
    ) -> impl Iterator<Item = &'a Value> {
        self.requests_of(ran).filter(move |it| {
            is_real(it) && it["verb"] == verb && it["objectRef"]["resource"] == resource
        })
    }

    /// When the last question about a resource that a run asked before some moment was received and answered: about all
    /// of its objects in the namespace, or about one. What it asked in pages counts from the first.
    fn asked(&self, ran: &Ran, about: &About, before: DateTime<Utc>) -> Option<Asked> {
        let mut last: Option<Asked> = None;
        for request in self.requests_of(ran).filter(|it| about.is_asked(it)) {
            let (received, answered) = (received(request), answered(request));
            if answered > before {
                continue;
            }
            let uri = text(&request["requestURI"]);
            if let (Some(last), true) = (&mut last, uri.contains("continue=")) {
                last.answered = answered;
            } else if last.as_ref().is_none_or(|it| it.received < received) {
                // Whatever the server had in its cache.
                let stale = uri.contains("resourceVersion=0");
                last = Some(Asked { received, answered, stale });
            }
        }
        last
    }

    /// The revisions of an object, in order.
    fn of<'a>(
        &'a self,
        resource: &'a str,
        name: &'a str,
    ) -> impl DoubleEndedIterator<Item = &'a Revision> {
        self.revisions.iter().filter(move |it| it.resource == resource && it.name() == name)
    }

    /// The revision that a deletion of a claim made: terminating, or gone.
    fn deleted_by<'a>(&'a self, delete: &'a Value) -> Option<&'a Revision> {
        let uid = text(&delete["requestObject"]["preconditions"]["uid"]);
        let mut of = self.of("persistentvolumeclaims", text(&delete["objectRef"]["name"]));
        let done = succeeded(delete);
        of.find(|it| {
            let it_is = if uid.is_empty() { it.at > received(delete) } else { it.uid() == uid };
            done && it_is && it.terminating()
        })
    }
}

/// Something that a run may ask about.
enum About<'a> {
    All(&'a str),
    One(&'a str, &'a str),
}

impl About<'_> {
    fn is_asked(&self, request: &Value) -> bool {
        let object = &request["objectRef"];
        match self {
            Self::All(resource) => request["verb"] == "list" && object["resource"] == **resource,
            // A patch that changed nothing would say what there is, too; a list of all does.
            Self::One(resource, name) => {
                let of_it = request["verb"] == "get" && object["name"] == **name;
                object["resource"] == **resource && (of_it || request["verb"] == "list")
            }
        }
    }
}

/// A question, and its answer.
struct Asked {
    received: DateTime<Utc>,
    answered: DateTime<Utc>,
    stale: bool,
}
