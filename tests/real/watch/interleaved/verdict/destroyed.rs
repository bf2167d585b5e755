//! What was destroyed, and what was not.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::super::model::{self, NAME, RECORDS, VETOES};
use super::{Evidence, Verdict, operation, policy, process, tested, written};
use crate::support::history::{Revision, answered, received, succeeded, text};

/// What pauses those who act.
const PAUSE: &str = "kubectl-storage-watch";

impl Verdict {
    /// Judges each patch of a volume by the tool.
    pub(super) fn destroyed(&mut self, evidence: &Evidence) {
        let mut ended: BTreeMap<&str, usize> = BTreeMap::new();
        for patch in evidence.patches() {
            let name = text(&patch["objectRef"]["name"]);
            let judged = match policy(patch) {
                Some("Delete") => {
                    self.count("reclaimed");
                    let uid = operation(patch, "test", "/metadata/uid");
                    *ended.entry(uid.map_or("", |it| text(it))).or_default() += 1;
                    reclaimed(evidence, patch)
                }
                Some(_) => {
                    self.count("rescued");
                    rescued(evidence, patch)
                }
                None => {
                    self.count("announced");
                    announced(evidence, patch)
                }
            };
            if let Err(why) = judged {
                self.wrong.push(format!("{name}: {why}"));
            }
            if let Some(since) = paused(evidence, patch) {
                self.wrong.push(format!("{name}: patched although it was paused since {since}"));
            }
        }
        // What is reclaimed once more was reverted by somebody.
        for (uid, count) in ended {
            let mut policies: Vec<_> = evidence
                .volumes()
                .filter(|it| it.uid() == uid)
                .map(|it| text(&it.object["spec"]["persistentVolumeReclaimPolicy"]))
                .collect();
            policies.dedup();
            let turns = policies.windows(2).filter(|it| *it == ["Retain", "Delete"]).count();
            self.holds(count <= turns, || {
                format!("{uid}: reclaimed {count} times, and only {turns} turned to Delete")
            });
        }
    }

    /// Judges what is left of each volume, and of the driver's.
    pub(super) fn left(&mut self, evidence: &Evidence) {
        let mut patched = model::Patched::new();
        evidence.requests.iter().for_each(|it| model::count(&mut patched, it));
        let state = model::state(evidence.revisions.iter());
        let overdue = model::left(&state, &patched, Utc::now());
        for name in &overdue {
            self.wrong.push(format!("{name}: it is due, and still there"));
        }
        self.holds(evidence.settled, || format!("it did not settle: {:?}", model::moving(&state)));
        for (handle, there) in &evidence.backends {
            let of_it: Vec<_> = evidence
                .volumes()
                .filter(|it| text(&it.object["spec"]["csi"]["volumeHandle"]) == handle)
                .collect();
            let is_known = of_it.iter().any(|it| state.contains_key(&(it.resource, it.name())));
            if !there {
                self.count("backends that are gone");
                if let Err(why) = allowed_end(evidence, &of_it) {
                    self.wrong.push(format!("{handle}: {why}"));
                }
            } else if !is_known {
                let deleted = of_it.iter().any(|it| is_deleted_by_people(evidence, it.name()));
                self.holds(deleted, || format!("{handle}: nothing names it any more: it leaked"));
            } else {
                self.count("backends that are there");
            }
        }
    }
}

