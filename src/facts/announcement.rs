//! State of the announcement of a volume: whether it was announced, and whether its grace period is over
//! (semantics#announcements).
//!
//! Only a record decides: an immutable `ConfigMap`, whose creationTimestamp is the API server's. The
//! annotation on the volume shows it to people. Its absence is a veto, and a later time in it
//! lengthens the grace period; nothing that it says makes a volume due earlier.

use std::{collections::BTreeSet, fmt::Write as _, sync::Arc};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::cluster::{Cx, Placed, Seen, Unseen};
use crate::drivers::{Extent, Letters, Part, Place};
use crate::facts::finalizer::{NO_FINALIZER, finalizer_in_words};
use crate::model::{
    Action, AnnouncedBatch, AnnouncedVolume, Announcements, Answer, FinalizerEdit, Kind, Proposal,
    Question, Text, Time, Uid, VoidBatch, Volume, format_time, parse_day, parse_time,
};

/// The last second of the year 9999, after which times cannot be written.
const LAST_SECOND: i64 = 253_402_300_799;

/// Word that precedes the name of the record in an annotation.
const CONFIG_MAP: &str = "configmap";

/// The status of the announcement of a volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnnouncementStatus {
    /// The volume was not announced.
    NotAnnounced,
    /// The grace period runs.
    Running(AnnouncedPeriod),
    /// The grace period is over, and the volume is as it was announced.
    Due(AnnouncedPeriod),
    /// The announcement was vetoed.
    Vetoed(VetoedAnnouncement),
    /// The volume is not as it was announced, for this reason.
    Changed(String),
    /// The annotation says that the volume was announced, which no record does, for this reason.
    Void(String),
    /// The annotation names a record in this namespace, which was not read.
    Elsewhere(Text),
}

/// Grace period of an announced volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnnouncedPeriod {
    /// Name of the record.
    pub batch: Box<str>,
    /// Time of the last announcement, by the API server's clock.
    pub since: Time,
    /// The end of the grace period.
    pub due: Time,
    /// The longest grace period of the records of the volume.
    pub grace: std::time::Duration,
}

/// An announcement that was vetoed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VetoedAnnouncement {
    /// The record of the announcement; empty where the veto does not name it.
    pub batch: Box<str>,
    /// Way in which the announcement was vetoed.
    pub how: String,
    /// Whether the veto is recorded: otherwise it would be forgotten with the announcement.
    pub recorded: bool,
}

/// Returns the question by which announcements in this namespace are read.
pub fn question(namespace: &Text) -> Question {
    Question::Announcements { namespace: Text::clone(namespace) }
}

/// Returns the recorded announcements.
///
/// # Errors
/// When it was not read: then it is unknown what is announced.
pub fn announcements(cx: &Cx) -> Seen<Arc<Announcements>> {
    let namespace = &cx.settings().recording.namespace;
    let answer = cx.answer(question(namespace)).map_err(|unseen| {
        let reason = "unknown what is announced, since the records were not read".to_owned();
        Unseen { reason, ..unseen }
    })?;
    records_of(&answer, namespace)
}

/// Returns the recorded announcements, as far as they were read anyway; `None` where they were not asked for, as on
/// dumps of other tools.
pub fn known_announcements(cx: &Cx) -> Option<Seen<Arc<Announcements>>> {
    let namespace = &cx.settings().recording.namespace;
    Some(records_of(cx.known_answer(&question(namespace))?, namespace))
}

/// Returns the notice that the annotation of a volume names a record in another namespace.
pub fn recorded_elsewhere(namespace: &str) -> String {
    format!(
        "its annotation says that it is announced in namespace {namespace}, whose records are not \
         read without --record-namespace {namespace}"
    )
}

/// Returns the notice that other namespaces have records of announcements and vetoes; `None` where none do.
pub fn records_elsewhere(namespaces: &BTreeSet<String>) -> Option<String> {
    let named: Vec<_> = namespaces.iter().map(String::as_str).collect();
    (!named.is_empty()).then(|| {
        format!(
            "announcements and vetoes that are recorded in another namespace do not count here, and \
             there are some in {}; --record-namespace names the one that counts",
            named.join(", ")
        )
    })
}

/// Returns the announcements in an answer.
///
/// # Errors
/// When they were not read, and why.
pub fn records_of(answer: &Answer, namespace: &Text) -> Seen<Arc<Announcements>> {
    let reason = match answer {
        Answer::Announcements(all) => return Ok(Arc::clone(all)),
        Answer::Forbidden => unreadable(namespace),
        Answer::Unanswered(why) => {
            format!("unknown what is announced, since the records could not be read: {why}")
        }
        Answer::Yes
        | Answer::Is(_)
        | Answer::Owner(_)
        | Answer::Users(_)
        | Answer::No
        | Answer::NotServed { .. } => "unknown what is announced".to_owned(),
    };
    Err(Unseen { kind: Kind::ConfigMap, namespace: Some(Text::clone(namespace)), reason })
}

