//! Tests of slim types with samples of each kind, in JSON and protobuf.
//!
//! `samples/*.json` are written by hand, with fields that are not read, nulls and managed fields;
//! `samples/*.pb` are the same objects as k8s.io/api 0.36.3 encodes them. To write them anew:
//! decode each with `scheme.Codecs.UniversalDeserializer()`, and encode it with
//! `protobuf.NewRawSerializer(scheme.Scheme, scheme.Scheme)`.

mod broken;
mod controllers;
mod kinds;
mod reading;

use prost::Message;

use super::*;
use crate::model::{FieldOwner, ManagedField, Metadata, Time, Uid, parse_time};

/// A sample, in JSON and, unless it is a custom resource, in protobuf.
macro_rules! sample {
    ($name:literal) => {
        (
            include_str!(concat!("../samples/", $name, ".json")),
            Some(&include_bytes!(concat!("../samples/", $name, ".pb"))[..]),
        )
    };
    (json $name:literal) => {
        (include_str!(concat!("../samples/", $name, ".json")), None)
    };
}
use sample;

fn fold<O: SlimObject>(object: &O) -> Folded {
    object.fold(&mut Folder::default()).expect("the sample is sound")
}

/// Decodes and encodes a sample in every encoding, and returns what it folds to.
fn folded<O: SlimObject + PartialEq + std::fmt::Debug>(
    (json, protobuf): (&str, Option<&[u8]>),
) -> Folded {
    let object: O = serde_json::from_str(json).expect("the sample is JSON");
    let folded = fold(&object);
    if let Some(bytes) = protobuf {
        let upstream = O::decode(bytes).expect("the sample is protobuf");
        assert_eq!(fold(&upstream), folded, "Kubernetes' protobuf says the same");
        let written = serde_json::to_string(&upstream).expect("it can be written");
        let again = serde_json::from_str::<O>(&written).expect("what is written can be read");
        assert_eq!(again, upstream);
    }
    let again = O::decode(&*object.encode_to_vec()).expect("what is written can be read");
    assert_eq!(again, object, "protobuf there and back");
    assert_eq!(object.encode_to_vec().len(), object.encoded_len());

    let written =
        serde_json::to_value(object.document(O::KIND.group().version)).expect("it can be written");
    assert_eq!(written["kind"], O::KIND.name());
    assert_eq!(written["apiVersion"], O::KIND.api_version());
    let again: O = serde_json::from_value(written.clone()).expect("what is written can be read");
    assert_eq!(again, object, "JSON there and back");
    assert_eq!(fold(&again), folded);

    let yaml = serde_yaml::to_string(&written).expect("it can be written");
    let again: O = serde_yaml::from_str(&yaml).expect("what is written can be read");
    assert_eq!(again, object, "YAML there and back");
    folded
}

fn json<O: SlimObject>(value: serde_json::Value) -> O {
    serde_json::from_value(value).expect("it is of the right shape")
}

fn time(text: &str) -> Time {
    parse_time(text).expect("a time").expect("not zero")
}

fn metadata(name: &str, uid: &str) -> Metadata {
    Metadata { name: name.into(), uid: Uid::parse(uid), ..Metadata::default() }
}

fn owner(field: ManagedField, manager: &str, at: &str) -> FieldOwner {
    FieldOwner { field, manager: manager.into(), time: Some(time(at)) }
}

fn row(row: Row) -> Folded {
    Folded::Row(row)
}
