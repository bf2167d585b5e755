//! The Secret with which csi-provisioner calls `DeleteVolume` (R-2644-17).

use super::{Owner, driver_volumes::driver_volumes};
use crate::cluster::{Cx, Seen, Unseen};
use crate::model::{Answer, DeletionSecret, Kind, Question, Text, Volume};

/// The state of the Secret for `DeleteVolume`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretState {
    /// None is needed, or no field references one.
    NotNeeded,
    /// It exists.
    Present(DeletionSecret),
    /// It does not exist: csi-provisioner would call the driver without credentials.
    Missing(DeletionSecret),
    /// The volume references none, its class does not exist, and other volumes of the driver
    /// reference one: csi-provisioner would call the driver without credentials.
    Forgotten,
    /// The user may not read Secrets.
    Forbidden(DeletionSecret),
}

/// Returns the state of a volume's deletion Secret.
///
/// # Errors
/// When the Secret was not requested, or the class was not read.
pub fn deletion_secret(cx: &Cx, volume: &Volume, owner: &Owner) -> Seen<SecretState> {
    let Some(driver) = owner.csi() else { return Ok(SecretState::NotNeeded) };
    let Some(secret) = &volume.deletion_secret else {
        // Without the annotations the provisioner reads the class; without the class it uses none.
        let Some(class) = volume.class.as_ref().filter(|class| !class.is_empty()) else {
            return Ok(SecretState::NotNeeded);
        };
        let forgotten = driver_volumes(cx, driver).names_secret && cx.class(class)?.is_none();
        return Ok(if forgotten { SecretState::Forgotten } else { SecretState::NotNeeded });
    };
    if secret.name.is_empty() || secret.namespace.is_empty() {
        return Ok(SecretState::NotNeeded);
    }
    let question = Question::SecretExists {
        namespace: Text::clone(&secret.namespace),
        name: Text::clone(&secret.name),
    };
    let unread = |reason: &str| Unseen {
        kind: Kind::Secret,
        namespace: Some(Text::clone(&secret.namespace)),
        reason: format!("Secret {}/{} was not read: {reason}", secret.namespace, secret.name),
    };
    Ok(match cx.answer(question)? {
        Answer::Yes
        | Answer::Is(_)
        | Answer::Owner(_)
        | Answer::Users(_)
        | Answer::Announcements(_) => SecretState::Present((**secret).clone()),
        Answer::No => SecretState::Missing((**secret).clone()),
        Answer::Forbidden => SecretState::Forbidden((**secret).clone()),
        Answer::Unanswered(reason) => return Err(unread(&reason)),
        Answer::NotServed { .. } => return Err(unread("its kind is not served")),
    })
}
