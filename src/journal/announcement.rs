//! The format of the `ConfigMap`s of announcements and of vetoes: version 1.
//!
//! What one run announces is an immutable `ConfigMap`: the key [`BATCH`] with the grace period, and
//! one key for each volume, its uid, whose value is a [`VolumeRecord`] as JSON. When it was created,
//! by the API server's clock, is when the grace period began. Vetoes are the keys of one more
//! `ConfigMap`, [`VETOES`]: one for each volume, its uid, whose value is a [`VetoRecord`]. All of them
//! have the label [`RECORD`], by which they are listed. Unknown fields are left alone.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::model::{
    AnnouncedBatch, AnnouncedVolume, ClaimKey, Time, Uid, Veto, VoidBatch, format_time, parse_time,
};

/// Prefix of the names of the `ConfigMap`s of announcements.
const NAME: &str = "kubectl-storage-announced-";
/// The name of the `ConfigMap` of vetoes.
pub const VETOES: &str = "kubectl-storage-vetoes";
/// Label of the `ConfigMap`s of announcements and of vetoes.
pub const RECORD: &str = "storage.kubectl.dev/record";
/// Value of the label for announcements.
pub const ANNOUNCEMENT: &str = "announcement";
/// Value of the label for vetoes.
pub const VETO: &str = "veto";
/// The key of the [`BatchRecord`].
const BATCH: &str = "batch";
/// The shortest grace period that is announced: without one, no user could veto.
const SHORTEST_GRACE: Duration = Duration::from_secs(1);
/// Version of the shape of values.
const VERSION: u32 = 1;
/// Number of characters of the id of a run in the name of a record.
const RUN: usize = 18;

/// The fields that all volumes of a batch have in common.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct BatchRecord {
    /// Version of this shape.
    version: u32,
    /// The grace period in seconds, from the creation of the `ConfigMap` on.
    grace_seconds: u64,
    /// The uid of the cluster's namespace `kube-system`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cluster: Option<String>,
}

/// Announcement of one volume.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct VolumeRecord {
    /// Version of this shape.
    version: u32,
    /// The name of the volume.
    volume: String,
    /// The uid of the volume.
    uid: String,
    /// `namespace/name` of the claim that its claimRef references.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    claim: Option<String>,
    /// The uid of the claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    claim_uid: Option<String>,
    /// The CSI driver, or the kind of source.
    driver: String,
    /// The volume handle.
    handle: String,
    /// A hash over the storage of the volume.
    place: String,
    /// A hash over the proposal to reclaim the volume.
    proposal: String,
    /// Hashes of the notices of the proposal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    notices: Vec<String>,
    /// The effect of the proposal, in words.
    #[serde(default)]
    effect: String,
}

/// The record of a veto of one announcement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct VetoRecord {
    /// Version of this shape.
    version: u32,
    /// The name of the volume.
    volume: String,
    /// The uid of the volume.
    uid: String,
    /// The record of the announcement that was vetoed.
    announced_in: String,
    /// Time when a run found the veto, by the API server's clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    found_at: Option<String>,
}

/// A `ConfigMap` of an announcement as it was read.
#[derive(Debug, Clone)]
pub struct ReadBatch {
    /// The name of the `ConfigMap`.
    pub name: String,
    /// Creation time.
    pub created: Option<Time>,
    /// Whether the `ConfigMap` is immutable.
    pub immutable: bool,
    /// Whether the `ConfigMap` is being deleted.
    pub deleting: bool,
    /// The keys and values of the `ConfigMap`.
    pub data: BTreeMap<String, String>,
}

/// Returns the name of the record with this number of a run.
pub fn name(run: &str, number: usize) -> String {
    let run: String = run.chars().take(RUN).collect();
    match number {
        0 => format!("{NAME}{run}"),
        _ => format!("{NAME}{run}-{number}"),
    }
}

/// Returns the keys and values of a record.
pub fn data<'a>(
    grace: Duration,
    cluster: Option<&str>,
    volumes: impl Iterator<Item = &'a AnnouncedVolume>,
) -> BTreeMap<String, String> {
    let cluster = cluster.map(str::to_owned);
    let batch = BatchRecord { version: VERSION, grace_seconds: grace.as_secs(), cluster };
    volumes.map(entry).chain([(BATCH.to_owned(), json!(batch).to_string())]).collect()
}

/// Returns the key and value of a volume.
pub fn entry(volume: &AnnouncedVolume) -> (String, String) {
    (volume.uid.to_string(), json!(VolumeRecord::of(volume)).to_string())
}

