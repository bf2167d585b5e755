//! The Lease by which one of several processes is elected (client-go, `tools/leaderelection`).

use std::time::Duration;

use chrono::{SecondsFormat, TimeDelta};
use http::Method;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::request::WriteRequest;
use super::writer::{WriteError, Writer};
use crate::client::{
    Connection, ListForm, ListRequest, ObjectRequest, ReadError, Reader, collection_path,
    list_json, object_path,
};
use crate::model::{Kind, Time, format_time, parse_time};
use crate::objects::OWN_COMPONENT;

const GROUP: &str = "coordination.k8s.io";
const VERSION: &str = "v1";
const RESOURCE: &str = "leases";
const JSON: &str = "application/json";

/// The annotation with the last long time without a holder, as `from/until`; a Lease that is restored from a backup
/// gets it too.
const UNATTENDED: &str = "storage.kubectl.dev/unattended";
/// The duration without a renewal after which a Lease was unattended.
const ATTENDED: TimeDelta = TimeDelta::hours(1);
/// The annotation with the time from which on announcements count: the creation, or the end of a gap.
const RESTARTED: &str = "storage.kubectl.dev/counts-from";
/// The duration without a renewal after which a Lease has a gap: four times as long as a Lease lasts. The successor of
/// a killed leader is faster.
const GAP: TimeDelta = TimeDelta::minutes(1);
/// `GAP` as a `Duration`.
pub(crate) const LEASE_GAP: Duration = Duration::from_secs(60);
/// The annotation with the namespaces whose records pause the holder, separated by commas.
const READS: &str = "storage.kubectl.dev/paused-by";

/// A time without a holder of a Lease, by the API server's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unattended {
    /// Time of the last renewal before.
    pub(crate) from: Time,
    /// Time when the Lease was held again.
    pub(crate) until: Time,
}

/// A Lease as the API server stored it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredLease {
    /// The object, with everything that other clients keep in it.
    object: Value,
}

/// The holder of a Lease, as it is to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LeaseHold {
    /// The identity of the holder; empty where the Lease is given back.
    pub(crate) holder: String,
    /// The duration unless the Lease is renewed: whole seconds, at least one.
    pub(crate) duration: Duration,
    /// Number of changes of the holder.
    pub(crate) transitions: u64,
    /// Whether the holder differs from the one before.
    pub(crate) is_acquired: bool,
    /// Whether announcements count from now on: the cluster may have been restored.
    pub(crate) is_restart: bool,
}

impl StoredLease {
    /// Returns a Lease from JSON, for tests.
    #[cfg(test)]
    pub(crate) fn of(object: Value) -> Self {
        Self { object }
    }

    /// The name of the Lease.
    pub(crate) fn name(&self) -> &str {
        self.object["metadata"]["name"].as_str().unwrap_or_default()
    }

    /// The identity of the holder; empty without a holder.
    pub(crate) fn holder(&self) -> &str {
        self.object["spec"]["holderIdentity"].as_str().unwrap_or_default()
    }

    /// The namespace of the Lease.
    pub(crate) fn namespace(&self) -> &str {
        self.object["metadata"]["namespace"].as_str().unwrap_or_default()
    }

    /// The namespaces whose records pause the holder, as it noted them; none for an earlier version.
    pub(crate) fn reads(&self) -> Vec<&str> {
        let noted = self.object["metadata"]["annotations"][READS].as_str().unwrap_or_default();
        noted.split(',').filter(|it| !it.is_empty()).collect()
    }

    /// Time from which on announcements count, as far as a leader noted it.
    pub(crate) fn restarted(&self) -> Option<Time> {
        parse_time(self.object["metadata"]["annotations"][RESTARTED].as_str()?).ok().flatten()
    }

    /// Whether the Lease was not renewed for longer than `GAP`, or at an unknown time: records of that time may be
    /// lost, as after a restore.
    pub(crate) fn has_gap(&self, now: Time) -> bool {
        self.renewed().is_none_or(|renewed| (now - renewed).abs() > GAP)
    }

    /// The duration of the Lease unless it is renewed. A Lease without one is held until it does not change for as long
    /// as the own ones last.
    pub(crate) fn duration(&self) -> Option<Duration> {
        self.object["spec"]["leaseDurationSeconds"].as_u64().map(Duration::from_secs)
    }

    /// Number of changes of the holder.
    pub(crate) fn transitions(&self) -> u64 {
        self.object["spec"]["leaseTransitions"].as_u64().unwrap_or_default()
    }

    /// Time of the last renewal, by the clock of the holder.
    pub(crate) fn renewed(&self) -> Option<Time> {
        parse_time(self.object["spec"]["renewTime"].as_str()?).ok().flatten()
    }

