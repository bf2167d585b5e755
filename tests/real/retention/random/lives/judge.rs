//! What must not happen to claims: a promise that `retention reconcile` makes, and that no settled step may break.
//!
//! It knows nothing of the tool's own rules: only names, ranges, policies, and what there was before and after.

use std::collections::{BTreeMap, BTreeSet};

use kubectl_storage::facts::retention::{Operation, Propagation};
use serde_json::Value;

use super::life::Step;

/// What there is at one moment in a namespace.
pub(super) struct Look {
    /// The set `web`, if there is one.
    pub(super) set: Option<Value>,
    /// Another set whose claims are called the same, if there is one.
    pub(super) rival: Option<Value>,
    pub(super) pods: Vec<Value>,
    pub(super) claims: BTreeMap<String, Value>,
}

/// What was promised, and what was found wrong.
#[derive(Default)]
pub(super) struct Judge {
    /// Claims that have to survive, by name: their uids.
    promised: BTreeMap<String, String>,
    /// Those from which references were removed.
    rescued: BTreeSet<String>,
    pub(super) wrong: Vec<String>,
    pub(super) counts: BTreeMap<&'static str, u64>,
}

impl Judge {
    /// After `retention reconcile`: it deleted no claim but leftovers that it may delete, and what the policy retains is
    /// promised to survive, except claims whose references it said that it did not remove.
    pub(super) fn applied(
        &mut self,
        before: &Look,
        after: &Look,
        undone: &BTreeSet<String>,
        leftovers: bool,
    ) {
        for name in before.claims.keys().filter(|name| is_lost(name, before, after)) {
            match in_the_way(name, before) {
                None if leftovers => self.count("leftovers deleted"),
                None => self.wrong.push(format!("apply deleted {name} without a flag")),
                Some(why) => self.wrong.push(format!("apply deleted {name}, though {why}")),
            }
        }
        self.promised.retain(|name, _| after.claims.contains_key(name));
        let Some(set) = after.set.as_ref().filter(|it| is_live(it)) else { return };
        for (name, claim) in after.claims.iter().filter(|(_, claim)| is_live(claim)) {
            if ordinal(name, set).is_none() {
                continue;
            }
            if undone.contains(name) {
                self.promised.remove(name);
                self.count("claims that apply refused");
                continue;
            }
            self.promised.insert(name.clone(), uid(claim));
            self.count("promises");
            let owners = |look: &Look| {
                let claim = look.claims.get(name).map(|it| &it["metadata"]["ownerReferences"]);
                claim.and_then(Value::as_array).map_or(0, Vec::len)
            };
            if owners(after) < owners(before) {
                self.rescued.insert(name.clone());
            }
        }
    }

    /// After any other step: what was promised is there, unless the step or the policy takes the promise back.
    pub(super) fn stepped(&mut self, step: &Step, before: &Look, after: &Look) {
        let set = before.set.as_ref();
        match step {
            Step::Do(Operation::SetPolicy(_)) => self.promised.clear(),
            Step::Do(Operation::Change(change)) if change.policy.is_some() => self.promised.clear(),
            Step::Recreate(policy) if set.is_none() && (policy.0, policy.1) != RETAIN => {
                self.promised.clear();
            }
            Step::Do(Operation::DeleteSet(how)) => {
                if let Some(set) = set {
                    let owned = *how != Propagation::Orphan && !retains(set, "whenDeleted");
                    self.release(|name| owned || is_beyond(name, set));
                }
            }
            Step::Do(Operation::Scale(_) | Operation::Change(_)) => {
                if let Some(set) = &after.set {
                    self.release(|name| is_beyond(name, set));
                }
            }
            Step::Do(Operation::Wait | Operation::DeletePod(_))
            | Step::Recreate(_)
            | Step::Break(_)
            | Step::Restart
            | Step::Apply { .. } => {}
        }
        let deleted =
            matches!(step, Step::Do(Operation::DeleteSet(how)) if *how != Propagation::Orphan);
        for (name, uid) in std::mem::take(&mut self.promised) {
            let claim = after.claims.get(&name).filter(|it| self::uid(it) == uid);
            if claim.is_none_or(|it| !is_live(it)) {
                self.wrong
                    .push(format!("{name} was lost by {step:?}, though the policy retains it"));
                continue;
            }
            if deleted && set.is_some() && self.rescued.contains(&name) {
                self.count("rescued claims that survived their set");
            }
            self.promised.insert(name, uid);
        }
    }

