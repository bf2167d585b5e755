//! Whether a volume may be destroyed: the promise, in few words and of nothing but what the cluster holds.

use std::collections::BTreeMap;

use chrono::{DateTime, NaiveDate, TimeDelta, Utc};
use serde_json::Value;

use super::case::PREFIX;
use super::verdict;
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

/// How often the tool has announced and reclaimed each volume.
pub(super) type Patched = BTreeMap<String, [usize; 2]>;

/// What somebody undoes as often is left alone for an hour.
const OFTEN: usize = 3;

/// Counts a request.
pub(super) fn count(patched: &mut Patched, request: &Value) {
    if verdict::is_patch(request) {
        let of_it = patched.entry(text(&request["objectRef"]["name"]).to_owned()).or_default();
        of_it[usize::from(verdict::policy(request).is_some())] += 1;
    }
}

/// Whether nothing happens any more: nothing has to go, and nothing is going.
pub(super) fn has_settled(history: &History, case: &str) -> bool {
    let mut patched = Patched::new();
    history.any_request(case, |it| {
        count(&mut patched, it);
        false
    });
    let revisions = revisions(history, case);
    let state = state(revisions.iter());
    moving(&state).is_empty() && left(&state, &patched, Utc::now()).is_empty()
}

fn volumes<'a>(state: &'a State) -> impl Iterator<Item = &'a Revision> {
    state.values().filter(|it| it.resource == "persistentvolumes").copied()
}

/// Nobody detaches what a pod has used for a minute or more after it, so that it stays for as long.
fn was_attached(volume: &Revision) -> bool {
    !volume.name().starts_with(PREFIX)
}

fn is_policy(volume: &Revision, policy: &str) -> bool {
    volume.object["spec"]["persistentVolumeReclaimPolicy"] == *policy
}

/// The volumes that controllers have yet to do something to, by name.
pub(super) fn moving<'a>(state: &'a State) -> Vec<&'a str> {
    let moving = |it: &&Revision| match text(&it.object["status"]["phase"]) {
        "" | "Pending" => true,
        "Released" => is_policy(it, "Delete") && !was_attached(it),
        _ => false,
    };
    // What a claim has got at the last moment stays Terminating for as long as that has it.
    let is_one = |it: &&Revision| {
        (it.terminating() && it.object["status"]["phase"] != "Bound") || moving(it)
    };
    volumes(state).filter(is_one).map(Revision::name).collect()
}

/// The volumes that the tool has yet to do something to, by name.
pub(super) fn left<'a>(state: &'a State, patched: &Patched, now: DateTime<Utc>) -> Vec<&'a str> {
    let claim_of = |it: &Revision| {
        let claim = text(&it.object["spec"]["claimRef"]["name"]);
        state.get(&("persistentvolumeclaims", claim)).copied()
    };
    let is_due = |it: &&Revision| {
        let claim = claim_of(it);
        match text(&it.object["status"]["phase"]) {
            // A claim that is deleted under its pod is to be rescued.
            "Bound" => claim.is_some_and(Revision::terminating) && is_policy(it, "Delete"),
            "Released" if claim.is_none() && is_policy(it, "Retain") && !was_attached(it) => {
                // Whoever sets the policy back after it was reclaimed has taken it back for good.
                let undone = patched
                    .get(it.name())
                    .is_some_and(|[announced, reclaimed]| *announced >= OFTEN || *reclaimed > 0);
                !undone && !it.terminating() && is_unopposed(state, &it.object, now)
            }
            _ => false,
        }
    };
    volumes(state).filter(is_due).map(Revision::name).collect()
}

/// Whether nobody objects to its end, for now or for good.
fn is_unopposed(state: &State, volume: &Value, now: DateTime<Utc>) -> bool {
    let metadata = &volume["metadata"];
    let annotations = &metadata["annotations"];
    let shown = annotations[MARK].as_str().and_then(shown);
    let is_far = shown.is_some_and(|it| it > now + TimeDelta::hours(1));
    let kept = annotations[KEEP_UNTIL].as_str().and_then(|it| it.parse::<NaiveDate>().ok());
    let is_kept = kept.is_some_and(|it| it > now.date_naive());
    let is_vetoed = is_vetoed(state, text(&metadata["uid"])) || is_unmarked(state, volume);
    !(is_far || is_kept || is_vetoed)
}