impl ReadBatch {
    /// Returns the announcements of the record.
    ///
    /// # Errors
    /// Why it announces nothing: what can be edited, or cannot be read, proves nothing.
    pub fn parse(&self) -> Result<AnnouncedBatch, String> {
        if !self.immutable {
            return Err("it is not immutable".to_owned());
        }
        if self.deleting {
            return Err("it is being deleted".to_owned());
        }
        let created = self.created.ok_or("it has no creationTimestamp")?;
        let batch = self.data.get(BATCH).ok_or_else(|| format!("it has no key {BATCH:?}"))?;
        let batch: BatchRecord = parse(batch)?;
        if batch.grace_seconds < SHORTEST_GRACE.as_secs() {
            return Err("its grace period is shorter than any that is announced".to_owned());
        }
        let volumes = self.data.iter().filter(|(key, _)| *key != BATCH);
        let volume = |(key, value): (&String, &String)| {
            let record: VolumeRecord = parse(value)?;
            match *key == record.uid {
                true => record.volume(),
                false => Err(format!("the value of key {key:?} is about another volume")),
            }
        };
        Ok(AnnouncedBatch {
            name: self.name.as_str().into(),
            created,
            grace: Duration::from_secs(batch.grace_seconds),
            cluster: batch.cluster.map(Into::into),
            volumes: volumes.map(volume).collect::<Result<_, String>>()?,
        })
    }
}

impl ReadBatch {
    /// Returns the name and the uids of a record that announces nothing, with the reason.
    pub fn void(self, reason: String) -> VoidBatch {
        let uids = self.data.keys().filter(|key| *key != BATCH);
        VoidBatch {
            uids: uids.filter_map(|key| Uid::parse(key)).collect(),
            name: self.name.into(),
            reason: reason.into(),
            created: self.created,
        }
    }
}

impl VolumeRecord {
    fn of(volume: &AnnouncedVolume) -> Self {
        let text = |it: &str| it.to_owned();
        Self {
            version: VERSION,
            volume: text(&volume.name),
            uid: volume.uid.to_string(),
            claim: volume.claim.as_ref().map(ClaimKey::to_string),
            claim_uid: volume.claim_uid.as_ref().map(Uid::to_string),
            driver: text(&volume.driver),
            handle: text(&volume.handle),
            place: text(&volume.place),
            proposal: text(&volume.proposal),
            notices: volume.notices.iter().map(|it| text(it)).collect(),
            effect: text(&volume.effect),
        }
    }

    fn volume(self) -> Result<AnnouncedVolume, String> {
        let claim = match self.claim.as_deref().map(|it| it.split_once('/')) {
            None => None,
            Some(Some((namespace, name))) => {
                Some(ClaimKey { namespace: namespace.into(), name: name.into() })
            }
            Some(None) => return Err(format!("the claim of {:?} has no namespace", self.volume)),
        };
        Ok(AnnouncedVolume {
            uid: uid(&self.uid)?,
            name: self.volume.into(),
            claim,
            claim_uid: self.claim_uid.as_deref().map(uid).transpose()?,
            driver: self.driver.as_str().into(),
            handle: self.handle.into(),
            place: self.place.into(),
            proposal: self.proposal.into(),
            notices: self.notices.into_iter().map(Into::into).collect(),
            effect: self.effect.into(),
        })
    }
}

/// Returns the value of a veto; its key is the uid of the volume.
pub fn veto_value(veto: &Veto) -> String {
    let record = VetoRecord {
        version: VERSION,
        volume: veto.volume.to_string(),
        uid: veto.uid.to_string(),
        announced_in: veto.batch.to_string(),
        found_at: veto.found.as_ref().map(format_time),
    };
    json!(record).to_string()
}

/// Parses a veto. Its key alone says which volume is concerned: whatever the value is, the veto
/// holds.
pub fn parse_veto(key: &str, value: &str) -> Option<Veto> {
    let uid = Uid::parse(key)?;
    let record = parse::<VetoRecord>(value).ok();
    let (volume, batch, found) = match record {
        Some(it) => (it.volume, it.announced_in, it.found_at),
        None => Default::default(),
    };
    let found = found.and_then(|it| parse_time(&it).ok().flatten());
    Some(Veto { volume: volume.into(), uid, batch: batch.into(), found })
}

fn uid(text: &str) -> Result<Uid, String> {
    Uid::parse(text).ok_or_else(|| format!("{text:?} is no uid"))
}

