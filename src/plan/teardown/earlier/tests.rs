//! What earlier runs have done, by the journal alone.

use serde_json::json;

use super::{DESTROY, EarlierSteps, KEEP};
use crate::journal::{Entry, EntryOutcome, History, Intent, Outcome, SentRequest};
use crate::model::{Kind, ObjectKey, ObjectRef, Uid};

const VOLUME: &str = "00000000-0000-4000-8000-00000000000a";
const CLAIM: &str = "00000000-0000-4000-8000-00000000000b";
const SET: &str = "00000000-0000-4000-8000-00000000000c";

fn uid(text: &str) -> Uid {
    Uid::parse(text).expect("because it is one")
}

fn object(kind: Kind, name: &str, of: &str) -> ObjectRef {
    ObjectRef { key: ObjectKey::named(kind, "shop", name), uid: Some(uid(of)) }
}

/// An entry of a command, about an object, with the object as it was and what has become of the request.
fn entry(
    sequence: u64,
    command: &str,
    (action, because): (&str, &str),
    object: ObjectRef,
    before: serde_json::Value,
    outcome: Option<Outcome>,
) -> Entry {
    let request = SentRequest {
        method: "PATCH".to_owned(),
        path: String::new(),
        content_type: String::new(),
        body: json!([]),
    };
    Entry {
        sequence,
        at: None,
        run: "run".to_owned(),
        term: None,
        intent: Intent {
            command: command.to_owned(),
            object,
            action: action.to_owned(),
            because: because.to_owned(),
            request,
            pre_image: Some(before),
            backend: None,
            capacity: None,
            keeps: false,
            adds_finalizer: None,
            removes_finalizer: None,
            undoes: None,
        },
        outcomes: outcome
            .map(|outcome| EntryOutcome { at: None, outcome, detail: String::new() })
            .into_iter()
            .collect(),
    }
}

fn volume(policy: &str) -> serde_json::Value {
    json!({"metadata": {"resourceVersion": "7"}, "spec": {"persistentVolumeReclaimPolicy": policy}})
}

/// A teardown held the volume.
fn held(command: &str) -> Entry {
    let pv = object(Kind::PersistentVolume, "pv-1", VOLUME);
    entry(1, command, ("set-reclaim-policy", "retain"), pv, volume("Delete"), Some(Outcome::Done))
}

fn steps(entries: Vec<Entry>, destroys: bool) -> EarlierSteps {
    EarlierSteps::of(&History { entries, ..History::default() }, destroys)
}

#[test]
fn a_volume_is_held_by_the_last_entry_about_it_alone() {
    let pv = || object(Kind::PersistentVolume, "pv-1", VOLUME);
    let is_held = |more: Option<Entry>| {
        let found = steps([held(DESTROY)].into_iter().chain(more).collect(), true);
        (found.retained.contains(&uid(VOLUME)), found.unsettled.len())
    };
    let given_back = |outcome| {
        let what = ("set-reclaim-policy", "reclaim");
        Some(entry(2, DESTROY, what, pv(), volume("Retain"), outcome))
    };
    let by_hand = |command: &str, action: &str, because: &str| {
        let what = (action, because);
        Some(entry(2, command, what, pv(), volume("Delete"), Some(Outcome::Done)))
    };
    let claim_deleted = |command: &str| {
        let claim = object(Kind::PersistentVolumeClaim, "data", CLAIM);
        let before = json!({"spec": {"volumeName": "pv-1"}});
        let what = ("delete-claim", "delete-claim");
        Some(entry(2, command, what, claim, before, Some(Outcome::Done)))
    };
    assert_eq!(is_held(None), (true, 0));
    assert_eq!(is_held(given_back(Some(Outcome::Done))), (false, 0));
    // Killed: whether it was carried out, its resourceVersion tells.
    assert_eq!(is_held(given_back(None)), (false, 1));
    assert_eq!(is_held(given_back(Some(Outcome::Unanswered))), (false, 1));
    // It was not carried out.
    assert_eq!(is_held(given_back(Some(Outcome::Refused))), (true, 0));
    // Decisions of a person.
    assert_eq!(is_held(by_hand("retain", "set-reclaim-policy", "retain")), (false, 0));
    assert_eq!(is_held(by_hand("rebind", "reserve-volume", "rebind")), (false, 0));
    assert_eq!(is_held(claim_deleted("delete")), (false, 0));
    assert_eq!(is_held(claim_deleted(KEEP)), (false, 0));
    assert_eq!(is_held(claim_deleted(DESTROY)), (true, 0));
}