/// Returns the reason for a user who may not read the records.
pub fn unreadable(namespace: &str) -> String {
    format!("unknown what is announced, since you may not list configmaps in namespace {namespace}")
}

/// Returns the status of the announcement of a volume now. `proposal` is what would be done to it now; without one,
/// only the volume itself is compared with what was announced.
///
/// # Errors
/// When announcements were not read.
pub fn announcement_status(
    cx: &Cx,
    volume: &Volume,
    proposal: Option<&Proposal>,
) -> Seen<AnnouncementStatus> {
    let records = announcements(cx)?;
    Ok(status_by(cx, &records, volume, proposal))
}

/// Returns the status of an announcement, by records that were read.
pub fn status_by(
    cx: &Cx,
    records: &Announcements,
    volume: &Volume,
    proposal: Option<&Proposal>,
) -> AnnouncementStatus {
    let cluster = cx.server().and_then(|it| it.cluster_uid.as_deref());
    let is_past = |time| cx.passed(time, std::time::Duration::ZERO);
    let namespace = &cx.settings().recording.namespace;
    match status(records, volume, proposal, cluster, is_past) {
        AnnouncementStatus::Void(why) => {
            let named = volume.metadata.announced().and_then(named_namespace);
            match named.filter(|it| *it != &**namespace) {
                Some(named) => AnnouncementStatus::Elsewhere(named.into()),
                None => AnnouncementStatus::Void(why),
            }
        }
        status => status,
    }
}

/// Returns the status of the announcement of a volume; `cluster` is the uid of the cluster, where it is
/// known.
pub fn status(
    records: &Announcements,
    volume: &Volume,
    proposal: Option<&Proposal>,
    cluster: Option<&str>,
    is_past: impl Fn(Time) -> bool,
) -> AnnouncementStatus {
    let mark = volume.metadata.announced();
    let uid = volume.metadata.uid.as_ref();
    if let Some(veto) = records.vetoes.iter().find(|it| Some(&it.uid) == uid) {
        let found = veto
            .found
            .as_ref()
            .map_or_else(String::new, |it| format!(", found {}", format_time(it)));
        let how = format!("a veto is recorded{found}");
        let batch = veto.batch.clone();
        return AnnouncementStatus::Vetoed(VetoedAnnouncement { batch, how, recorded: true });
    }
    let is_here = |it: &&AnnouncedBatch| {
        it.cluster.as_deref().zip(cluster).is_none_or(|(there, here)| there == here)
    };
    let mine: Vec<(&AnnouncedBatch, &AnnouncedVolume)> = records
        .batches
        .iter()
        .filter(is_here)
        .flat_map(|batch| batch.volumes.iter().map(move |it| (batch, it)))
        .filter(|(_, it)| Some(&it.uid) == uid)
        .collect();
    let Some(since) = mine.iter().map(|(batch, _)| batch.created).max() else {
        return match mark {
            None => AnnouncementStatus::NotAnnounced,
            Some(mark) => unrecorded(records, volume, mark),
        };
    };
    // Of several records the newest counts; where that is not certain, all of the same second.
    let newest: Vec<_> = mine.iter().filter(|(batch, _)| batch.created == since).collect();
    let batch = newest.first().map(|(batch, _)| batch.name.clone()).unwrap_or_default();
    let shown = match mark.map(shown_time) {
        None => Err("its annotation was removed".to_owned()),
        Some(None) => Err(format!("its annotation is now {:?}, no time", mark.unwrap_or_default())),
        Some(Some(shown)) => Ok(shown),
    };
    let shown = match shown {
        Ok(shown) => shown,
        Err(how) => {
            let recorded = false;
            return AnnouncementStatus::Vetoed(VetoedAnnouncement { batch, how, recorded });
        }
    };
    // What cannot be read may say something else.
    let is_newer = |it: &&VoidBatch| {
        it.created.is_none_or(|it| it >= since) && it.uids.iter().any(|it| Some(it) == uid)
    };
    if let Some(void) = records.void.iter().find(is_newer) {
        return AnnouncementStatus::Void(announces_nothing(void));
    }
    let names_it = newest.iter().any(|(batch, _)| mark.is_some_and(|it| names(it, &batch.name)));
    // Its newest record was deleted, which takes the announcement back, or its metadata was restored. An
    // earlier record does not announce it again.
    if !names_it && mark.and_then(named_record).is_some() {
        let why = "its annotation names another record than the newest that announces it";
        return AnnouncementStatus::Void(why.to_owned());
    }
    // Volumes are annotated before they are recorded: one with an earlier annotation was not.
    if !names_it && shown <= since {
        let why = "its annotation is older than its newest record, or by another author";
        return AnnouncementStatus::Void(why.to_owned());
    }
    let changed = newest.iter().find_map(|(_, then)| difference(then, volume, proposal));
    if let Some(changed) = changed {
        return AnnouncementStatus::Changed(changed);
    }
    // A later announcement never shortens the grace period of an earlier one.
    let ends = mine.iter().map(|(batch, _)| grace_end(batch.created, batch.grace));
    let grace = newest.iter().map(|(batch, _)| batch.grace).max().unwrap_or_default();
    let kept = volume.metadata.keep_until().map(|it| kept_end(it, grace));
    let due = ends.chain([shown]).chain(kept).max().unwrap_or(Time::MAX_UTC);
    let grace = mine.iter().map(|(batch, _)| batch.grace).max().unwrap_or_default();
    let period = AnnouncedPeriod { batch, since, due, grace };
    match is_past(due) {
        true => AnnouncementStatus::Due(period),
        false => AnnouncementStatus::Running(period),
    }
}

