//! Whether a volume may be destroyed: the promise, in few words and of nothing but what the cluster holds.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, NaiveDate, TimeDelta, Utc};
use serde_json::Value;

use super::case::PREFIX;
use crate::support::history::{History, Revision, text};

pub(super) const MARK: &str = "storage.kubectl.dev/announced";
pub(super) const KEEP_UNTIL: &str = "storage.kubectl.dev/keep-until";
pub(super) const RECORD: &str = "storage.kubectl.dev/record";
/// The namespace of the records.
pub(super) const RECORDS: &str = "kube-system";
/// How the names of records of announcements begin.
pub(super) const NAME: &str = "kubectl-storage-announced-";
pub(super) const VETOES: &str = "kubectl-storage-vetoes";

/// The objects that there are, by resource and name.
pub(super) type State<'a> = BTreeMap<(&'a str, &'a str), &'a Revision>;

/// What there is after these revisions, in the order of their versions.
pub(super) fn state<'a>(revisions: impl Iterator<Item = &'a Revision>) -> State<'a> {
    let mut state = State::new();
    for it in revisions {
        let key = (it.resource, it.name());
        let known = state.get(&key).map_or(0, |known: &&Revision| known.version);
        if it.version >= known {
            state.insert(key, it);
        }
    }
    state.retain(|_, it| !it.gone);
    state
}

/// A record that names a volume.
struct Announced {
    name: String,
    created: DateTime<Utc>,
    due: DateTime<Utc>,
    grace: TimeDelta,
    entry: Value,
    /// Whether it counts: listed, immutable, whole, and not being deleted.
    valid: bool,
}

fn records(state: &State, uid: &str) -> Vec<Announced> {
    let all = state.values().filter(|it| it.name().starts_with(NAME));
    let listed = all.filter(|it| it.object["metadata"]["labels"][RECORD] == "announcement");
    let naming = listed.filter(|it| !it.object["data"][uid].is_null());
    naming
        .map(|it| {
            let object = &it.object;
            let json = |key: &str| -> Value {
                serde_json::from_str(text(&object["data"][key])).unwrap_or_default()
            };
            let grace = json("batch")["graceSeconds"].as_i64();
            let created = time(text(&object["metadata"]["creationTimestamp"]));
            let created = created.unwrap_or(DateTime::<Utc>::MAX_UTC);
            let length = TimeDelta::seconds(grace.unwrap_or_default());
            Announced {
                name: it.name().to_owned(),
                created,
                due: created.checked_add_signed(length).unwrap_or(DateTime::<Utc>::MAX_UTC),
                grace: length,
                entry: json(uid),
                valid: object["immutable"] == true && !it.terminating() && grace > Some(0),
            }
        })
        .collect()
}

fn time(text: &str) -> Option<DateTime<Utc>> {
    text.parse().ok()
}

/// The time with which an annotation begins.
pub(super) fn shown(mark: &str) -> Option<DateTime<Utc>> {
    time(mark.split_whitespace().next()?)
}

/// Why a volume may not be destroyed at a time, by what was recorded then.
pub(super) fn forbidden(state: &State, volume: &Value, at: DateTime<Utc>) -> Result<(), String> {
    let metadata = &volume["metadata"];
    let uid = text(&metadata["uid"]);
    let phase = text(&volume["status"]["phase"]);
    if phase != "Released" || !metadata["deletionTimestamp"].is_null() {
        return Err(format!("it was {phase}, or Terminating"));
    }
    if is_vetoed(state, uid) {
        return Err("its veto was recorded".to_owned());
    }
    let mine = records(state, uid);
    let newest = mine.iter().filter(|it| it.valid).max_by_key(|it| it.created);
    let newest = newest.ok_or("no record announced it")?;
    if mine.iter().any(|it| !it.valid && it.created >= newest.created) {
        return Err("its newest record was void".to_owned());
    }
    let mark = metadata["annotations"][MARK].as_str().ok_or("its mark was removed")?;
    let shown = shown(mark).ok_or("its mark was no time")?;
    let is_named = mark.contains(&newest.name);
    if !is_named && mark.contains(" configmap ") {
        return Err("its mark named another record".to_owned());
    }
    if !is_named && shown <= newest.created {
        return Err("its mark was older than its record".to_owned());
    }
    let claim = &volume["spec"]["claimRef"]["uid"];
    let handle = &volume["spec"]["csi"]["volumeHandle"];
    let entry = &newest.entry;
    if entry["claimUid"] != *claim || entry["handle"] != *handle || entry["uid"] != *uid {
        return Err("it was another one when it was announced".to_owned());
    }
    let ends = mine.iter().filter(|it| it.valid).map(|it| it.due);
    let due = ends.chain([shown]).max().unwrap_or(DateTime::<Utc>::MAX_UTC);
    if at < due {
        return Err(format!("it was due at {due}, and not at {at}"));
    }
    match metadata["annotations"][KEEP_UNTIL].as_str() {
        Some(day) if kept(day, newest.grace).is_none_or(|end| at < end) => {
            Err(format!("it was kept until {day}"))
        }
        _ => Ok(()),
    }
}