/// Parses a value of this version.
fn parse<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    match value["version"].as_u64() {
        Some(version) if version == u64::from(VERSION) => {}
        Some(version) => return Err(format!("it is of version {version}")),
        None => return Err("it has no version".to_owned()),
    }
    serde_json::from_value(value).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const UID: &str = "493c02a7-f4e6-5ec4-8e0b-fc87ae581be5";

    fn volume() -> AnnouncedVolume {
        AnnouncedVolume {
            name: "pv-1".into(),
            uid: Uid::parse(UID).expect("a uid"),
            claim: Some(ClaimKey { namespace: "shop".into(), name: "data".into() }),
            claim_uid: Uid::parse("6a1f02a7-f4e6-5ec4-8e0b-fc87ae581be5"),
            driver: "d.example".into(),
            handle: "h/1".into(),
            place: "p".into(),
            proposal: "q".into(),
            notices: vec!["n".into()],
            effect: "sets the policy".into(),
        }
    }

    fn batch() -> ReadBatch {
        ReadBatch {
            name: name("0123456789abcdef-more", 0),
            created: Time::from_timestamp(1_800_000_000, 0),
            immutable: true,
            deleting: false,
            data: data(Duration::from_secs(259_200), Some("c"), [volume()].iter()),
        }
    }

    #[test]
    fn what_was_announced_is_read_back() {
        let read = batch().parse().expect("one of ours");
        assert_eq!(read.volumes, [volume()]);
        assert_eq!(read.grace, Duration::from_secs(259_200));
        assert_eq!(read.cluster.as_deref(), Some("c"));
        assert_eq!(Some(read.created), batch().created);
        assert_eq!(&*read.name, "kubectl-storage-announced-0123456789abcdef-m");
        assert_eq!(name("ab", 2), "kubectl-storage-announced-ab-2");
        let bare =
            AnnouncedVolume { claim: None, claim_uid: None, notices: Vec::new(), ..volume() };
        let data = data(Duration::from_secs(1), None, [bare.clone()].iter());
        let read = ReadBatch { data, ..batch() }.parse().expect("one of ours");
        assert_eq!((read.volumes, read.cluster), (vec![bare], None));
    }

    /// A damaged announcement announces what it announced, less, or nothing.
    #[test]
    fn damaged_announcements_name_no_other_volume() {
        let (key, value) = entry(&volume());
        let veto = veto_value(&Veto {
            volume: "pv-1".into(),
            uid: Uid::parse(UID).expect("a uid"),
            batch: "b".into(),
            found: None,
        });
        let sound = [value.into_bytes(), veto.into_bytes()];
        crate::damage::hold("announcements and vetoes", &sound, |bytes| {
            let text = String::from_utf8_lossy(bytes).into_owned();
            let mut read = batch();
            read.data.insert(key.clone(), text.clone());
            let announced = read.parse().map(|it| it.volumes).unwrap_or_default();
            assert!(announced.iter().all(|it| it.uid == volume().uid), "{announced:?}");
            // Whatever it says, a veto holds.
            assert!(parse_veto(&key, &text).is_some_and(|it| it.uid == volume().uid));
        });
    }

    #[test]
    fn what_can_be_edited_or_cannot_be_read_announces_nothing() {
        let edited = |key: &str, value: &str| {
            let mut read = batch();
            read.data.insert(key.to_owned(), value.to_owned());
            read
        };
        let mut bare = batch();
        bare.data.remove(BATCH);
        let other = batch().data[UID].clone();
        for (read, wrong) in [
            (ReadBatch { immutable: false, ..batch() }, "not immutable"),
            (ReadBatch { deleting: true, ..batch() }, "being deleted"),
            (edited(BATCH, r#"{"version": 1, "graceSeconds": 0}"#), "shorter than any"),
            (ReadBatch { created: None, ..batch() }, "no creationTimestamp"),
            (bare, "no key"),
            (edited(BATCH, "{}"), "no version"),
            (edited(BATCH, r#"{"version": 2}"#), "of version 2"),
            (edited(BATCH, r#"{"version": 1, "graceSeconds": -1}"#), "invalid value"),
            (edited(UID, "{"), "EOF"),
            (edited("x", "[]"), "no version"),
            (edited("x", &other), "another volume"),
        ] {
            let error = read.parse().expect_err("nothing is announced");
            assert!(error.contains(wrong), "{error}");
            let (created, is_whole) = (read.created, read.data.contains_key(UID));
            let void = read.void(error);
            // What it was about is known all the same.
            assert_eq!(void.created, created);
            assert_eq!(void.uids.contains(&volume().uid), is_whole);
        }
    }

    #[test]
    fn a_veto_holds_whatever_its_value_is() {
        let veto = Veto {
            volume: "pv-1".into(),
            uid: Uid::parse(UID).expect("a uid"),
            batch: "kubectl-storage-announced-1".into(),
            found: Time::from_timestamp(1_800_000_000, 0),
        };
        assert_eq!(parse_veto(UID, &veto_value(&veto)), Some(veto.clone()));
        for value in ["", "{", "no", r#"{"version": 9}"#] {
            let read = parse_veto(UID, value).expect("its key is enough");
            assert_eq!((read.uid, &*read.batch), (veto.uid.clone(), ""));
        }
        assert_eq!(parse_veto("", "x"), None);
    }
}
