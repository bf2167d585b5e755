//! Backend volumes that were left behind on purpose: the record in a cluster, and the lines of our own
//! dumps that tell of them. What writing a volume down again needs stays in the record.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::answers::{self, Found, Reply};
use crate::client::Reader;
use crate::journal::kept_backend::{CONFIG_MAP, KeptBackendRecord};
use crate::model::{
    Answer, BackendKey, ClaimKey, Interner, KeptBackend, Recorded, Uid, format_time, parse_time,
};

/// Kind of a line with a kept backend.
pub const KEPT: &str = "KeptBackend";

/// A kept backend in its saved form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Kept {
    driver: String,
    handle: String,
    volume: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    uid: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    claim: Option<Claimed>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    storage_class: Option<String>,
    /// In bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    capacity: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    since: Option<String>,
    recorded: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    entry: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Claimed {
    namespace: String,
    name: String,
}

impl Kept {
    /// Puts it into its saved form.
    pub fn new(kept: &KeptBackend) -> Self {
        let claimed = |claim: &ClaimKey| Claimed {
            namespace: claim.namespace.to_string(),
            name: claim.name.to_string(),
        };
        Self {
            driver: kept.backend.driver.to_string(),
            handle: kept.backend.handle.to_string(),
            volume: kept.volume.to_string(),
            uid: kept.uid.as_ref().map(Uid::to_string),
            claim: kept.claim.as_ref().map(claimed),
            storage_class: kept.class.as_ref().map(ToString::to_string),
            capacity: kept.capacity,
            since: kept.since.as_ref().map(format_time),
            recorded: kept.recorded.name().to_owned(),
            entry: kept.entry,
        }
    }

    /// Takes it out of its saved form.
    ///
    /// # Errors
    /// When its time is none, or nobody is known who recorded it.
    pub fn into_backend(self, interner: &mut Interner) -> Result<KeptBackend, String> {
        let recorded = Recorded::ALL.into_iter().find(|it| it.name() == self.recorded);
        let since = match &self.since {
            Some(text) => parse_time(text).map_err(|_| format!("{text:?} is no time"))?,
            None => None,
        };
        Ok(KeptBackend {
            backend: BackendKey { driver: interner.text(&self.driver), handle: self.handle.into() },
            volume: self.volume.into(),
            uid: self.uid.as_deref().and_then(Uid::parse),
            claim: self.claim.map(|claim| ClaimKey {
                namespace: interner.text(&claim.namespace),
                name: claim.name.into(),
            }),
            class: self.storage_class.as_deref().map(|it| interner.text(it)),
            capacity: self.capacity,
            since,
            recorded: recorded
                .ok_or_else(|| format!("{:?} is no journal, cluster or both", self.recorded))?,
            entry: self.entry,
        })
    }
}

/// A `ConfigMap`, as far as it is ours.
#[derive(Deserialize)]
struct ConfigMap {
    data: Option<BTreeMap<String, String>>,
}

/// Reads the record of a namespace. The answer is whether there is one.
pub(super) async fn ask(reader: &Reader, namespace: &str) -> Reply {
    let path = answers::path("", "v1", Some(namespace), "configmaps", CONFIG_MAP);
    match reader.get_json::<ConfigMap>(&path).await {
        Ok(found) => read(found.value.data.unwrap_or_default()),
        Err(error) => Reply { answer: answers::refusal(&error), found: Found::Nothing },
    }
}

fn read(data: BTreeMap<String, String>) -> Reply {
    let (mut kept, mut broken) = (Vec::new(), Vec::new());
    for (key, value) in data {
        match KeptBackendRecord::parse(&value) {
            Ok(record) => kept.push(record.backend()),
            Err(wrong) => broken.push(format!("{key} cannot be read: {wrong}")),
        }
    }
    let answer = match &broken[..] {
        [] => Answer::Yes,
        [one] => Answer::Unanswered(one.as_str().into()),
        [first, rest @ ..] => {
            Answer::Unanswered(format!("{first} (and {} more)", rest.len()).into())
        }
    };
    Reply { answer, found: Found::Kept(kept) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept() -> KeptBackend {
        KeptBackend {
            backend: BackendKey { driver: "d.example".into(), handle: "h/1".into() },
            volume: "pv-1".into(),
            uid: Uid::parse("493c02a7-f4e6-5ec4-8e0b-fc87ae581be5"),
            claim: Some(ClaimKey { namespace: "shop".into(), name: "data".into() }),
            class: Some("fast".into()),
            capacity: Some(10 << 30),
            since: crate::model::Time::from_timestamp(1_800_000_000, 0),
            recorded: Recorded::Both,
            entry: Some(7),
        }
    }

    #[test]
    fn a_saved_line_comes_back_as_it_was() {
        let mut interner = Interner::default();
        let text = serde_json::to_string(&Kept::new(&kept())).expect("it has a JSON form");
        let line: Kept = serde_json::from_str(&text).expect("the same form");
        assert_eq!(line.into_backend(&mut interner), Ok(kept()));
        for (wrong, said) in [("since", "no time"), ("recorded", "no journal")] {
            let mut line: serde_json::Value = serde_json::from_str(&text).expect("JSON");
            line[wrong] = "x".into();
            let line: Kept = serde_json::from_value(line).expect("the same form");
            let error = line.into_backend(&mut interner).expect_err("nothing sensible");
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn a_key_that_cannot_be_read_hides_no_other_and_is_no_silence() {
        let value = |handle: &str| {
            format!(r#"{{"version":1,"driver":"d","handle":"{handle}","volume":"v"}}"#)
        };
        let data = |texts: &[(&str, String)]| {
            texts.iter().map(|(key, text)| ((*key).to_owned(), text.clone())).collect()
        };
        let whole = read(data(&[("a", value("h1")), ("b", value("h2"))]));
        assert_eq!(whole.answer, Answer::Yes);
        let torn = read(data(&[("a", value("h1")), ("b", "{}".to_owned()), ("c", String::new())]));
        let Answer::Unanswered(reason) = torn.answer else { panic!("{:?}", torn.answer) };
        assert_eq!(&*reason, "b cannot be read: it has no version (and 1 more)");
        let Found::Kept(kept) = torn.found else { panic!("what can be read counts") };
        assert_eq!(kept.len(), 1);
    }
}
