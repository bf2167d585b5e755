//! Facts about a driver that follow from its volumes, found in one pass over them.

use super::{Owner, owner};
use crate::cluster::Cx;
use crate::model::{ControllerRole, DriverVolumes, Fact, FactKey, LastWrite, Text, Time, Volume};

/// Returns the facts about a driver that follow from its volumes.
pub(super) fn driver_volumes(cx: &Cx, driver: &Text) -> DriverVolumes {
    let key = FactKey::Volumes(Text::clone(driver));
    match &*cx.fact(key, || Fact::Volumes(Box::new(derive(cx, driver)))) {
        Fact::Volumes(volumes) => (**volumes).clone(),
        _ => derive(cx, driver),
    }
}

pub(super) fn derive(cx: &Cx, driver: &Text) -> DriverVolumes {
    let mut told = DriverVolumes::default();
    let mut last: [Option<LastAct<'_>>; ControllerRole::OF_DRIVERS.len()] = Default::default();
    for volume in cx.volumes_of_driver(driver) {
        let owner = owner(volume);
        told.is_csi |= volume.source.driver() == Some(driver) || owner.csi() == Some(driver);
        told.is_external |= matches!(&owner, Owner::External(name) if name == driver);
        told.names_secret |= volume.deletion_secret.as_ref().is_some_and(|it| !it.name.is_empty());
        for (role, entry) in volume.writes_of_drivers() {
            let Some(time) = entry.time else { continue };
            let act = Some((time, entry.manager, volume));
            let known = ControllerRole::OF_DRIVERS.iter().position(|it| *it == role);
            if let Some(known) = known.and_then(|index| last.get_mut(index))
                && known.map(order) < act.map(order)
            {
                *known = act;
            }
        }
    }
    let acts = ControllerRole::OF_DRIVERS.into_iter().zip(last);
    let acts = acts.filter_map(|(role, act)| {
        let (time, manager, volume) = act?;
        Some(LastWrite { role, time, manager: manager.into(), volume: volume.object() })
    });
    told.last_writes = acts.collect();
    told
}

/// A write to a volume: its time, its manager and the volume.
type LastAct<'a> = (Time, &'a str, &'a Volume);

/// Returns the key by which acts are ordered: at equal times, the one that reports show does not depend on the order of
/// volumes.
fn order((time, manager, volume): LastAct<'_>) -> (Time, &str, &str) {
    (time, manager, volume.name())
}
