//! `delete pvc` and `delete sts` against real controllers: what they refuse, what they send, and what becomes of the data.

mod data;
mod others;
mod owners;
mod raced;
mod refused;
mod rights;
mod selected;
mod used;

use crate::support::{Admin, Mark, Scenario};

/// The words of a run about these claims of the scenario, confirmed.
fn delete<'a>(on: &'a Scenario, names: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [&["delete", "pvc"], names, &["-n", &*on.name, "--yes"], more].concat()
}

/// What was sent besides dry runs, without their bodies.
fn written(admin: &Admin, since: Mark) -> Vec<String> {
    let sent = admin.sent(since).into_iter().filter(|it| !it.dry);
    sent.map(|it| it.line()).collect()
}

/// The policy and the phase of a volume.
fn state(on: &Scenario, volume: &str) -> (String, String) {
    let volume = on.read(&format!("pv/{volume}"));
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    (text(&volume["spec"]["persistentVolumeReclaimPolicy"]), text(&volume["status"]["phase"]))
}

/// Panics unless a claim is as if nobody had wanted its deletion.
#[track_caller]
fn is_untouched(on: &Scenario, claim: &str) {
    let claim = on.read(&format!("pvc/{claim}"));
    assert!(claim["metadata"]["deletionTimestamp"].is_null(), "{claim:#}");
}

/// Panics unless the reason for which a claim was refused has these words.
#[track_caller]
fn because(told: &crate::support::Told, claim: &str, words: &[&str]) {
    let reason = told.reason(claim);
    for word in words {
        assert!(reason.contains(word), "{claim}: {reason:?} does not say {word:?}");
    }
}
