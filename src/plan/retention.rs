//! `retention set`: plans to change the retention policy of sets. `retention reconcile`: selects
//! `StatefulSet`s, and plans to have their claims follow their policies. `disown` and `expand`: plans for
//! claims that the user names.

use std::collections::BTreeSet;

use super::{ObjectDetails, Plan, Purpose, RefusedObject, no_such};
use crate::cluster::{Cx, Seen};
use crate::facts::retention::membership;
use crate::model::{Claim, Kind, ObjectKey, ObjectRef, StatefulSet, Text};
use crate::remedies::{Growth, RetentionChange, RetentionRequest};

/// Name of the command in plans, in the journal and in `rbac`.
pub const COMMAND: &str = "retention-reconcile";

/// Plans changes for the claims of these sets; without names, of all sets in the scope of the settings.
pub fn retention_reconcile(cx: &Cx, names: &[Text]) -> Plan {
    let mut plan = Plan::new(COMMAND, cx);
    let scope = &cx.settings().scope;
    let meant = |set: &StatefulSet| {
        scope.includes(&set.namespace)
            && (scope.selector.is_empty() || scope.selector.matches(&set.metadata.labels))
    };
    let mut planned = BTreeSet::new();
    let mut found = BTreeSet::new();
    for (_, set) in cx.cluster().sets() {
        let by_name = names.iter().find(|it| ***it == *set.metadata.name);
        if !meant(set) || (by_name.is_none() && !names.is_empty()) {
            continue;
        }
        found.extend(by_name);
        if let Err(unseen) = of_set(cx, &mut plan, set, by_name.is_some(), &mut planned) {
            plan.refusals.push(RefusedObject {
                object: set.object(),
                because: COMMAND,
                reason: unseen.reason,
                unseen: true,
                named: by_name.is_some(),
                about: ObjectDetails::default(),
            });
        }
    }
    for name in names.iter().filter(|it| !found.contains(it)) {
        let namespace = scope.namespace().map_or("default", |it| it);
        let key = ObjectKey::named(Kind::StatefulSet, namespace, name);
        let object = ObjectRef { key, uid: None };
        match cx.cluster().reach(Kind::StatefulSet, scope.namespace()) {
            Ok(()) => {
                plan.refuse(object, COMMAND, no_such(Kind::StatefulSet).to_owned(), false);
            }
            Err(unseen) => plan.refuse(object, COMMAND, unseen.reason, true),
        }
    }
    let rank = |purpose: &Purpose| match purpose {
        Purpose::ReconcileRetention(change) => change.rank(),
        _ => 0,
    };
    plan.changes.sort_by(|a, b| (rank(&a.purpose), &a.object).cmp(&(rank(&b.purpose), &b.object)));
    plan.refusals.sort_by(|a, b| a.object.cmp(&b.object));
    plan
}

/// Plans changes for the claims of one set that have none yet: claims of an ambiguous name belong to several sets.
fn of_set(
    cx: &Cx,
    plan: &mut Plan,
    set: &StatefulSet,
    named: bool,
    planned: &mut BTreeSet<ObjectKey>,
) -> Seen<()> {
    for template in &set.templates {
        let stem = format!("{}-{}", template.name, set.metadata.name);
        for (_, claim) in cx.claims_of_stem(&set.namespace, &stem)? {
            let membership = membership(cx, claim)?;
            let ambiguous = membership.decided.is_none();
            let is_its =
                membership.decided.is_some_and(|it| it.set.metadata.uid == set.metadata.uid);
            if !(is_its || ambiguous) || !planned.insert(claim.object().key) {
                continue;
            }
            match membership.decided {
                Some(member) => {
                    let candidates = RetentionChange::candidates(cx, claim, &member)?;
                    for candidate in candidates {
                        let before = plan.changes.len();
                        take(cx, plan, claim, candidate.change, named && candidate.asked);
                        // A claim that is deleted needs no other owners.
                        if plan.changes.len() > before {
                            break;
                        }
                    }
                }
                // Nothing comes into question for a claim without owners, unless it was asked for.
                None if claim.metadata.owners.is_empty() && !cx.settings().delete_leftovers => {}
                None => take(cx, plan, claim, RetentionChange::RemoveOwners, named),
            }
        }
    }
    Ok(())
}

fn take(cx: &Cx, plan: &mut Plan, claim: &Claim, change: RetentionChange, named: bool) {
    let object = claim.object();
    let about = ObjectDetails::of_object(cx, &object);
    plan.take_proposed(cx, Purpose::ReconcileRetention(change), object, about, named);
}

/// Plans to change the retention policy of these sets.
pub fn set_retention(cx: &Cx, sets: &[ObjectKey], request: &RetentionRequest) -> Plan {
    let mut plan = Plan::new("retention-set", cx);
    for key in sets {
        let purpose = Purpose::SetRetention(Box::new(request.clone()));
        let object = ObjectRef { key: key.clone(), uid: None };
        let Some(namespace) = &key.namespace else { continue };
        match cx.set(namespace, &key.name) {
            Ok(Some(set)) => {
                let about = ObjectDetails::of_object(cx, &object);
                plan.take_proposed(cx, purpose, set.object(), about, true);
            }
            Ok(None) => {
                let reason = format!("{} in namespace {namespace}", no_such(key.kind));
                plan.refuse(object, purpose.id(), reason, false);
            }
            Err(unseen) => plan.refuse(object, purpose.id(), unseen.reason, true),
        }
    }
    plan.sorted()
}

/// Plans to remove, from these claims, the references to owners that do not exist.
pub fn disown(cx: &Cx, claims: &[ObjectKey]) -> Plan {
    of_claims(cx, "disown", claims, &Purpose::Disown)
}

/// Plans to request a larger size for these claims.
pub fn expand(cx: &Cx, claims: &[ObjectKey], growth: Growth) -> Plan {
    of_claims(cx, "expand", claims, &Purpose::Expand(growth))
}

/// Plans to change claims that the user names.
fn of_claims(cx: &Cx, command: &'static str, claims: &[ObjectKey], purpose: &Purpose) -> Plan {
    let mut plan = Plan::new(command, cx);
    for key in claims.iter().filter_map(ObjectKey::as_claim) {
        let object = ObjectRef { key: ObjectKey::claim(&key), uid: None };
        match cx.claim(&key) {
            Ok(Some(claim)) => {
                let object = claim.object();
                let about = ObjectDetails::of_object(cx, &object);
                plan.take_proposed(cx, purpose.clone(), object, about, true);
            }
            Ok(None) => {
                let reason = no_such(object.key.kind).to_owned();
                plan.refuse(object, purpose.id(), reason, false);
            }
            Err(unseen) => plan.refuse(object, purpose.id(), unseen.reason, true),
        }
    }
    plan.sorted()
}