    /// Takes promises back: the policy does not retain these claims any more.
    fn release(&mut self, released: impl Fn(&str) -> bool) {
        self.promised.retain(|name, _| !released(name));
    }

    fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }
}

const RETAIN: (&str, &str) = ("Retain", "Retain");

/// Why a claim may not be deleted as a leftover, if it may not.
fn in_the_way(name: &str, look: &Look) -> Option<String> {
    let Some(set) = look.set.as_ref().filter(|it| is_live(it)) else {
        return Some("it has no set".to_owned());
    };
    let Some(ordinal) = ordinal(name, set) else {
        return Some("it is no claim of the set".to_owned());
    };
    if look.rival.is_some() {
        return Some("its name is ambiguous".to_owned());
    }
    if retains(set, "whenScaled") {
        return Some("whenScaled is Retain".to_owned());
    }
    if is_in_range(ordinal, set) {
        return Some("it is in range".to_owned());
    }
    if set["spec"]["replicas"] == 0 {
        return Some("the set is paused".to_owned());
    }
    let claim = &look.claims[name]["metadata"];
    let owners = claim["ownerReferences"].as_array().into_iter().flatten();
    if owners.clone().any(|it| it["controller"] == true && it["kind"] == "ConfigMap") {
        return Some("it has a foreign controller".to_owned());
    }
    look.pods.iter().find_map(|pod| {
        let its = pod["metadata"]["name"] == format!("web-{ordinal}");
        let volumes = pod["spec"]["volumes"].as_array().into_iter().flatten();
        let mut claims = volumes.map(|it| &it["persistentVolumeClaim"]["claimName"]);
        let uses = claims.any(|it| *it == *name);
        (its || uses).then(|| format!("pod {} is there", pod["metadata"]["name"]))
    })
}

/// Whether a scale-down deletes a claim: it lies beyond the range, and whenScaled is Delete.
fn is_beyond(name: &str, set: &Value) -> bool {
    let out = ordinal(name, set).is_some_and(|ordinal| !is_in_range(ordinal, set));
    out && !retains(set, "whenScaled")
}

fn is_in_range(ordinal: i32, set: &Value) -> bool {
    let number = |value: &Value, default| value.as_i64().unwrap_or(default);
    let start = number(&set["spec"]["ordinals"]["start"], 0);
    (start..start + number(&set["spec"]["replicas"], 1)).contains(&i64::from(ordinal))
}

fn retains(set: &Value, when: &str) -> bool {
    set["spec"]["persistentVolumeClaimRetentionPolicy"][when] != "Delete"
}

/// The ordinal of a claim of the set, by its name.
fn ordinal(name: &str, set: &Value) -> Option<i32> {
    let templates = set["spec"]["volumeClaimTemplates"].as_array()?;
    templates.iter().find_map(|template| {
        let template = template["metadata"]["name"].as_str()?;
        let digits = name.strip_prefix(&format!("{template}-web-"))?;
        digits.parse::<i32>().ok().filter(|it| it.to_string() == digits)
    })
}

/// Whether a claim that was there is deleted, or will be.
fn is_lost(name: &str, before: &Look, after: &Look) -> bool {
    let was = &before.claims[name];
    let is = after.claims.get(name).filter(|it| uid(it) == uid(was));
    is_live(was) && is.is_none_or(|it| !is_live(it))
}

fn is_live(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_null()
}

fn uid(object: &Value) -> String {
    object["metadata"]["uid"].as_str().unwrap_or_default().to_owned()
}