    /// The last long time without a holder, as far as this tool noted one.
    pub(crate) fn unattended(&self) -> Option<Unattended> {
        let noted = self.object["metadata"]["annotations"][UNATTENDED].as_str()?;
        let (from, until) = noted.split_once('/')?;
        let time = |it: &str| parse_time(it).ok().flatten();
        Some(Unattended { from: time(from)?, until: time(until)? })
    }

    /// Returns the note about a long time without a renewal until now, if there was one.
    fn note_unattended(&self, now: Time) -> Option<String> {
        let renewed = self.renewed()?;
        let is_long = now - renewed > ATTENDED;
        is_long.then(|| format!("{}/{}", format_time(&renewed), format_time(&now)))
    }

    /// The uid of the Lease, which changes if it is deleted and created again.
    pub(crate) fn uid(&self) -> &str {
        self.object["metadata"]["uid"].as_str().unwrap_or_default()
    }

    /// The resourceVersion of this state of the Lease.
    pub(crate) fn resource_version(&self) -> &str {
        self.object["metadata"]["resourceVersion"].as_str().unwrap_or_default()
    }
}

/// Reads all Leases of a namespace, or of all, with the API server's time.
///
/// # Errors
/// Why they could not be read.
pub(crate) async fn leases(
    reader: &Reader,
    namespace: Option<&str>,
) -> Result<(Vec<StoredLease>, Option<Time>), ReadError> {
    let request = ListRequest {
        namespace: namespace.map(str::to_owned),
        form: ListForm::Json,
        ..ListRequest::of(Kind::Lease, VERSION)
    };
    let answer = list_json::<Value>(reader, &request).await?;
    let leases = answer.value.into_iter().map(|object| StoredLease { object });
    Ok((leases.collect(), answer.date))
}

/// Reads and writes one Lease.
pub(crate) struct LeaseWriter {
    reader: Reader,
    writer: Writer,
    namespace: String,
    name: String,
    /// The namespaces whose records pause this process.
    reads: String,
    /// The time to wait for an answer: after that the Lease is lost.
    patience: Duration,
}

/// The end of a write of a Lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LeaseWrite {
    /// The Lease is stored.
    Stored(StoredLease),
    /// Another client wrote it first.
    Overtaken,
    /// The write was refused, or whether the Lease is stored is unknown.
    Failed(String),
}

impl LeaseWriter {
    /// Returns a reader and writer of the Lease with this name.
    pub(crate) fn new(
        connection: &Connection,
        (namespace, name): (&str, &str),
        patience: Duration,
    ) -> Self {
        Self {
            reader: Reader::new(connection),
            writer: Writer::new(connection, OWN_COMPONENT),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            reads: String::new(),
            patience,
        }
    }