/// When a volume is due that was to be kept until a day.
fn kept(day: &str, grace: TimeDelta) -> Option<DateTime<Utc>> {
    let day: NaiveDate = day.parse().ok()?;
    Some(day.and_hms_opt(0, 0, 0)?.and_utc() + grace)
}

pub(super) fn is_vetoed(state: &State, uid: &str) -> bool {
    let all = state.get(&("configmaps", VETOES));
    all.is_some_and(|it| {
        it.object["metadata"]["labels"][RECORD] == "veto" && !it.object["data"][uid].is_null()
    })
}

/// Whether somebody has removed the mark of a volume that was announced.
pub(super) fn is_unmarked(state: &State, volume: &Value) -> bool {
    let metadata = &volume["metadata"];
    let mark = metadata["annotations"][MARK].as_str().and_then(shown);
    let announced = records(state, text(&metadata["uid"])).iter().any(|it| it.valid);
    mark.is_none() && announced
}

/// The objects of a case, and what was vetoed in the cluster.
pub(super) fn revisions(history: &History, case: &str) -> Vec<Revision> {
    let mut all = history.revisions(case);
    all.extend(history.revisions(VETOES));
    all.sort_by_key(|it| it.version);
    all
}

/// How often the tool has patched each volume.
pub(super) type Patched = BTreeMap<String, usize>;

/// Counts a request.
pub(super) fn count(patched: &mut Patched, request: &Value) {
    if super::verdict::is_patch(request) {
        *patched.entry(text(&request["objectRef"]["name"]).to_owned()).or_default() += 1;
    }
}

/// The volumes that have to go, and are still there, by name.
pub(super) fn overdue(history: &History, case: &str) -> Vec<String> {
    let mut patched = Patched::new();
    history.any_request(case, |it| {
        count(&mut patched, it);
        false
    });
    left(&revisions(history, case), &patched, Utc::now())
}

/// The same, of revisions that are known.
pub(super) fn left(revisions: &[Revision], patched: &Patched, now: DateTime<Utc>) -> Vec<String> {
    let state = state(revisions.iter());
    let claims: BTreeSet<_> = state
        .values()
        .filter(|it| it.resource == "persistentvolumeclaims")
        .map(|it| it.name())
        .collect();
    let volumes = state.values().filter(|it| it.resource == "persistentvolumes");
    let due = volumes.filter(|it| {
        let (object, metadata) = (&it.object, &it.object["metadata"]);
        let phase = text(&object["status"]["phase"]);
        if matches!(phase, "" | "Pending") || it.terminating() {
            return true;
        }
        let claim = text(&object["spec"]["claimRef"]["name"]);
        let rescued = object["spec"]["persistentVolumeReclaimPolicy"] == "Retain";
        if phase == "Bound" {
            // A claim that is deleted under its pod is to be rescued first.
            let claim = state.get(&("persistentvolumeclaims", claim));
            return claim.is_some_and(|it| it.terminating()) && !rescued;
        }
        // Nobody detaches what a pod has used for a minute or more after it.
        let was_attached = !it.name().starts_with(PREFIX);
        if phase != "Released" || claims.contains(claim) || was_attached {
            return false;
        }
        let annotations = &metadata["annotations"];
        let far = annotations[MARK].as_str().and_then(shown);
        let is_far = far.is_some_and(|it| it > now + TimeDelta::hours(1));
        let kept = annotations[KEEP_UNTIL].as_str().and_then(|it| it.parse::<NaiveDate>().ok());
        let is_kept = kept.is_some_and(|it| it > now.date_naive());
        let vetoed = is_vetoed(&state, text(&metadata["uid"])) || is_unmarked(&state, object);
        // What people undo again and again is left alone for an hour.
        let undone = patched.get(it.name()).is_some_and(|it| *it > 2);
        !(is_far || is_kept || vetoed || undone)
    });
    due.map(|it| it.name().to_owned()).collect()
}
