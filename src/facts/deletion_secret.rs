//! The Secret with which the driver's provisioner deletes a backend volume (R-2644-17).

use super::{Owner, controller_settings, driver_volumes::driver_volumes, provisioning_family};
use crate::cluster::{Cx, Seen, Unseen};
use crate::drivers::{PUBLISH_SECRET, SECRET_PARAMETERS};
use crate::model::{Answer, DeletionSecret, Kind, Question, StorageClass, Text, Volume};

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
    /// The class names it by this, which csi-provisioner cannot resolve: it would not call the
    /// driver.
    Unresolvable(String),
    /// The user may not read Secrets.
    Forbidden(DeletionSecret),
}

impl DeletionSecret {
    /// Says that it may not be read.
    pub fn unreadable(&self) -> Unseen {
        self.unread("reading it is forbidden")
    }

    fn unread(&self, reason: &str) -> Unseen {
        Unseen {
            kind: Kind::Secret,
            namespace: Some(Text::clone(&self.namespace)),
            reason: format!(
                "unknown whether its deletion Secret {}/{} exists: {reason}",
                self.namespace, self.name
            ),
        }
    }
}

/// Returns the state of a volume's deletion Secret.
///
/// # Errors
/// When the Secret was not requested, or the class was not read.
pub fn deletion_secret(cx: &Cx, volume: &Volume, owner: &Owner) -> Seen<SecretState> {
    let Some(driver) = owner.csi() else { return Ok(SecretState::NotNeeded) };
    let secret = match named(cx, volume, driver, owner)? {
        Ok(Some(secret)) => secret,
        Ok(None) => return Ok(SecretState::NotNeeded),
        Err(state) => return Ok(state),
    };
    if secret.name.is_empty() || secret.namespace.is_empty() {
        return Ok(SecretState::NotNeeded);
    }
    let question = Question::SecretExists {
        namespace: Text::clone(&secret.namespace),
        name: Text::clone(&secret.name),
    };
    let answer = cx.answer(question).map_err(|unseen| secret.unread(&unseen.reason))?;
    Ok(match answer {
        Answer::Yes
        | Answer::Is(_)
        | Answer::Owner(_)
        | Answer::Users(_)
        | Answer::Announcements(_) => SecretState::Present(secret),
        Answer::No => SecretState::Missing(secret),
        Answer::Forbidden => SecretState::Forbidden(secret),
        Answer::Unanswered(reason) => return Err(secret.unread(&reason)),
        Answer::NotServed { .. } => return Err(secret.unread("its kind is not served")),
    })
}

/// Returns the Secret that is named for the deletion of a volume, whether or not it exists; or the
/// state that is known without it.
fn named(
    cx: &Cx,
    volume: &Volume,
    driver: &Text,
    owner: &Owner,
) -> Seen<Result<Option<DeletionSecret>, SecretState>> {
    let family = provisioning_family(cx, volume, owner);
    let settings = family.own_provisioner.and_then(|_| controller_settings(cx, driver));
    let arguments = settings.as_ref().map(|it| &*it.arguments);
    if family.provisions_itself(arguments) == Some(true) {
        let named = volume.attributes.get(PUBLISH_SECRET).and_then(|it| it.split_once('/'));
        return Ok(Ok(named.map(|(namespace, name)| DeletionSecret {
            namespace: namespace.into(),
            name: name.into(),
        })));
    }
    // csi-provisioner writes the annotations from 3.2.0 on, empty where no Secret is needed. Without
    // them every version of it reads the class, as it is then; without the class it uses none.
    if let Some(secret) = &volume.deletion_secret {
        return Ok(Ok(Some((**secret).clone())));
    }
    let (Some(name), Some(_)) =
        (volume.class.as_ref().filter(|class| !class.is_empty()), &volume.claim_ref)
    else {
        return Ok(Ok(None));
    };
    let names_secret = driver_volumes(cx, driver).names_secret;
    Ok(match cx.class(name) {
        Ok(Some(class)) => of_class(class, volume),
        Ok(None) if names_secret => Err(SecretState::Forgotten),
        Ok(None) => Ok(None),
        Err(unseen) => return Err(unseen),
    })
}

/// The Secret that a class names for a volume (external-provisioner controller.go,
/// `getSecretReference`).
fn of_class(class: &StorageClass, volume: &Volume) -> Result<Option<DeletionSecret>, SecretState> {
    let parameter = |key: &str| {
        let mut parameters = class.parameters.iter();
        parameters.find(|(known, _)| **known == *key).map(|(_, value)| &**value)
    };
    let mut named =
        SECRET_PARAMETERS.iter().map(|(name, namespace)| (parameter(name), parameter(namespace)));
    let Some((name, namespace)) = named.find(|it| *it != (None, None)) else { return Ok(None) };
    let (name, namespace) = (name.unwrap_or_default(), namespace.unwrap_or_default());
    let resolved = |template: &str, with_claim: bool| {
        let claim = volume.claim_ref.as_ref().map(|it| &it.key);
        let mut text = template.replace("${pv.name}", volume.name());
        if let Some(claim) = claim {
            text = text.replace("${pvc.namespace}", &claim.namespace);
            if with_claim {
                text = text.replace("${pvc.name}", &claim.name);
            }
        }
        match text.is_empty() || text.contains('$') {
            true => {
                Err(SecretState::Unresolvable(format!("{namespace}/{name} of {}", class.object())))
            }
            false => Ok(Text::from(text)),
        }
    };
    Ok(Some(DeletionSecret { namespace: resolved(namespace, false)?, name: resolved(name, true)? }))
}
