//! Whether the handles of a driver of which nothing is known identify its volumes (semantics#place).

use crate::cluster::Cx;
use crate::drivers::{self, Recognition, Reference};
use crate::model::{
    BackendKey, Fact, FactKey, KeptBackend, NamedBackend, Text, UndecidedIdentity, Volume,
};

/// Of how many volumes the names are kept: another one is looked for besides the volume itself, its
/// record, and one more that the caller leaves out.
const NAMES: usize = 4;

/// Returns why the handles of a driver do not tell its volumes apart, if they do not. Of known
/// families the places themselves say it.
pub fn undecided(cx: &Cx, driver: &Text) -> Option<UndecidedIdentity> {
    if !drivers::is_unknown(cx.family(driver)) {
        return None;
    }
    let key = FactKey::Identity(Text::clone(driver));
    match &*cx.fact(key, || Fact::Identity(derive(cx, driver))) {
        Fact::Identity(undecided) => undecided.clone(),
        _ => derive(cx, driver),
    }
}

/// As [`undecided`], derived anew.
pub fn derive(cx: &Cx, driver: &Text) -> Option<UndecidedIdentity> {
    reason(cx, driver).map(|why| UndecidedIdentity { why, first: first(cx, driver) })
}

/// What names the first volumes of a driver.
fn first(cx: &Cx, driver: &Text) -> Vec<NamedBackend> {
    let volumes = cx.volumes_of_driver(driver).map(|it| NamedBackend {
        volume: it.name().into(),
        who: it.object().to_string(),
        kept: None,
    });
    let kept = cx.kept_of_driver(driver).map(|it| NamedBackend {
        volume: it.volume.clone(),
        who: of_kept(it),
        kept: Some(it.backend.clone()),
    });
    let mut all: Vec<_> = volumes.chain(kept).collect();
    all.sort_unstable();
    let mut names = 0;
    let mut last = None;
    let is_first = |it: &NamedBackend| {
        if last.as_ref() != Some(&it.volume) {
            names += 1;
            last = Some(it.volume.clone());
        }
        names <= NAMES
    };
    all.into_iter().take_while(is_first).collect()
}

/// How reports name a kept backend volume.
pub fn of_kept(kept: &KeptBackend) -> String {
    format!("the kept backend volume of {}", kept.object())
}

/// A handle is taken for a disk only where nothing speaks for shared storage.
fn reason<'a>(cx: &Cx<'a>, driver: &Text) -> Option<String> {
    if let Recognition::Differs(why) = cx.recognition(driver) {
        return Some(format!("unknown which driver {driver} is: {why}"));
    }
    // Their attributes tell what the handles do not.
    let is_told = |volume: &Volume| {
        let backend = volume.backend.as_ref().filter(|it| it.driver == *driver);
        backend.is_none_or(|it| !drivers::is_unknown(Reference::of(it, &volume.attributes).family))
    };
    if cx.volumes_of_driver(driver).next().is_some() && cx.volumes_of_driver(driver).all(is_told) {
        return None;
    }
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
