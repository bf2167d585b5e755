//! What the controller of a volume destroys when it is told to delete it.

use std::borrow::Cow;

use super::controller_settings::controller_settings;
use crate::cluster::{Cx, Placed, Seen};
use crate::drivers::{
    self, Deletion, Destruction, Family, PUBLISH_SECRET, Place, Recognition, Reference, Relation,
    UNKNOWN,
};
use crate::facts::{Owner, SecretState, deletion_secret};
use crate::model::{DeletionSecret, StorageClass, Volume};

/// The reason where a volume references no backend volume that can be compared.
pub const UNIDENTIFIED: &str = "its backend volume cannot be identified";

/// Returns what is known of the driver or provisioner that deletes a volume: that of unknown ones
/// where what tells contradicts itself.
pub fn provisioning_family(cx: &Cx, volume: &Volume, owner: &Owner) -> &'static Family {
    recognised(cx, volume, owner).unwrap_or(&UNKNOWN)
}

/// As what the driver or provisioner is recognised that deletes a volume: by its name; where that
/// says nothing, by what runs it and by the attributes of the volume.
///
/// # Errors
/// When these contradict each other, with the contradiction.
fn recognised(cx: &Cx, volume: &Volume, owner: &Owner) -> Result<&'static Family, String> {
    let name = match owner {
        Owner::Csi(name) | Owner::External(name) => name,
        Owner::InTree(name) | Owner::StaticInTree(name) => return Ok(drivers::family(name)),
    };
    let shown = match cx.recognition(name) {
        Recognition::As(id) => Some(drivers::family_with(id)),
        Recognition::Unknown => None,
        Recognition::Differs(why) => return Err(format!("unknown which driver {name} is: {why}")),
    };
    let is_its = volume.source.driver() == Some(name);
    let told = drivers::recognised_by_attributes(&volume.attributes)
        .filter(|_| is_its && drivers::is_unknown(drivers::family(name)));
    match (shown, told) {
        (Some(shown), Some(told)) if shown.id != told.id => Err(format!(
            "unknown which driver {name} is: what runs it is {}, and the attributes are those of {}",
            shown.title, told.title
        )),
        (shown, told) => Ok(shown.or(told).unwrap_or(&UNKNOWN)),
    }
}

/// Returns what the controller of a volume destroys when it is told to delete it; or why that cannot
/// be foretold, whatever the user knows of the storage.
///
/// # Errors
/// When its class was not read, and deletion depends on it.
pub fn destruction(cx: &Cx, volume: &Volume, owner: &Owner) -> Seen<Result<Destruction, String>> {
    let Some(backend) = &volume.backend else {
        return Ok(Ok(Destruction::Undecided(Cow::Borrowed(UNIDENTIFIED))));
    };
    let family = match recognised(cx, volume, owner) {
        Ok(family) => family,
        Err(why) => return Ok(Ok(Destruction::Undecided(Cow::Owned(why)))),
    };
    if matches!(owner, Owner::External(_)) && drivers::is_unknown(family) {
        let why = "its provisioner is unknown";
        return Ok(Ok(Destruction::Undecided(Cow::Borrowed(why))));
    }
    let class = match class_of(cx, volume, family)? {
        Ok(class) => class,
        Err(why) => return Ok(Err(why)),
    };
    let settings = controller_settings(cx, owner.name());
    let answer = |has_secret| {
        (family.deletion)(&Deletion {
            reference: Reference::of(backend, &volume.attributes),
            owner: owner.name(),
            volume: volume.name(),
            class: class.map(|class| &*class.parameters),
            arguments: settings.as_ref().map(|it| &*it.arguments),
            images: settings.as_ref().map(|it| &*it.images),
            has_secret,
        })
    };
    let unseen = match deletion_secret(cx, volume, owner) {
        Ok(SecretState::Forbidden(secret)) => secret.unreadable(),
        Ok(SecretState::Present(secret)) => {
            return Ok(Ok(two_secrets(volume, &secret).unwrap_or_else(|| answer(true))));
        }
        Ok(_) => return Ok(Ok(answer(false))),
        Err(unseen) => unseen,
    };
    // Most drivers do the same with and without one, or fail.
    let with_secret = answer(true);
    if with_secret == answer(false) { Ok(Ok(with_secret)) } else { Err(unseen) }
}

/// A driver whose Secret says which file system it is may look for a volume in another one than nodes
/// do.
fn two_secrets(volume: &Volume, deleting: &DeletionSecret) -> Option<Destruction> {
    let mounting = volume.attributes.get(PUBLISH_SECRET)?;
    let deleting = format!("{}/{}", deleting.namespace, deleting.name);
    (mounting != deleting).then(|| {
        Destruction::Undecided(Cow::Owned(format!(
            "nodes mount it with Secret {mounting}, and it is deleted with Secret {deleting}"
        )))
    })
}

/// The class that a volume names, if deletion reads it and it is younger than the volume: what was
/// wanted when the volume was made may be another.
pub fn recreated_class<'a>(
    cx: &Cx<'a>,
    volume: &Volume,
    owner: &Owner,
) -> Option<&'a StorageClass> {
    let class = class_of(cx, volume, provisioning_family(cx, volume, owner)).ok()?.ok()??;
    (class.metadata.created > volume.metadata.created).then_some(class)
}

/// The class of a volume, as deletion reads it; or why deletion, which needs it, cannot succeed.
fn class_of<'a>(
    cx: &Cx<'a>,
    volume: &Volume,
    family: &Family,
) -> Seen<Result<Option<&'a StorageClass>, String>> {
    if !family.reads_class {
        return Ok(Ok(None));
    }
    let Some(name) = volume.class.as_ref().filter(|name| !name.is_empty()) else {
        return Ok(Err("its provisioner reads its StorageClass, but spec.storageClassName is \
                       empty"
            .to_owned()));
    };
    Ok(match cx.class(name)? {
        None => Err(format!(
            "its provisioner reads sc/{name}, which does not exist: recreate it with its former \
             parameters"
        )),
        found => Ok(found),
    })
}

/// Whether what a node mounts is what the driver would delete (R-DRV-2): the driver is told the
/// handle, the node the attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sameness {
    /// It is.
    Same,
    /// What is deleted contains what is mounted.
    More,
    /// It may be.
    Unclear,
    /// It is not.
    Different,
}

/// Returns whether what a volume uses is what is destroyed, in every view of it; the clearest one says
/// how sure that is.
pub fn same_storage(volume: &Volume, destroyed: &[Place<'_>]) -> Sameness {
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
