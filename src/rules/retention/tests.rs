//! `delete sts`, `retention simulate --delete` and `explain sts` say the same of each claim, and it
//! is what the garbage collector does.

use std::collections::{BTreeMap, BTreeSet};

use proptest::{collection::vec, prelude::*, sample::subsequence};
use serde_json::{Value, json};

use super::*;
use crate::model::{Answer, Cascade, Kind, ObjectKey};
use crate::remedies::delete_with_claims::{
    self,
    fixture::{Shop, by_config_map, by_pod, by_set, claim, owned_by, owner, set},
};

/// The custom objects, and the claims that no template predicts.
const OBJECTS: [&str; 4] = ["m0", "m1", "m2", "m3"];
const CLAIMS: [&str; 4] = ["c0", "c1", "c2", "c3"];
/// The claims of the template.
const OF_TEMPLATE: [&str; 3] = ["data-web-0", "data-web-1", "data-web-2"];

/// What is known of a custom object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    Owners,
    Terminating,
    Hidden,
    Recreated,
    Absent,
}

#[derive(Debug, Clone)]
struct World {
    /// `whenDeleted`, and whether the pod is there.
    when_deleted: &'static str,
    /// What is known of each custom object, and the names of its owners.
    objects: Vec<(Known, Vec<&'static str>)>,
    claims: Vec<Vec<&'static str>>,
    of_template: Vec<Vec<&'static str>>,
}

/// Some of these, mostly few.
fn some(of: &[&'static str]) -> impl Strategy<Value = Vec<&'static str>> + use<> {
    subsequence(of.to_vec(), 0..=2)
}

fn world() -> impl Strategy<Value = World> {
    let owners: Vec<_> = ["set", "pod"].into_iter().chain(OBJECTS).chain(CLAIMS).collect();
    let known = prop_oneof![
        6 => Just(Known::Owners),
        1 => Just(Known::Terminating),
        1 => Just(Known::Hidden),
        1 => Just(Known::Recreated),
        1 => Just(Known::Absent),
    ];
    let of_template: Vec<_> = ["set", "pod"].into_iter().chain(OBJECTS).collect();
    let policy = prop_oneof![Just("Retain"), Just("Delete")];
    let objects = vec((known, some(&owners)), OBJECTS.len());
    let claims = vec(some(&owners), CLAIMS.len());
    let of_template = vec(some(&of_template), OF_TEMPLATE.len());
    (policy, objects, claims, of_template).prop_map(
        |(when_deleted, objects, claims, of_template)| World {
            when_deleted,
            objects,
            claims,
            of_template,
        },
    )
}

fn reference(name: &str) -> Value {
    match name {
        "set" => by_set(),
        "pod" => by_pod(),
        _ if CLAIMS.contains(&name) => owner("v1", "PersistentVolumeClaim", name, name),
        _ => by_config_map(name),
    }
}

impl World {
    fn shop(&self) -> Shop {
        let references = |names: &[&str]| names.iter().map(|it| reference(it)).collect::<Vec<_>>();
        let of = |names: &[&'static str], owners: &[Vec<&'static str>]| -> Vec<Value> {
            let claims = names.iter().zip(owners);
            claims.flat_map(|(name, owners)| claim(name, &references(owners))).collect()
        };
        let mut shop =
            Shop::with([of(&CLAIMS, &self.claims), of(&OF_TEMPLATE, &self.of_template)].concat());
        shop.objects[0]["spec"]["volumeClaimTemplates"] = json!([{"metadata": {"name": "data"}}]);
        shop.objects[0]["spec"]["persistentVolumeClaimRetentionPolicy"] =
            json!({"whenDeleted": self.when_deleted, "whenScaled": "Retain"});
        for (name, (known, owners)) in OBJECTS.iter().zip(&self.objects) {
            let mut answer = match known {
                Known::Owners | Known::Terminating => owned_by(name, &references(owners)),
                Known::Recreated => owned_by("another", &references(owners)),
                Known::Hidden => Answer::Forbidden,
                Known::Absent => Answer::No,
            };
            if let (Known::Terminating, Answer::Owner(found)) = (known, &mut answer) {
                std::sync::Arc::make_mut(found).terminating = true;
            }
            shop.config_maps.push(((*name).to_owned(), answer));
        }
        shop.destroy_data = true;
        shop
    }

    /// What the garbage collector deletes at most, if these are deleted: an object with owners, none
    /// of which remains. Nothing is known of hidden objects: they are owned by the set alone, or by
    /// nothing.
    fn collected(&self, deleted: &[&'static str], hidden: bool) -> BTreeSet<&'static str> {
        let mut gone: BTreeSet<&str> = deleted.iter().copied().collect();
        for (name, (known, _)) in OBJECTS.iter().zip(&self.objects) {
            let absent = match known {
                Known::Owners => false,
                Known::Hidden => hidden,
                Known::Terminating | Known::Recreated | Known::Absent => true,
            };
            gone.extend(absent.then_some(*name));
        }
        let objects = OBJECTS.iter().zip(&self.objects).filter(|(_, it)| it.0 == Known::Owners);
        let objects = objects.map(|(name, (_, owners))| (*name, owners));
        let all: Vec<_> = objects.chain(CLAIMS.into_iter().zip(&self.claims)).collect();
        loop {
            let count = gone.len();
            for (name, owners) in &all {
                if !owners.is_empty() && owners.iter().all(|it| gone.contains(it)) {
                    gone.insert(name);
                }
            }
            if gone.len() == count {
                return gone;
            }
        }
    }
}

/// Claims by name, with what is said of each: `kept`, `deleted` or `unknown`.
type Said = BTreeMap<String, &'static str>;

fn said_by_delete(shop: &Shop, cascade: Cascade) -> Said {
    let lines = shop.look(|cx| delete_with_claims::foretell(cx, &set(), cascade));
    let mut lines = lines.expect("everything is read");
    lines.pop().expect("a summary is last");
    let said = |line: &String| {
        let (name, rest) = line.split_once(' ').expect("a name is first");
        let word = match rest {
            _ if rest.starts_with("is kept") => "kept",
            _ if rest.starts_with("is deleted") => "deleted",
            _ if rest.starts_with("may be deleted") => "unknown",
            _ => panic!("no fate: {line}"),
        };
        (name.rsplit('/').next().unwrap_or_default().to_owned(), word)
    };
    lines.iter().map(said).collect()
}

fn said_by_simulate(shop: &Shop, propagation: Propagation) -> Said {
    shop.look(|cx| {
        let set = cx.set(&"shop".into(), "web").expect("it is read").expect("it exists");
        let variants = [vec![Operation::DeleteSet(propagation)]];
        let effects = simulated(cx, set, &variants, "", &mut BTreeSet::new());
        let effects = effects.expect("everything is read");
        effects
            .iter()
            .map(|it| (it.claim.metadata.name.to_string(), it.fate.claim.name()))
            .collect()
    })
}

fn said_by_explain(shop: &Shop, when: &str) -> Said {
    shop.look(|cx| {
        let key = ObjectKey::named(Kind::StatefulSet, "shop", "web");
        let explanation = explain::explain(cx, &key).expect("a set is explained");
        let outcomes = explanation.outcomes.iter().filter(|it| it.when == when);
        let said = outcomes.map(|it| {
            let name = it.object.as_ref().expect("it is about a claim").key.name.to_string();
            let word = match it.then {
                "kept" | "unknown" => it.then,
                "deleted" | "destroyed" | "scrubbed" => "deleted",
                other => panic!("no fate: {other}"),
            };
            (name, word)
        });
        said.collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn three_screens_say_the_same_of_the_deletion_of_a_set(world in world()) {
        let shop = world.shop();
        for (cascade, propagation, when) in [
            (Cascade::Background, Propagation::Background, Some("it is deleted")),
            (Cascade::Foreground, Propagation::Foreground, None),
            (Cascade::Orphan, Propagation::Orphan, Some("it is deleted with --cascade=orphan")),
        ] {
            let deleted = said_by_delete(&shop, cascade);
            prop_assert_eq!(&deleted, &said_by_simulate(&shop, propagation), "{:?}", cascade);
            if let Some(when) = when {
                prop_assert_eq!(&deleted, &said_by_explain(&shop, when), "{:?}", cascade);
            }
        }
    }

    #[test]
    fn what_may_be_deleted_with_a_set_is_never_called_kept(world in world()) {
        let said = said_by_delete(&world.shop(), Cascade::Background);
        let before = world.collected(&[], false);
        let at_most = world.collected(&["set", "pod"], true);
        for name in CLAIMS {
            let word = said.get(name).copied();
            if at_most.contains(name) && !before.contains(name) {
                prop_assert!(matches!(word, Some("deleted" | "unknown")), "{}: {:?}", name, word);
            }
            if !at_most.contains(name) {
                prop_assert!(matches!(word, None | Some("kept")), "{}: {:?}", name, word);
            }
        }
    }
}

#[test]
fn what_tells_them_are_rules() {
    for (id, _) in TOLD_BY {
        assert!(find(id).is_some(), "{id}");
    }
}