/// Returns the end of a grace period that begins with the day until which a volume is to be kept. A date that makes no
/// sense never comes.
pub fn kept_end(until: &str, grace: std::time::Duration) -> Time {
    parse_day(until).map_or(Time::MAX_UTC, |day| grace_end(day, grace))
}

/// Returns the end of a grace period; the end of time where that is no date.
pub fn grace_end(begin: Time, grace: std::time::Duration) -> Time {
    let grace = chrono::Duration::from_std(grace).ok();
    grace.and_then(|it| begin.checked_add_signed(it)).unwrap_or(Time::MAX_UTC)
}

/// Returns the time that the annotation of a volume has to show: the latest of the end of the grace period, the time in
/// its annotation and the ends by earlier records.
pub fn lengthened(
    records: &Announcements,
    uid: Option<&Uid>,
    mark: Option<&str>,
    end: Time,
) -> Time {
    let announces = |it: &&AnnouncedBatch| it.volumes.iter().any(|it| Some(&it.uid) == uid);
    let batches = records.batches.iter().filter(announces);
    let ends = batches.map(|it| grace_end(it.created, it.grace));
    let latest = ends.chain(mark.and_then(shown_time)).fold(end, Time::max);
    // Later ones cannot be written as times.
    latest.min(Time::from_timestamp(LAST_SECOND, 0).unwrap_or(latest))
}

/// Returns the status of a volume whose annotation no record supports, with the reason.
fn unrecorded(records: &Announcements, volume: &Volume, mark: &str) -> AnnouncementStatus {
    let is_named = |it: &AnnouncedVolume| *it.name == *volume.name();
    if records.batches.iter().flat_map(|it| &it.volumes).any(is_named) {
        let reason =
            "another volume of its name was announced, with another uid or in another cluster";
        return AnnouncementStatus::Changed(reason.to_owned());
    }
    let void = records.void.iter().find(|it| names(mark, &it.name));
    AnnouncementStatus::Void(match void {
        Some(void) => announces_nothing(void),
        None => "no record announces it: that was deleted, or the annotation was copied or forged"
            .to_owned(),
    })
}

fn announces_nothing(void: &VoidBatch) -> String {
    format!("configmap {} announces nothing: {}", void.name, void.reason)
}

/// Whether an annotation names this record.
fn names(mark: &str, batch: &str) -> bool {
    mark.split(|it: char| it == '/' || it.is_whitespace()).any(|word| word == batch)
}

/// The namespace and the name of the record that an annotation names in the form of this tool.
fn named_record(mark: &str) -> Option<(&str, &str)> {
    let mut words = mark.split_whitespace();
    words.find(|it| *it == CONFIG_MAP)?;
    words.next()?.split_once('/')
}

/// The namespace of the record that an annotation names, if it can be one.
fn named_namespace(mark: &str) -> Option<&str> {
    let (namespace, _) = named_record(mark)?;
    let may_be_in_it = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '-';
    (!namespace.is_empty() && namespace.chars().all(may_be_in_it)).then_some(namespace)
}

/// The annotation of an announced volume: the end of its grace period, and where that is recorded.
pub fn mark_text(due: &Time, namespace: &str, batch: &str) -> String {
    format!("{} reclaim, recorded in {CONFIG_MAP} {namespace}/{batch}", format_time(due))
}

/// The time that an annotation shows, if it begins with one.
fn shown_time(mark: &str) -> Option<Time> {
    parse_time(mark.split_whitespace().next()?).ok().flatten()
}

/// Number of bytes of a hash: proposals with equal hashes are of no use to an attacker.
const BYTES: usize = 16;

/// Returns the entry of a volume in a record; `None` where the volume cannot be told apart from others.
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
fn difference(
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

/// Returns what is compared of a proposal: its steps, its effect, its risk and the danger flags that it relies on.
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

/// Returns a hash over the storage that a volume references.
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

#[cfg(test)]
mod tests;
