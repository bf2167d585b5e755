//! Nothing is deleted that is used: of what was there before the tool began to read for the last time, it knew.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::super::case::{Act, Case, Kind, Work};
use super::super::history::{Revision, answered, received, text};
use super::super::run::Ran;
use super::super::shapes::name_of;
use super::super::world::named;
use super::{About, Asked, Evidence, Verdict};

/// What a claim may be used by, besides pods.
const READ: [&str; 6] =
    ["deployments", "statefulsets", "jobs", "cronjobs", "scaledjobs", "workflowtemplates"];

impl Verdict {
    pub(super) fn users(&mut self, evidence: &Evidence, ran: &Ran) {
        for delete in evidence.writes_of(ran, "delete", "persistentvolumeclaims") {
            let claim = text(&delete["objectRef"]["name"]);
            self.no_pod_uses(evidence, ran, claim, delete, "deleted");
            self.no_workload_uses(evidence, ran, claim, delete);
        }
        let destroys = matches!(ran.work, Work::Delete { keep: false, .. });
        for patch in evidence.writes_of(ran, "patch", "persistentvolumes").filter(|_| destroys) {
            let volume = text(&patch["objectRef"]["name"]);
            let to_delete = patch["requestObject"].as_array().into_iter().flatten().any(|it| {
                it["path"] == "/spec/persistentVolumeReclaimPolicy"
                    && it["value"] == "Delete"
                    && it["op"] != "test"
            });
            let backing = evidence.backings.iter().find(|it| it.volume == volume);
            if let (true, Some(backing)) = (to_delete, backing) {
                let claim = Case::name(backing.claim);
                self.no_pod_uses(evidence, ran, claim, patch, "destroyed the volume of");
            }
        }
    }

    fn no_pod_uses(
        &mut self,
        evidence: &Evidence,
        ran: &Ran,
        claim: &str,
        write: &Value,
        did: &str,
    ) {
        let user = &ran.user;
        let Some(asked) = evidence.asked(ran, &About::All("pods"), received(write)) else {
            let pods = pods_of(evidence, claim).into_values().map(|it| it[0].name().to_owned());
            let pods: Vec<_> = pods.collect();
            self.wrong.push(format!(
                "{user} {did} {claim} without having listed pods; pods that use it came and went: {pods:?}"
            ));
            return;
        };
        self.holds(!asked.stale, || format!("{user} {did} {claim} after a list from a cache"));
        let deletion = evidence.deleted_by(write);
        for pod in pods_of(evidence, claim).into_values() {
            let first = pod[0];
            let gone = pod.iter().find(|it| it.gone);
            let outlived = match (gone, deletion) {
                (None, _) => true,
                (Some(gone), Some(deletion)) => gone.version > deletion.version,
                (Some(_), None) => false,
            };
            let touched = removal_of(evidence, first.name());
            let listed = outlived || touched.is_none_or(|it| it > asked.answered);
            if first.at < asked.received && listed {
                self.wrong.push(format!(
                    "{user} {did} {claim} although pod {} uses it: heard of at {}, pods were listed from {} to {}, sent at {}",
                    first.name(), first.at, asked.received, asked.answered, received(write)
                ));
            } else if first.at < received(write) && outlived {
                self.count("(a pod that came between the last list and the deletion)");
            }
        }
    }

    fn no_workload_uses(&mut self, evidence: &Evidence, ran: &Ran, claim: &str, delete: &Value) {
        let user = &ran.user;
        for resource in READ {
            let asked = evidence.asked(ran, &About::All(resource), received(delete));
            let Some(asked) = asked else {
                self.wrong.push(format!("{user} deleted {claim} without having read {resource}"));
                continue;
            };
            for (index, kind, named) in workloads_of(evidence, claim) {
                if kind.resource() == resource && was_there(evidence, index, &asked) {
                    self.wrong.push(format!(
                        "{user} deleted {claim} although {resource} {named} uses it: {resource} were read from {} to {}, sent at {}",
                        asked.received, asked.answered, received(delete)
                    ));
                }
            }
        }
    }
}

/// All pods that name a claim, with all their revisions, by their uids.
fn pods_of<'a>(evidence: &'a Evidence, claim: &str) -> BTreeMap<&'a str, Vec<&'a Revision>> {
    let mut pods: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for revision in evidence.revisions.iter().filter(|it| it.resource == "pods") {
        let volumes = revision.object["spec"]["volumes"].as_array().into_iter().flatten();
        let mut names = volumes.map(|it| &it["persistentVolumeClaim"]["claimName"]);
        if names.any(|it| it == claim) {
            pods.entry(revision.uid()).or_default().push(revision);
        }
    }
    pods
}

/// When the server was first asked to remove a pod, by anybody.
fn removal_of(evidence: &Evidence, pod: &str) -> Option<DateTime<Utc>> {
    let of = evidence.requests.iter().filter(|it| {
        let object = &it["objectRef"];
        let one = it["verb"] == "delete" && object["name"] == pod;
        object["resource"] == "pods" && (one || it["verb"] == "deletecollection")
    });
    of.map(received).min()
}

/// The deeds that created workloads that use a claim at any number of replicas, and the names of these.
fn workloads_of(evidence: &Evidence, claim: &str) -> Vec<(usize, Kind, String)> {
    let mut found = Vec::new();
    for (index, deed) in evidence.case.deeds.iter().enumerate() {
        let Act::Workload(kind, of, replicas) = &deed.act else { continue };
        // A Job that runs ends by itself; while it does not, its pod uses the claim.
        let ends = *kind == Kind::Job && *replicas > 0;
        if Case::name(*of) == claim && !ends {
            found.push((index, *kind, name_of(*kind, &named(index), claim)));
        }
    }
    // The claims of a set's templates are its own at any ordinal below its replicas, and it may be scaled.
    found.retain(|(_, kind, name)| *kind != Kind::StatefulSet || name != super::super::case::SET);
    found
}

/// Whether what a deed created was in an answer for certain.
fn was_there(evidence: &Evidence, deed: usize, asked: &Asked) -> bool {
    let made = evidence.did.iter().find(|it| it.index == deed);
    let before = made.is_some_and(|it| it.succeeded() && it.end < asked.received);
    let changed = evidence.did.iter().any(|it| {
        let touches = match &evidence.case.deeds[it.index].act {
            Act::Remove(of) => *of == deed,
            // A Job that was suspended begins, and ends.
            Act::Scale(of, _) => {
                let of = &evidence.case.deeds[*of].act;
                *of == evidence.case.deeds[deed].act && matches!(of, Act::Workload(Kind::Job, ..))
            }
            _ => false,
        };
        touches && it.result.is_some() && it.begin <= asked.answered
    });
    // Whatever else removes one asks for it by its name.
    before && !changed && !removed_otherwise(evidence, deed, asked)
}

fn removed_otherwise(evidence: &Evidence, deed: usize, asked: &Asked) -> bool {
    evidence.requests.iter().any(|it| {
        it["verb"] == "delete"
            && it["objectRef"]["name"] == *named(deed)
            && answered(it) <= asked.answered
    })
}
