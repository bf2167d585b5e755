//! The record of kept backend volumes: the keys of one `ConfigMap` in a namespace.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Reply, ReplyContent, answer_to};
use crate::client::{ObjectRequest, Reader};
use crate::journal::kept_backend::{CONFIG_MAP, KeptBackendRecord};
use crate::model::{Answer, Kind};

/// A `ConfigMap`, of which only `data` is read.
#[derive(Deserialize)]
struct ConfigMapData {
    data: Option<BTreeMap<String, String>>,
}

/// Reads the record of a namespace. The answer says whether there is one.
pub(super) async fn read_record(reader: &Reader, namespace: &str) -> Reply {
    let record = ObjectRequest::named(Kind::ConfigMap, Some(namespace), CONFIG_MAP);
    match reader.get_object::<ConfigMapData>(&record).await {
        Ok(found) => parse_record(found.value.data.unwrap_or_default()),
        Err(error) => answer_to(&error, CONFIG_MAP).into(),
    }
}

fn parse_record(data: BTreeMap<String, String>) -> Reply {
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
    Reply { answer, content: ReplyContent::KeptBackends(kept) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_cannot_be_read_hides_no_other_and_is_no_silence() {
        let value = |handle: &str| {
            format!(r#"{{"version":1,"driver":"d","handle":"{handle}","volume":"v"}}"#)
        };
        let data = |texts: &[(&str, String)]| {
            texts.iter().map(|(key, text)| ((*key).to_owned(), text.clone())).collect()
        };
        let whole = parse_record(data(&[("a", value("h1")), ("b", value("h2"))]));
        assert_eq!(whole.answer, Answer::Yes);
        let torn =
            parse_record(data(&[("a", value("h1")), ("b", "{}".to_owned()), ("c", String::new())]));
        let Answer::Unanswered(reason) = torn.answer else { panic!("{:?}", torn.answer) };
        assert_eq!(&*reason, "b cannot be read: it has no version (and 1 more)");
        let ReplyContent::KeptBackends(kept) = torn.content else {
            panic!("what can be read counts")
        };
        assert_eq!(kept.len(), 1);
    }
}
