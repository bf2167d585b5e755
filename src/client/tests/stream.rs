//! Tests of the decoders of lists, with chunks split at every position, in both encodings.

use prost::Message;
use serde::Deserialize;

use crate::client::Decoding;
use crate::client::stream::{
    Encoding, ExpectedList, ItemError, JsonList, ListDecodeError, ListDecoder, ListEnd,
};
use crate::damage::hold;

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
pub(super) struct Object {
    #[prost(message, optional, tag = "1")]
    pub(super) metadata: Option<Meta>,
    #[prost(string, tag = "2")]
    pub(super) spec: String,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
pub(super) struct Meta {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(string, tag = "3")]
    pub(super) namespace: String,
}

#[derive(Clone, PartialEq, Message)]
struct TypeMeta {
    #[prost(string, tag = "1")]
    api_version: String,
    #[prost(string, tag = "2")]
    kind: String,
}

#[derive(Clone, PartialEq, Message)]
struct Envelope {
    #[prost(message, optional, tag = "1")]
    type_meta: Option<TypeMeta>,
    #[prost(bytes = "vec", tag = "2")]
    raw: Vec<u8>,
    #[prost(int32, tag = "9")]
    unknown: i32,
}

#[derive(Clone, PartialEq, Message)]
struct ListMeta {
    #[prost(string, tag = "2")]
    resource_version: String,
    #[prost(string, tag = "3")]
    token: String,
    #[prost(int64, optional, tag = "4")]
    remaining: Option<i64>,
}

#[derive(Clone, PartialEq, Message)]
struct List {
    #[prost(message, optional, tag = "1")]
    metadata: Option<ListMeta>,
    #[prost(bytes = "vec", repeated, tag = "2")]
    items: Vec<Vec<u8>>,
    #[prost(string, tag = "7")]
    unknown: String,
}

/// What a list of these objects must be.
pub(super) fn expected() -> ExpectedList {
    ExpectedList {
        api_version: "v1".to_owned(),
        item: "Pod".to_owned(),
        kind: Some("PodList".to_owned()),
    }
}

/// How these objects are decoded.
pub(super) fn decoding() -> Decoding<Object> {
    Decoding { protobuf: |bytes| Object::decode(bytes), json: |text| serde_json::from_str(text) }
}

pub(super) fn object(name: &str) -> Object {
    Object {
        metadata: Some(Meta { name: name.to_owned(), namespace: "shop".to_owned() }),
        spec: "x".repeat(3),
    }
}

/// Wraps a message as the API server does.
pub(super) fn envelope(api_version: &str, kind: &str, raw: Vec<u8>) -> Vec<u8> {
    let type_meta = Some(TypeMeta { api_version: api_version.to_owned(), kind: kind.to_owned() });
    let mut bytes = b"k8s\0".to_vec();
    Envelope { type_meta, raw, unknown: 0 }.encode(&mut bytes).expect("because a Vec grows");
    bytes
}

pub(super) fn protobuf_list(token: &str, items: Vec<Vec<u8>>) -> Vec<u8> {
    list_with(token, (!token.is_empty()).then_some(7), items)
}

/// A list that says that there are more pods, and not how to get them.
pub(super) fn left_out(names: &[&str]) -> Vec<u8> {
    list_with("", Some(7), names.iter().map(|name| object(name).encode_to_vec()).collect())
}

fn list_with(token: &str, remaining: Option<i64>, items: Vec<Vec<u8>>) -> Vec<u8> {
    let metadata =
        Some(ListMeta { resource_version: "42".to_owned(), token: token.to_owned(), remaining });
    envelope("v1", "PodList", List { metadata, items, unknown: "later".to_owned() }.encode_to_vec())
}

