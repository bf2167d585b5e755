//! Clusters of which everything was read, made for tests from objects in JSON.

use serde_json::Value;

use super::{Folded, Folder, decoding};
use crate::cluster::{Change, Cluster, Dirty, Reach};
use crate::model::{Answer, Kind, OwnerKey, Question, Row, Uid};

/// Returns question and answer about an object by kind and name in the namespace `shop`: its uid, if it exists.
pub(crate) fn existence(
    api_version: &str,
    kind: &str,
    name: &str,
    uid: Option<&str>,
) -> (Question, Answer) {
    let answer = uid.and_then(Uid::parse).map_or(Answer::No, Answer::Is);
    (Question::OwnerExists(key(api_version, kind, name)), answer)
}

/// Returns the key of an owner in the namespace `shop`.
pub(crate) fn key(api_version: &str, kind: &str, name: &str) -> OwnerKey {
    OwnerKey {
        api_version: api_version.into(),
        kind: kind.into(),
        namespace: "shop".into(),
        name: name.into(),
    }
}

/// Returns a cluster of these objects, in which every kind was read but these, and with these answers.
pub(crate) fn cluster_of<'a>(
    objects: impl IntoIterator<Item = &'a Value>,
    answers: impl IntoIterator<Item = (Question, Answer)>,
    unread: &[Kind],
) -> Cluster {
    let (mut cluster, mut dirty) = (Cluster::default(), Dirty::everything());
    for object in objects {
        cluster.apply(Change::Seen(row(object)), &mut dirty);
    }
    for (question, answer) in answers {
        cluster.apply(Change::Seen(Row::Answer(question, answer)), &mut dirty);
    }
    for kind in Kind::ALL.into_iter().filter(|it| !unread.contains(it)) {
        cluster.apply(Change::Whole(Reach::all(kind)), &mut dirty);
    }
    cluster
}

fn row(object: &Value) -> Row {
    let text = object.to_string();
    let kind = object["kind"].as_str().unwrap_or_default();
    let group = object["apiVersion"].as_str().and_then(|it| it.split_once('/'));
    let kind = Kind::parse(group.map_or("", |it| it.0), kind).expect("a known kind");
    let decoding = decoding(kind).expect("a decodable kind");
    let decoded = (decoding.json)(&text).expect("a whole object");
    match decoded.row(&mut Folder::default()) {
        Folded::Row(row) => row,
        Folded::Counted => panic!("no row: {text}"),
    }
}
