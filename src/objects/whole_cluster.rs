//! Clusters of which everything was read, from objects as they are written in JSON: for tests.

use serde_json::Value;

use super::{Folded, Folder, decoding};
use crate::cluster::{Change, Cluster, Dirty, Reach};
use crate::model::{Answer, Kind, OwnerKey, Question, Row, Uid};

/// An owner that is asked for by kind and name, and its uid, if it exists.
pub(crate) type AskedOwner<'a> = (&'a str, &'a str, &'a str, Option<&'a str>);

/// Returns a cluster of these objects, in which every kind was read but these, and with an answer about
/// each of these owners in the namespace `shop`: API version, kind, name and uid.
pub(crate) fn cluster_of<'a>(
    objects: impl IntoIterator<Item = &'a Value>,
    owners: impl IntoIterator<Item = AskedOwner<'a>>,
    unread: &[Kind],
) -> Cluster {
    let (mut cluster, mut dirty) = (Cluster::default(), Dirty::everything());
    for object in objects {
        cluster.apply(Change::Seen(row(object)), &mut dirty);
    }
    for (api_version, kind, name, uid) in owners {
        let namespace = "shop".into();
        let key = OwnerKey {
            api_version: api_version.into(),
            kind: kind.into(),
            namespace,
            name: name.into(),
        };
        let answer = uid.and_then(Uid::parse).map_or(Answer::No, Answer::Is);
        let row = Row::Answer(Question::OwnerExists(key), answer);
        cluster.apply(Change::Seen(row), &mut dirty);
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
    match decoded.row(&mut Folder::default()).expect("a valid object") {
        Folded::Row(row) => row,
        Folded::Counted => panic!("no row: {text}"),
    }
}
