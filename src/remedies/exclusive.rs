//! Whether a driver may be told to delete a volume: what it would destroy, whether that is what the
//! volume uses, and whether anything else uses it (R-DRV-1 to R-DRV-4, R-DRV-9, R-DRV-10).

use super::checks::{self, Checked, ReliedFlags};
use crate::cluster::{Cx, Placed, Seen};
use crate::drivers::{Destruction, Place, Relation};
use crate::facts::{self, Nearness, Owner};
use crate::model::Volume;

/// How many objects a reason names at most.
const NAMED: usize = 5;

/// A driver that may be told to delete a volume.
pub(super) struct Clearance {
    /// What it will do, in words that follow its name.
    pub(super) what: String,
    /// What is worth saying before.
    pub(super) notices: Vec<String>,
    /// The danger flags on which this relies.
    pub(super) relies_on: ReliedFlags,
}

/// The flag that is the user's word that nobody else uses the storage of a volume.
const FLAG: &str = "--backend-exclusive";

/// Refuses unless the driver of a volume would destroy the storage that the volume uses, and nothing
/// that anything else uses. The volume called `besides` is on its way out; the one called `named` is
/// what the user knows, where this is a placeholder for it.
///
/// # Errors
/// When an object was not read on which this rests.
pub(super) fn clearance(
    cx: &Cx,
    volume: &Volume,
    owner: &Owner,
    besides: Option<&str>,
    named: Option<&str>,
) -> Seen<Result<Clearance, String>> {
    let word = Word::of(cx, volume, owner, named.or(besides));
    let mut clearance =
        Clearance { what: String::new(), notices: Vec::new(), relies_on: Vec::new() };
    let name = owner.name();
    let destruction = match facts::destruction(cx, volume, owner)? {
        Ok(destruction) => destruction,
        Err(reason) => return Ok(Err(reason)),
    };
    let places = match &destruction {
        Destruction::Storage { places, what } => {
            clearance.what = format!("deletes {what}");
            places.clone()
        }
        Destruction::Kept { places, what } => {
            clearance.what = what.clone().into_owned();
            places.clone()
        }
        Destruction::Nothing(why) => {
            return Ok(Err(format!(
                "{name} would answer OK without deleting anything, since {why}; `gc \
                 --keep-backend` deletes the object and records the backend volume"
            )));
        }
        Destruction::Fails(why) if matches!(owner, Owner::StaticInTree(_)) => {
            return Ok(Err(why.clone().into_owned()));
        }
        Destruction::Fails(why) => {
            return Ok(Err(format!("{name} cannot delete it: {why}; it would remain Released")));
        }
        Destruction::Undecided(why) => {
            "deletes what its volume handle references".clone_into(&mut clearance.what);
            let doubt = format!("unknown what {name} would delete: {why}");
            checks::all!(word.stands_for(&doubt, &mut clearance.relies_on));
            volume.places().into_iter().map(Place::into_owned).collect()
        }
    };
    let differs = || differs(volume, &places, &clearance.what, name);
    let doubt = match same_storage(volume, &places) {
        Sameness::Same => None,
        Sameness::Unclear => {
            Some(format!("{}, and it is unknown whether these are the same", differs()))
        }
        Sameness::More => Some(format!("{}, and it is unknown what else that contains", differs())),
        Sameness::Different => return Ok(Err(differs())),
    };
    if let Some(doubt) = doubt {
        checks::all!(word.stands_for(&doubt, &mut clearance.relies_on));
    }
    let neighbours = facts::neighbours(cx, volume, &places, besides)?;
    let listed = |nearness: Nearness| {
        let mut near = neighbours.iter().filter(|it| it.nearness == nearness);
        let named: Vec<_> =
            near.by_ref().take(NAMED).map(|it| format!("{} {}", it.who, it.how)).collect();
        let more = near.count();
        let and = if more == 0 { String::new() } else { format!(", and {more} more") };
        (!named.is_empty()).then(|| format!("{}{and}", named.join(", ")))
    };
    if let Some(others) = listed(Nearness::Proven) {
        return Ok(Err(others));
    }
    if let Some(others) = listed(Nearness::Possible) {
        checks::all!(word.stands_for(&others, &mut clearance.relies_on));
    }
    let notable = neighbours.iter().filter(|it| it.nearness == Nearness::Notable);
    clearance.notices.extend(notable.map(|it| format!("{} {}", it.who, it.how)));
    if volume.places().iter().any(Place::is_reached_by_name) {
        clearance.notices.push(
            "other clusters and machines may use the same server or storage cluster; the tool \
             cannot check them"
                .to_owned(),
        );
    }
    let marks = facts::marks_of_others(volume);
    let restored =
        "Velero restored it, so another cluster may have a PersistentVolume of the same storage";
    if marks.restored {
        checks::all!(word.stands_for(restored, &mut clearance.relies_on));
    }
    if let Some(keeper) = marks.kept_by {
        clearance
            .notices
            .push(format!("{keeper} manages the object, and may revert its policy or recreate it"));
    }
    Ok(Ok(clearance))
}

