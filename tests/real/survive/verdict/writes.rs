//! The tool writes what it was told to, each with its conditions, and noted before; where it refuses, nothing.

use serde_json::Value;

use super::super::case::{Case, Work};
use super::super::history::{is_real, text};
use super::super::run::Ran;
use super::{Evidence, Verdict};

impl Verdict {
    pub(super) fn writes(&mut self, evidence: &Evidence, ran: &Ran) {
        let mut sent = Vec::new();
        for request in evidence.requests_of(ran).filter(|it| is_real(it)) {
            let object = &request["objectRef"];
            let (verb, resource) = (text(&request["verb"]), text(&object["resource"]));
            let name =
                object["name"].as_str().or(request["requestObject"]["metadata"]["name"].as_str());
            let name = name.unwrap_or_default();
            let line = format!("{verb} {resource} {name}");
            self.holds(is_told(evidence, ran, verb, resource, name), || {
                format!("{} was told {:?} and sent: {line}", ran.user, ran.work)
            });
            self.holds(is_planned(ran, resource, name), || {
                format!("{} sent what its receipt does not name: {line}", ran.user)
            });
            let body = &request["requestObject"];
            let guarded = match verb {
                "delete" => {
                    let given = |it: &str| !text(&body["preconditions"][it]).is_empty();
                    given("uid") && given("resourceVersion")
                }
                "patch" => {
                    let tests = |path: &str| {
                        let mut all = body.as_array().into_iter().flatten();
                        all.any(|it| it["op"] == "test" && it["path"] == path)
                    };
                    tests("/metadata/uid") && tests("/metadata/resourceVersion")
                }
                "create" => true,
                _ => false,
            };
            self.holds(guarded, || format!("{} sent without conditions: {request:#}", ran.user));
            let path = text(&request["requestURI"]).split('?').next().unwrap_or_default();
            let method = match verb {
                "delete" => "DELETE",
                "create" => "POST",
                _ => "PATCH",
            };
            sent.push(format!("{method} {path}"));
        }
        let mut noted = ran.intents.clone();
        for line in &sent {
            match noted.iter().position(|it| it == line) {
                Some(place) => drop(noted.remove(place)),
                None => self.wrong.push(format!("{} sent, and had not noted: {line}", ran.user)),
            }
        }
        // What was killed may have noted what it did not come to send.
        self.holds(noted.is_empty() || ran.code.is_none(), || {
            format!("{} noted, and never sent: {noted:?}", ran.user)
        });
        self.holds(ran.code != Some(5) || sent.is_empty(), || {
            format!("{} says that nothing was changed, and sent {sent:?}", ran.user)
        });
    }
}

/// Whether what it was told can need this.
fn is_told(evidence: &Evidence, ran: &Ran, verb: &str, resource: &str, name: &str) -> bool {
    let volume = |claim: usize| {
        // A claim may have been created again, and have another volume by then.
        let first = evidence.backings[claim].volume == name;
        let mut all = evidence.of("persistentvolumes", name);
        first || all.any(|it| it.object["spec"]["claimRef"]["name"] == Case::name(claim))
    };
    match (&ran.work, verb, resource) {
        (Work::Delete { claims, .. }, "patch", "persistentvolumes") => {
            claims.iter().any(|it| volume(*it))
        }
        (Work::Delete { claims, .. }, "delete", "persistentvolumeclaims") => {
            claims.iter().any(|it| Case::name(*it) == name)
        }
        (Work::Retain(claim), "patch", "persistentvolumes") => volume(*claim),
        (Work::Rebind { claim, .. }, "patch", "persistentvolumes") => {
            evidence.backings[*claim].volume == name
        }
        (Work::Rebind { claim, to }, "create" | "patch", "persistentvolumeclaims") => {
            name == to.as_deref().unwrap_or(Case::name(*claim))
        }
        (Work::Undo(of), ..) => {
            let undone = evidence.ran.iter().find(|it| it.index == *of);
            let creates = verb == "create" && resource == "persistentvolumeclaims";
            let reverts = verb == "patch" && resource == "persistentvolumes";
            (creates || reverts)
                && undone.is_some_and(|undone| {
                    let claims = match &undone.work {
                        Work::Delete { claims, .. } => claims.clone(),
                        Work::Retain(claim) | Work::Rebind { claim, .. } => vec![*claim],
                        Work::Undo(_) => return true,
                    };
                    claims
                        .iter()
                        .any(|it| if creates { Case::name(*it) == name } else { volume(*it) })
                })
        }
        _ => false,
    }
}

/// Whether the receipt speaks of it; what was killed has none.
fn is_planned(ran: &Ran, resource: &str, name: &str) -> bool {
    if ran.code.is_none() {
        return true;
    }
    let named = |value: &Value| value["object"]["name"] == name;
    let changes = ran.json["changes"].as_array().into_iter().flatten();
    changes.into_iter().any(|change| {
        let steps = change["steps"].as_array().into_iter().flatten();
        let spoken = change.to_string().contains(&format!("{name}\""))
            || change.to_string().contains(&format!("{name} "));
        named(change) || steps.into_iter().any(named) || (spoken && !resource.is_empty())
    })
}