pub(super) fn json_object(name: &str) -> String {
    format!(r#"{{"metadata":{{"name":"{name}","namespace":"shop"}},"spec":"xxx"}}"#)
}

/// Builds a list with its keys in an unusual order, with white space, escapes and an unknown field.
pub(super) fn json_list(token: &str, items: &[String]) -> Vec<u8> {
    let remaining = if token.is_empty() { 0 } else { 7 };
    format!(
        " {{\n \"unknown\": [{{\"]\": \"}}\\\"\"}}, 1],\"items\" : [ {} ]\n, \"kind\":\"PodList\" ,\"metadata\": \
         {{\"resourceVersion\":\"42\", \"continue\":\"{token}\",\"remainingItemCount\":{remaining}}}, \"n\":-1.5e3, \
         \"apiVersion\":\"v1\"}}",
        items.join(" ,\n")
    )
    .into_bytes()
}

type Outcome = (Vec<Result<Object, ItemError>>, Result<ListEnd, ListDecodeError>);

fn decode(encoding: Encoding, chunks: &[&[u8]]) -> Outcome {
    let mut decoder = ListDecoder::<Object>::new(encoding, decoding(), expected());
    let mut seen = Vec::new();
    for chunk in chunks {
        if let Err(error) = decoder.push(chunk, &mut |item| seen.push(item)) {
            return (seen, Err(error));
        }
    }
    (seen, decoder.finish())
}

fn both() -> [(Encoding, Vec<u8>); 2] {
    let names = ["a", "b\u{e9}", "c"];
    [
        (
            Encoding::Protobuf,
            protobuf_list("next", names.map(|name| object(name).encode_to_vec()).to_vec()),
        ),
        (Encoding::Json, json_list("next", &names.map(json_object))),
    ]
}

#[test]
fn every_split_position_gives_the_same_list() {
    for (encoding, bytes) in both() {
        let (whole, end) = decode(encoding, &[&bytes]);
        assert_eq!(whole, ["a", "b\u{e9}", "c"].map(|name| Ok(object(name))), "{encoding:?}");
        let end = end.unwrap_or_else(|error| panic!("{encoding:?}: {error}"));
        assert_eq!(
            (end.kind.as_str(), end.api_version.as_str(), end.items),
            ("PodList", "v1", 3),
            "{encoding:?}"
        );
        assert_eq!(
            (end.meta.resource_version.as_str(), end.meta.continue_token.as_str()),
            ("42", "next")
        );
        let expected = (whole, Ok(end));
        for split in 0..=bytes.len() {
            let (left, right) = bytes.split_at(split);
            assert_eq!(
                decode(encoding, &[left, right]),
                expected,
                "{encoding:?}, split at {split}"
            );
        }
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(decode(encoding, &single), expected, "{encoding:?}, byte by byte");
    }
}

#[test]
fn every_truncation_is_an_error() {
    for (encoding, bytes) in both() {
        for length in 0..bytes.len() {
            let (seen, end) = decode(encoding, &[&bytes[..length]]);
            let Err(ListDecodeError::Truncated { items, offset }) = end else {
                panic!("{encoding:?} cut at {length} of {}: {end:?}", bytes.len());
            };
            assert_eq!((items, offset), (seen.len() as u64, length as u64), "{encoding:?}");
        }
    }
}

#[test]
fn a_broken_item_is_named_and_stepped_over() {
    let mut broken = object("bad").encode_to_vec();
    // The spec is a string; these bytes are not UTF-8.
    broken.extend_from_slice(&[0x12, 2, 0xff, 0xfe]);
    let protobuf =
        protobuf_list("", vec![object("a").encode_to_vec(), broken, object("c").encode_to_vec()]);
    let json = json_list(
        "",
        &[
            json_object("a"),
            json_object("bad").replace("\"xxx\"", "{\"deep\":[\"]\"]}"),
            json_object("c"),
        ],
    );
    for (encoding, bytes) in [(Encoding::Protobuf, protobuf), (Encoding::Json, json)] {
        let expected = decode(encoding, &[&bytes]);
        let [Ok(first), Err(error), Ok(last)] = expected.0.as_slice() else {
            panic!("{expected:?}")
        };
        assert_eq!((first, last), (&object("a"), &object("c")));
        assert_eq!((error.index, error.name.as_deref()), (1, Some("shop/bad")));
        assert!(error.offset > 20 && error.offset < bytes.len() as u64);
        assert_eq!(expected.1.as_ref().map(|end| end.items), Ok(3));
        for split in 0..=bytes.len() {
            let (left, right) = bytes.split_at(split);
            assert_eq!(
                decode(encoding, &[left, right]),
                expected,
                "{encoding:?}, split at {split}"
            );
        }
    }
}

#[test]
fn items_that_are_no_objects_are_broken_items() {
    let items = ["12", "null", "\"]\"", "[1,[]]", "true"].map(str::to_owned);
    let bytes = json_list("", &items);
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    for chunks in [vec![bytes.as_slice()], single] {
        let (seen, end) = decode(Encoding::Json, &chunks);
        assert_eq!(end.map(|end| end.items), Ok(5));
        assert!(
            seen.iter().all(|item| item.as_ref().is_err_and(|error| error.name.is_none())),
            "{seen:?}"
        );
    }
}

#[test]
fn an_empty_list_is_a_list() {
    for text in [
        r#"{"kind":"PodList","apiVersion":"v1","items":[]}"#,
        r#"{"items":null,"kind":"PodList","apiVersion":"v1"}"#,
        r#"{"kind":"PodList","apiVersion":"v1"}"#,
    ] {
        assert_eq!(
            decode(Encoding::Json, &[text.as_bytes()]).1.map(|end| end.items),
            Ok(0),
            "{text}"
        );
    }
    assert_eq!(
        decode(Encoding::Protobuf, &[&protobuf_list("", Vec::new())]).1.map(|end| end.items),
        Ok(0)
    );
    assert_eq!(
        decode(Encoding::Protobuf, &[&envelope("v1", "PodList", Vec::new())])
            .1
            .map(|end| end.items),
        Err(
            // prost leaves an empty field out; the API server never does.
            ListDecodeError::Truncated { items: 0, offset: 19 }
        )
    );
    let bare = b"k8s\0\x0a\x0d\x0a\x02v1\x12\x07PodList\x12\x00\x1a\x00\x22\x00";
    assert_eq!(decode(Encoding::Protobuf, &[bare]).1.map(|end| end.items), Ok(0));
}

#[test]
fn what_is_no_list_is_refused() {
    let pod = decode(Encoding::Json, &[br#"{"kind":"Pod","metadata":{"name":"a"}}"#]).1;
    let other = |found: &str| {
        let (expected, found) = ("PodList of v1".to_owned(), found.to_owned());
        Err(ListDecodeError::OtherList { expected, found })
    };
    assert_eq!(pod, other("Pod of nothing"));
    let status = decode(Encoding::Protobuf, &[&envelope("v1", "Status", vec![10, 0])]).1;
    assert_eq!(status, other("Status of v1"));
    for (encoding, bytes) in [
        (Encoding::Json, &b"[]"[..]),
        (Encoding::Json, b"k8s\0"),
        (Encoding::Json, br#"{"items":[{"a":1},]}"#),
        (Encoding::Json, br#"{"kind":"PodList",}"#),
        (Encoding::Json, br#"{"items":[{"metadata" {}}]}"#),
        (Encoding::Json, br#"{"items":[]} {}"#),
        (Encoding::Protobuf, b"{\"kind\""),
        (Encoding::Protobuf, b"k8s\0\x0b"),
    ] {
        let end = decode(encoding, &[bytes]).1;
        assert!(
            matches!(end, Err(ListDecodeError::Malformed { .. })),
            "{:?}: {end:?}",
            String::from_utf8_lossy(bytes)
        );
    }
}

#[test]
fn what_follows_a_json_list_is_left_to_the_caller() {
    let mut list = JsonList::<Object>::new(decoding(), expected());
    let bytes = br#"{"kind":"PodList","apiVersion":"v1"}{"items":[]}"#;
    assert_eq!(list.push(bytes, &mut |_| {}), Ok(36));
    assert!(list.finish().is_ok());
}

/// However they come, what is read of damaged lists is the same.
#[test]
fn damaged_lists_are_read_or_refused() {
    for (encoding, bytes) in both() {
        hold(&format!("lists in {encoding:?}"), &[bytes], |bytes| {
            let (whole, end) = decode(encoding, &[bytes]);
            let (left, right) = bytes.split_at(bytes.len() / 2);
            let (parts, end_of_parts) = decode(encoding, &[left, right]);
            // Where exactly it is malformed depends on what had come.
            assert_eq!((parts, end_of_parts.ok()), (whole, end.ok()));
        });
    }
}