/// Whether a backend may be gone: the volume was Released when its policy was Delete, and each time it became that it was
/// the tool, which is judged by itself, or somebody by hand.
fn allowed_end(evidence: &Evidence, of_it: &[&Revision]) -> Result<(), String> {
    let destroys = |it: &Revision| it.object["spec"]["persistentVolumeReclaimPolicy"] == "Delete";
    let ends = of_it.iter().any(|it| destroys(it) && it.object["status"]["phase"] == "Released");
    if !ends {
        return Err("it is gone, and was never Released with policy Delete".to_owned());
    }
    let turned: Vec<_> = of_it
        .windows(2)
        .filter(|it| it[0].uid() == it[1].uid() && !destroys(it[0]) && destroys(it[1]))
        .map(|it| it[1])
        .collect();
    let by_tool = turned.iter().filter(|it| {
        let mut patches = evidence.patches().filter(|it| policy(it) == Some("Delete"));
        patches.any(|patch| {
            written(&evidence.revisions, patch).is_some_and(|by| by.version == it.version)
        })
    });
    let by_hand = evidence.requests.iter().filter(|it| {
        let body = &it["requestObject"]["spec"]["persistentVolumeReclaimPolicy"];
        process(it).is_none()
            && it["verb"] == "patch"
            && *body == "Delete"
            && succeeded(it)
            && of_it.iter().any(|of| it["objectRef"]["name"] == *of.name())
    });
    let known = by_tool.count() + by_hand.count();
    match known >= turned.len() {
        true => Ok(()),
        false => Err(format!("{} times it turned to Delete, {known} of them known", turned.len())),
    }
}

fn is_deleted_by_people(evidence: &Evidence, name: &str) -> bool {
    evidence.requests.iter().any(|it| {
        it["verb"] == "delete"
            && it["objectRef"]["resource"] == "persistentvolumes"
            && it["objectRef"]["name"] == *name
            && it["userAgent"] == "scenario"
            && succeeded(it)
    })
}

/// The last request of the process before its patch that is so.
fn before<'a>(
    evidence: &'a Evidence,
    patch: &Value,
    so: impl Fn(&Value) -> bool,
) -> Option<&'a Value> {
    let (user, sent) = (process(patch), received(patch));
    let all = evidence.requests.iter().filter(|it| process(it) == user && so(it));
    all.filter(|it| answered(it) <= sent).max_by_key(|it| received(it))
}

/// The list of the records that a patch rests on: the last one before the volume was read again. The loop that reports lists
/// them too, whenever it likes.
fn list_before<'a>(evidence: &'a Evidence, patch: &Value) -> Result<&'a Value, String> {
    let read = before(evidence, patch, |it| {
        it["verb"] == "get"
            && it["objectRef"]["name"] == patch["objectRef"]["name"]
            && it["objectRef"]["resource"] == "persistentvolumes"
    });
    let read = received(read.ok_or("without having read it again")?);
    let list = before(evidence, patch, |it| {
        it["verb"] == "list"
            && it["objectRef"]["resource"] == "configmaps"
            && it["objectRef"]["namespace"] == RECORDS
            && answered(it) <= read
    });
    let list = list.ok_or("without having listed the records")?;
    match text(&list["requestURI"]).contains("resourceVersion=") {
        true => Err("the records were listed from a cache".to_owned()),
        false => Ok(list),
    }
}

/// What there may have been when the tool last looked, and until it wrote: each of these.
fn moments(
    evidence: &Evidence,
    looked: DateTime<Utc>,
    until: u64,
    of: impl Fn(&Revision) -> bool,
) -> Vec<model::State<'_>> {
    let all: Vec<_> = evidence.revisions.iter().filter(|it| of(it) && it.version < until).collect();
    let certain = all.iter().rposition(|it| it.at < looked).map_or(0, |it| it + 1);
    let state = |end| model::state(all[..end].iter().copied());
    (certain..=all.len()).map(state).collect()
}

fn is_record(revision: &Revision) -> bool {
    revision.name().starts_with(NAME) || revision.name() == VETOES
}