    /// Adds the namespaces whose records pause this process to each write.
    pub(crate) fn noting<'a>(self, reads: impl IntoIterator<Item = &'a str>) -> Self {
        Self { reads: reads.into_iter().collect::<Vec<_>>().join(","), ..self }
    }

    /// Returns the Lease, if it exists, and the API server's time.
    ///
    /// # Errors
    /// Why it could not be read.
    pub(crate) async fn read(&self) -> Result<(Option<StoredLease>, Option<Time>), String> {
        let lease = ObjectRequest::named(Kind::Lease, Some(&self.namespace), &self.name);
        match timeout(self.patience, self.reader.get_object::<Value>(&lease)).await {
            Ok(Ok(answer)) => {
                let object = answer.value;
                // What is written over it is written into it.
                let is_whole = object["metadata"].is_object() && object["spec"].is_object();
                match is_whole {
                    true => Ok((Some(StoredLease { object }), answer.date)),
                    false => Err("the answer is no Lease".to_owned()),
                }
            }
            Ok(Err(error)) if error.is_absence_of(&self.name) => Ok((None, None)),
            Ok(Err(error)) => Err(told(&error)),
            Err(_) => Err(format!("no answer came within {}s", self.patience.as_secs())),
        }
    }

    /// Creates the Lease with a holder, or replaces the state that was read. `now` is the API server's time; only
    /// people read it.
    pub(crate) async fn write(
        &self,
        over: Option<&StoredLease>,
        hold: &LeaseHold,
        now: Option<Time>,
    ) -> LeaseWrite {
        let request = self.render(over, hold, now);
        match timeout(self.patience, self.writer.send(&request, false)).await {
            Ok(Ok(answer)) => LeaseWrite::Stored(StoredLease { object: answer.value }),
            // It was deleted; a namespace that does not exist is told.
            Ok(Err(error)) if over.is_some() && error.is_absence_of(&self.name) => {
                LeaseWrite::Overtaken
            }
            Ok(Err(WriteError::Rejected { code: 409, .. })) => LeaseWrite::Overtaken,
            Ok(Err(error)) => LeaseWrite::Failed(error.to_string()),
            Err(_) => {
                LeaseWrite::Failed(format!("no answer came within {}s", self.patience.as_secs()))
            }
        }
    }

    fn render(
        &self,
        over: Option<&StoredLease>,
        hold: &LeaseHold,
        now: Option<Time>,
    ) -> WriteRequest {
        let Self { namespace, name, .. } = self;
        let mut object = over.map_or_else(
            || {
                json!({
                    "apiVersion": "coordination.k8s.io/v1",
                    "kind": "Lease",
                    "metadata": {"namespace": namespace, "name": name},
                    "spec": {},
                })
            },
            |it| it.object.clone(),
        );
        // The managed fields that were read would be taken for those that are wanted.
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.remove("managedFields");
        }
        if let Some(noted) = over.zip(now).and_then(|(over, now)| over.note_unattended(now)) {
            object["metadata"]["annotations"][UNATTENDED] = json!(noted);
        }
        if let Some(now) = now.filter(|_| hold.is_restart) {
            object["metadata"]["annotations"][RESTARTED] = json!(format_time(&now));
        }
        if !self.reads.is_empty() {
            object["metadata"]["annotations"][READS] = json!(self.reads);
        }
        let now = now.map(|it| it.to_rfc3339_opts(SecondsFormat::Micros, true));
        let spec = &mut object["spec"];
        spec["holderIdentity"] = json!(hold.holder);
        spec["leaseDurationSeconds"] = json!(hold.duration.as_secs().max(1));
        spec["leaseTransitions"] = json!(hold.transitions);
        spec["renewTime"] = json!(now);
        if hold.is_acquired {
            spec["acquireTime"] = json!(now);
        }
        let (method, path) = match over {
            Some(_) => (Method::PUT, object_path(GROUP, VERSION, Some(namespace), RESOURCE, name)),
            None => (Method::POST, collection_path(GROUP, VERSION, Some(namespace), RESOURCE)),
        };
        WriteRequest { method, path, content_type: JSON, body: object }
    }
}

fn told(error: &ReadError) -> String {
    match error.hint() {
        Some(hint) => format!("{error}; {hint}"),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_that_was_not_renewed_for_a_while_has_a_gap() {
        let at = |text| parse_time(text).ok().flatten().expect("a time");
        let of = |spec: Value| StoredLease::of(json!({"spec": spec}));
        let renewed = of(json!({"renewTime": "2026-11-01T10:00:00.000000Z"}));
        for (now, has_gap) in [
            ("2026-11-01T10:00:17Z", false),
            ("2026-11-01T10:01:00Z", false),
            ("2026-11-01T10:01:01Z", true),
            ("2026-11-01T12:00:00Z", true),
            // What is ahead says nothing about a gap.
            ("2026-11-01T09:58:59Z", true),
        ] {
            assert_eq!(renewed.has_gap(at(now)), has_gap, "{now}");
        }
        assert!(of(json!({})).has_gap(at("2026-11-01T10:00:00Z")));
    }

    #[test]
    fn a_lease_that_nobody_has_renewed_for_long_says_so_from_then_on() {
        let lease = StoredLease::of(json!({"spec": {"renewTime": "2026-11-01T10:00:00.000000Z"}}));
        let at = |text| parse_time(text).ok().flatten().expect("a time");
        assert_eq!(lease.note_unattended(at("2026-11-01T11:00:00Z")), None);
        assert_eq!(lease.note_unattended(at("2026-11-01T09:00:00Z")), None);
        let noted = lease.note_unattended(at("2026-11-01T11:00:01Z"));
        assert_eq!(noted.as_deref(), Some("2026-11-01T10:00:00Z/2026-11-01T11:00:01Z"));
        let of = |noted: &str| {
            let annotations = json!({(UNATTENDED): noted});
            StoredLease::of(json!({"metadata": {"annotations": annotations}})).unattended()
        };
        let expected =
            Unattended { from: at("2026-11-01T10:00:00Z"), until: at("2026-11-01T11:00:01Z") };
        assert_eq!(of(&noted.unwrap_or_default()), Some(expected));
        for odd in ["", "/", "2026-11-01T10:00:00Z", "a/b"] {
            assert_eq!(of(odd), None, "{odd:?}");
        }
        assert_eq!(StoredLease::of(json!({})).note_unattended(at("2026-11-01T11:00:00Z")), None);
    }
}