/// Refuses a CSI volume that was made by hand, unless the user said of it by name that nobody else
/// uses its storage (R-DRV-10).
pub(super) fn made_here(
    cx: &Cx,
    volume: &Volume,
    owner: &Owner,
    relies_on: &mut ReliedFlags,
) -> Checked {
    match owner.csi().is_some() && facts::is_static(volume) {
        true => Word::of(cx, volume, owner, None).stands_for_static(cx, relies_on),
        false => Ok(()),
    }
}

/// Whether what a node mounts is what the driver would delete (R-DRV-2): the driver is told the
/// handle, the node the attributes.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Sameness {
    Same,
    /// What is deleted contains what is mounted.
    More,
    Unclear,
    Different,
}

/// Whether it is in every view of it; the clearest one says how sure that is.
fn same_storage(volume: &Volume, destroyed: &[Place<'_>]) -> Sameness {
    let used = volume.places();
    let closest = |mine: &Place<'_>| {
        // Where there is none, it is a second view of the same storage, such as the directory behind
        // an access point.
        let of_space = destroyed.iter().filter(|it| it.space == mine.space);
        of_space.map(|it| sameness(mine, it)).min()
    };
    let views: Vec<_> = used.iter().filter_map(closest).collect();
    if views.contains(&Sameness::Different) {
        return Sameness::Different;
    }
    let none = if destroyed.is_empty() { Sameness::Same } else { Sameness::Different };
    views.into_iter().min().unwrap_or(none)
}

fn sameness(mounted: &Place<'_>, destroyed: &Place<'_>) -> Sameness {
    if mounted == destroyed {
        // What is not known of both is the same.
        return Sameness::Same;
    }
    let overlap = mounted.overlap(destroyed);
    let overlap = overlap.filter(|it| it.relation != Relation::Inside);
    match overlap.map(|it| (it.is_certain(), it.relation)) {
        None => Sameness::Different,
        Some((false, _)) => Sameness::Unclear,
        Some((true, Relation::Around)) => Sameness::More,
        Some((true, _)) => Sameness::Same,
    }
}

/// In words.
fn differs(volume: &Volume, destroyed: &[Place<'_>], what: &str, driver: &str) -> String {
    let shown = |places: &[Place<'_>]| {
        places.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ")
    };
    format!("pods mount {}, but {driver} {what} ({})", shown(&volume.places()), shown(destroyed))
}

/// What the user said about the storage of a volume.
struct Word<'a> {
    volume: &'a str,
    driver: &'a str,
    /// For this volume by name.
    of_volume: bool,
    /// For all volumes of its driver.
    of_driver: bool,
}

impl<'a> Word<'a> {
    fn of(cx: &Cx, volume: &'a Volume, owner: &'a Owner, named: Option<&'a str>) -> Self {
        let said = |name: &str| cx.settings().backend_exclusive.contains(name);
        // A placeholder stands for the volume that it follows.
        let name = named.unwrap_or(volume.name());
        Self {
            volume: name,
            driver: owner.name(),
            of_volume: said(&format!("pv/{name}")),
            of_driver: said(owner.name()),
        }
    }

    /// Refuses for a reason that is no more than a doubt, unless the user said that nobody else uses
    /// the storage.
    fn stands_for(&self, doubt: &str, relies_on: &mut ReliedFlags) -> Checked {
        if self.of_volume || self.of_driver {
            checks::rely(relies_on, FLAG);
            return Ok(());
        }
        let (volume, driver) = (self.volume, self.driver);
        Err(format!(
            "{doubt}; {FLAG} pv/{volume}, or {driver} for all its volumes, asserts that nothing \
             else uses this storage"
        ))
    }

    /// Refuses to destroy what the cluster did not make, unless the user said so of this volume by
    /// name.
    fn stands_for_static(&self, cx: &Cx, relies_on: &mut ReliedFlags) -> Checked {
        if !self.of_volume {
            let volume = self.volume;
            return Err(format!(
                "it is statically provisioned, and its storage may belong to others; {FLAG} \
                 pv/{volume} asserts that nothing else uses this storage"
            ));
        }
        // kubernetes#125767: before, kube-controller-manager may set it Failed first.
        if cx.server().and_then(|server| server.at_least(1, 31)) != Some(true) {
            return Err("before Kubernetes 1.31, a statically provisioned volume can become \
                        Failed instead of being deleted (kubernetes#125767)"
                .to_owned());
        }
        checks::rely(relies_on, FLAG);
        Ok(())
    }
}