/// Judges a patch that destroys.
fn reclaimed(evidence: &Evidence, patch: &Value) -> Result<(), String> {
    let volume = tested(&evidence.revisions, patch).ok_or("it tests a version that never was")?;
    let after = written(&evidence.revisions, patch).map_or(u64::MAX, |it| it.version);
    let list = list_before(evidence, patch)?;
    let at = received(patch);
    let judged = moments(evidence, received(list), after, is_record);
    let judged: Vec<_> =
        judged.iter().map(|state| model::forbidden(state, &volume.object, at)).collect();
    if let Some(Err(why)) = judged.iter().find(|_| judged.iter().all(Result::is_err)) {
        return Err(format!("reclaimed at {at}, although {why}"));
    }
    // Its claim was asked for, too.
    let claim = text(&volume.object["spec"]["claimRef"]["name"]);
    let asked = before(evidence, patch, |it| {
        it["verb"] == "get"
            && it["objectRef"]["resource"] == "persistentvolumeclaims"
            && it["objectRef"]["name"] == *claim
    });
    let asked = asked.ok_or("reclaimed without having asked for its claim")?;
    let is_claim = |it: &Revision| it.resource == "persistentvolumeclaims" && it.name() == claim;
    let there = moments(evidence, received(asked), after, is_claim);
    match there.iter().all(|it| !it.is_empty()) {
        true => Err("reclaimed although its claim was back".to_owned()),
        false => Ok(()),
    }
}

/// Judges a patch that announces.
fn announced(evidence: &Evidence, patch: &Value) -> Result<(), String> {
    let volume = tested(&evidence.revisions, patch).ok_or("it tests a version that never was")?;
    let after = written(&evidence.revisions, patch).map_or(u64::MAX, |it| it.version);
    let list = list_before(evidence, patch)?;
    let spec = &volume.object["spec"];
    if volume.object["status"]["phase"] != "Released"
        || spec["persistentVolumeReclaimPolicy"] != "Retain"
    {
        return Err("announced, and not Released and kept".to_owned());
    }
    let moments = moments(evidence, received(list), after, is_record);
    if moments.iter().all(|it| model::is_vetoed(it, volume.uid())) {
        return Err("announced although its veto was recorded".to_owned());
    }
    match moments.iter().all(|it| model::is_unmarked(it, &volume.object)) {
        true => Err("announced although its mark was removed".to_owned()),
        false => Ok(()),
    }
}

/// Judges a patch that keeps.
fn rescued(evidence: &Evidence, patch: &Value) -> Result<(), String> {
    let volume = tested(&evidence.revisions, patch).ok_or("it tests a version that never was")?;
    let claim = text(&volume.object["spec"]["claimRef"]["name"]);
    let until = written(&evidence.revisions, patch).map_or(u64::MAX, |it| it.version);
    let mut claims = evidence.revisions.iter().filter(|it| {
        it.resource == "persistentvolumeclaims" && it.name() == claim && it.version < until
    });
    match claims.any(Revision::terminating) {
        true => Ok(()),
        false => Err("kept although nobody has deleted its claim".to_owned()),
    }
}

/// Since when the process knew that it was paused when it sent a patch: it asks again only after it took in the answer
/// before, so that what it has asked for twice it knows.
fn paused(evidence: &Evidence, patch: &Value) -> Option<DateTime<Utc>> {
    let sent = received(patch);
    let user = process(patch);
    let mut asked: Vec<_> = evidence
        .requests
        .iter()
        .filter(|it| {
            process(it) == user
                && it["verb"] == "get"
                && it["objectRef"]["name"] == PAUSE
                && it["objectRef"]["resource"] == "configmaps"
        })
        .map(received)
        .filter(|it| *it < sent)
        .collect();
    asked.sort();
    let second_last = *asked.get(asked.len().checked_sub(2)?)?;
    let pauses =
        evidence.revisions.iter().filter(|it| it.name() == PAUSE && it.resource == "configmaps");
    let may_act = |it: &&Revision| !it.terminating() && it.object["data"]["paused"] == "false";
    let (known, later): (Vec<_>, Vec<_>) = pauses.partition(|it| it.at < second_last);
    let last = known.last()?;
    // What was said meanwhile may have been heard.
    let resumed = later.iter().any(may_act);
    (!may_act(last) && !resumed).then_some(last.at)
}
