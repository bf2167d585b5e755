//! Whether the handles of a driver of which nothing is known identify its volumes (semantics#place).

use crate::cluster::Cx;
use crate::drivers;
use crate::model::{BackendKey, Fact, FactKey, Text};

/// Returns why the handles of a driver do not tell its volumes apart, if they do not. Of known
/// families the places themselves say it.
pub fn undecided(cx: &Cx, driver: &Text) -> Option<String> {
    if !drivers::is_unknown(drivers::family(driver)) {
        return None;
    }
    let key = FactKey::Identity(Text::clone(driver));
    match &*cx.fact(key, || Fact::Identity(derive(cx, driver))) {
        Fact::Identity(why) => why.clone(),
        _ => derive(cx, driver),
    }
}

/// A handle is taken for a disk only where nothing speaks for shared storage.
pub fn derive<'a>(cx: &Cx<'a>, driver: &Text) -> Option<String> {
    match cx.csi_driver(driver) {
        Ok(Some(it)) if it.attach_required => {}
        Ok(Some(_)) => {
            return Some(format!(
                "driver {driver} is unknown, and has attachRequired: false like drivers of shared \
                 storage"
            ));
        }
        Ok(None) => return Some(format!("driver {driver} is unknown, and has no CSIDriver")),
        Err(unseen) => return Some(unseen.reason),
    }
    let split = |backend: &'a BackendKey| backend.handle.split(['/', '#', ':']).collect();
    let mut handles: Vec<Vec<&str>> =
        cx.kept_of_driver(driver).map(|kept| split(&kept.backend)).collect();
    for volume in cx.volumes_of_driver(driver) {
        if volume.is_shared {
            let object = volume.object();
            return Some(format!(
                "driver {driver} is unknown, and {object} is a file system that several nodes mount"
            ));
        }
        if let Some(backend) = volume.backend.as_ref().filter(|it| it.driver == *driver) {
            handles.push(split(backend));
        }
    }
    handles.sort_unstable();
    handles.dedup();
    let is_within = |pair: &&[Vec<&str>]| pair[1].starts_with(&pair[0]);
    let pair = handles.windows(2).find(is_within)?;
    let written = |parts: &[&str]| parts.join("/");
    Some(format!(
        "driver {driver} is unknown, and its volume handle {} begins with {}",
        written(&pair[1]),
        written(&pair[0])
    ))
}
