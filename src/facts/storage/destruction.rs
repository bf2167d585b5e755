//! What the controller of a volume destroys when it is told to delete it.

use std::borrow::Cow;

use super::controller_settings::controller_settings;
use crate::cluster::{Cx, Seen};
use crate::drivers::{self, Deletion, Destruction, Family, Reference};
use crate::facts::{Owner, SecretState, deletion_secret};
use crate::model::{StorageClass, Volume};

/// The reason where a volume references no backend volume that can be compared.
pub const UNIDENTIFIED: &str = "its backend volume cannot be identified";

/// Returns what is known of the driver or provisioner that deletes a volume.
pub fn provisioning_family(owner: &Owner) -> &'static Family {
    match owner {
        Owner::Csi(name) | Owner::External(name) | Owner::InTree(name) => drivers::family(name),
        Owner::StaticInTree(source) => drivers::family(source),
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
    let family = provisioning_family(owner);
    let class = match class_of(cx, volume, family)? {
        Ok(class) => class,
        Err(why) => return Ok(Err(why)),
    };
    let settings = controller_settings(cx, owner.name());
    let has_secret = volume.deletion_secret.is_some()
        && matches!(deletion_secret(cx, volume, owner), Ok(SecretState::Present(_)));
    Ok(Ok((family.deletion)(&Deletion {
        reference: Reference::of(backend, &volume.attributes),
        owner: owner.name(),
        volume: volume.name(),
        class: class.map(|class| &*class.parameters),
        arguments: settings.as_ref().map(|it| &*it.arguments),
        images: settings.as_ref().map(|it| &*it.images),
        has_secret,
    })))
}

/// The class of a volume, as it was when the volume was made; or why deletion, which reads it,
/// cannot be foretold.
fn class_of<'a>(
    cx: &Cx<'a>,
    volume: &Volume,
    family: &Family,
) -> Seen<Result<Option<&'a StorageClass>, String>> {
    if !family.reads_class && family.class_parameters.is_empty() {
        return Ok(Ok(None));
    }
    let Some(name) = volume.class.as_ref().filter(|name| !name.is_empty()) else {
        return Ok(match family.reads_class {
            true => Err("its provisioner reads its StorageClass, but spec.storageClassName is \
                         empty"
                .to_owned()),
            false => Ok(None),
        });
    };
    let class = cx.class(name)?;
    let younger = class.is_some_and(|it| it.metadata.created > volume.metadata.created);
    Ok(match class {
        Some(_) if younger => Err(format!(
            "its provisioner reads sc/{name}, which was recreated after the volume: the effect \
             of deletion is unknown"
        )),
        None if family.reads_class => Err(format!(
            "its provisioner reads sc/{name}, which does not exist: recreate it with its former \
             parameters"
        )),
        found => Ok(found),
    })
}