#[test]
fn what_was_kept_is_of_another_teardown() {
    assert!(steps(vec![held(KEEP)], true).retained.is_empty());
    assert!(steps(vec![held(KEEP)], false).retained.contains(&uid(VOLUME)));
    // A policy that was Retain before was chosen.
    let mut chosen = held(DESTROY);
    chosen.intent.pre_image = Some(volume("Retain"));
    assert!(steps(vec![chosen], true).retained.is_empty());
}

#[test]
fn a_workload_is_named_by_its_last_entry() {
    let stopped = |sequence| {
        let set = object(Kind::StatefulSet, "db", SET);
        let what = ("scale-workload", "stop");
        entry(sequence, DESTROY, what, set, json!({}), Some(Outcome::Done))
    };
    let found = steps(vec![stopped(3), stopped(9)], true);
    assert!(found.stopped.contains(&uid(SET)));
    assert_eq!(found.entries.iter().map(|it| it.0).collect::<Vec<_>>(), [9]);
    let mut undone = stopped(10);
    undone.intent.undoes = Some(9);
    undone.intent.because = "restart".to_owned();
    let found = steps(vec![stopped(9), undone], true);
    assert!(found.stopped.is_empty(), "{found:?}");
}

#[test]
fn what_was_neither_delete_nor_retain_is_known_to_be_held() {
    let pv = object(Kind::PersistentVolume, "pv-1", VOLUME);
    let what = ("set-reclaim-policy", "retain");
    let of_recycle = entry(1, DESTROY, what, pv.clone(), volume("Recycle"), Some(Outcome::Done));
    let found = steps(vec![of_recycle.clone()], true);
    assert_eq!((found.held.contains(&uid(VOLUME)), found.retained.len()), (true, 0));
    let decided = entry(2, "retain", what, pv, volume("Retain"), Some(Outcome::Done));
    assert!(steps(vec![of_recycle, decided], true).held.is_empty());
}

#[test]
fn what_a_teardown_of_the_other_mode_has_stopped_is_named() {
    let set = object(Kind::StatefulSet, "db", SET);
    let stop = entry(1, KEEP, ("scale-workload", "stop"), set, json!({}), Some(Outcome::Done));
    let found = steps(vec![stop], true);
    assert_eq!((found.entries.len(), found.stopped.len()), (1, 0));
}

#[test]
fn a_volume_is_what_the_last_entry_made_of_it() {
    let pv = || object(Kind::PersistentVolume, "pv-1", VOLUME);
    let hold = |number, policy| {
        let what = ("set-reclaim-policy", "retain");
        entry(number, DESTROY, what, pv(), volume(policy), Some(Outcome::Done))
    };
    let killed = |number| {
        entry(number, DESTROY, ("set-reclaim-policy", "reclaim"), pv(), volume("Retain"), None)
    };
    let found = steps(vec![hold(1, "Recycle"), hold(2, "Delete")], true);
    assert_eq!((found.held.len(), found.retained.len()), (0, 1));
    let found = steps(vec![hold(1, "Delete"), hold(2, "Recycle")], true);
    assert_eq!((found.held.len(), found.retained.len()), (1, 0));
    // Killed twice while it was given back: it is as unknown as after the first time.
    let found = steps(vec![hold(1, "Delete"), killed(2), killed(3)], true);
    assert_eq!((found.retained.len(), found.unsettled.len()), (0, 1), "{found:?}");
}
