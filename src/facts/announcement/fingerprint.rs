//! What must still be so when an announced volume is reclaimed.

use std::fmt::Write as _;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::cluster::Placed;
use crate::drivers::{Extent, Letters, Part, Place};
use crate::facts::finalizer::{NO_FINALIZER, finalizer_in_words};
use crate::model::{Action, AnnouncedVolume, FinalizerEdit, Proposal, Volume};

/// Bytes of a hash: nobody gains anything from two proposals with the same one.
const BYTES: usize = 16;

/// Returns what is announced of a volume; `None` where it cannot be told apart from others.
pub fn announced_volume(volume: &Volume, proposal: &Proposal) -> Option<AnnouncedVolume> {
    let backend = volume.backend.as_ref()?;
    let claim = volume.claim_ref.as_ref();
    Some(AnnouncedVolume {
        name: volume.name().into(),
        uid: volume.metadata.uid.clone()?,
        claim: claim.map(|it| it.key.clone()),
        claim_uid: claim.and_then(|it| it.uid.clone()),
        driver: backend.driver.clone(),
        handle: (&*backend.handle).into(),
        place: place(volume),
        proposal: hash(&of_proposal(proposal)),
        notices: proposal.notices.iter().map(|it| hash(&json!(it))).collect(),
        effect: proposal.effect.what.as_str().into(),
    })
}

/// Returns how a volume differs from what was announced, if it does.
pub(super) fn difference(
    then: &AnnouncedVolume,
    volume: &Volume,
    proposal: Option<&Proposal>,
) -> Option<String> {
    let claim = volume.claim_ref.as_ref();
    if claim.map(|it| &it.key) != then.claim.as_ref() {
        return Some("its claimRef references another claim".to_owned());
    }
    if claim.and_then(|it| it.uid.as_ref()) != then.claim_uid.as_ref() {
        return Some("the uid in its claimRef is another one".to_owned());
    }
    let backend = volume.backend.as_ref().map(|it| (&*it.driver, &*it.handle));
    if backend != Some((&*then.driver, &*then.handle)) || place(volume) != then.place {
        return Some("the storage that it references is not certain to be the same".to_owned());
    }
    let proposal = proposal?;
    if hash(&of_proposal(proposal)) != then.proposal {
        return Some(format!("what would be done is now: {}", proposal.effect.what));
    }
    let is_new =
        |it: &&String| !it.starts_with(NO_FINALIZER) && !then.notices.contains(&hash(&json!(it)));
    let new = proposal.notices.iter().find(is_new)?;
    Some(format!("new since it was announced: {new}"))
}

/// What would be done, and on which danger flags that relies.
fn of_proposal(proposal: &Proposal) -> Value {
    let step = |action: &Action| match action {
        // Whether the finalizer is edited as well depends on what its reader may see, and on whether the
        // provisioner is just being restarted.
        Action::SetReclaimPolicy { volume, from, to, doubts_backend, finalizer: _ } => json!([
            action.name(),
            volume.to_string(),
            from.to_string(),
            to.to_string(),
            doubts_backend,
        ]),
        other => json!([other.name(), other.object().to_string()]),
    };
    let steps: Vec<_> = proposal.steps.iter().map(step).collect();
    let what = proposal.effect.what.replacen(&finalizer_in_words(FinalizerEdit::Added), "", 1);
    json!([steps, what, &proposal.effect.risk, &proposal.relies_on])
}

/// A hash over the storage that a volume names.
fn place(volume: &Volume) -> Box<str> {
    hash(&volume.places().iter().map(of_place).collect())
}

fn of_place(place: &Place<'_>) -> Value {
    let part = |part: &Part<'_>| match part {
        Part::Is(it) => json!(["is", it]),
        Part::Named(it) => json!(["named", it]),
        Part::Server { identity, address } => json!(["server", identity, address]),
        Part::Nodes(it) => json!(["nodes", it]),
        Part::Unknown(_) => json!(["unknown"]),
    };
    let extent = match &place.extent {
        Extent::Device(name) => json!(["device", name]),
        Extent::Directory(path) => json!(["directory", path]),
        Extent::Within(path, _) => json!(["within", path]),
        Extent::Undecided(handle, _) => json!(["undecided", handle]),
    };
    let letters = match place.letters {
        Letters::Distinct => "distinct",
        Letters::Alike => "alike",
        Letters::Unclear => "unclear",
    };
    let realm: Vec<_> = place.realm.iter().map(part).collect();
    json!([&place.space, realm, extent, letters])
}

fn hash(value: &Value) -> Box<str> {
    let mut text = String::with_capacity(2 * BYTES);
    for byte in Sha256::digest(value.to_string()).iter().take(BYTES) {
        write!(text, "{byte:02x}").expect("because a text takes everything");
    }
    text.into()
}
