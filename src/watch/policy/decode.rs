//! Decoder of a policy file into typed values, in which each value knows its line and column, and which reports all
//! errors at once.

use std::fmt;
use std::fmt::Display;

use granit_parser::{Event, Marker, Parser, ScalarStyle};
use serde::de::{
    DeserializeSeed, Expected, IntoDeserializer, MapAccess, SeqAccess, Unexpected, Visitor,
};
use serde::{Deserialize, Deserializer, de, forward_to_deserialize_any};

use crate::model::nearest;

/// Decodes a tree into a value. What is wrong is taken out of the tree and the rest is looked at again, so that
/// everything is told at once: `None` if anything is.
pub(super) fn decode<T: for<'de> Deserialize<'de>>(
    mut root: Node,
    faults: &mut Vec<Fault>,
) -> Option<T> {
    loop {
        let error = match T::deserialize(&root) {
            Ok(value) => return faults.is_empty().then_some(value),
            Err(error) => error,
        };
        let (id, at) = error.place.unwrap_or((root.id, root.at));
        // What is missing because it was wrong was told already.
        if !(error.is_missing && root.lacks_something(id)) {
            faults.push(Fault { at, message: error.message });
        }
        if id == root.id || !root.take_out(id) {
            return None;
        }
    }
}

/// Returns the error for an unknown name, with the name that may have been meant.
pub(super) fn unknown<'a>(
    what: &str,
    typed: &str,
    names: impl IntoIterator<Item = &'a str>,
) -> String {
    let names: Vec<_> = names.into_iter().map(str::to_owned).collect();
    let quoted = |names: &[String], between: &str| {
        names.iter().map(|it| format!("{it:?}")).collect::<Vec<_>>().join(between)
    };
    match (&nearest(typed, names.iter().cloned())[..], &names[..]) {
        ([], [one]) => format!("unknown {what} {typed:?}; expected {one:?}"),
        ([], some) if some.len() <= FEW => {
            format!("unknown {what} {typed:?}; known are {}", some.join(", "))
        }
        ([], _) => format!("unknown {what} {typed:?}"),
        (near, _) => format!("unknown {what} {typed:?}; did you mean {}?", quoted(near, " or ")),
    }
}

/// Number of names that are listed if none is near.
const FEW: usize = 16;

/// Reason for which a value cannot be decoded.
#[derive(Debug)]
pub(super) struct DecodeError {
    message: String,
    is_missing: bool,
    place: Option<(usize, Position)>,
}

impl DecodeError {
    fn at(mut self, node: &Node) -> Self {
        self.place.get_or_insert((node.id, node.at));
        self
    }
}

impl Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for DecodeError {}

impl de::Error for DecodeError {
    fn custom<T: Display>(message: T) -> Self {
        Self { message: message.to_string(), is_missing: false, place: None }
    }

    fn invalid_type(found: Unexpected, expected: &dyn Expected) -> Self {
        let found = match found {
            Unexpected::Unit => "nothing".to_owned(),
            Unexpected::Seq => "a list".to_owned(),
            Unexpected::Map => "keys and values".to_owned(),
            Unexpected::Str(text) => format!("{text:?}"),
            other => other.to_string(),
        };
        // serde's own word for a list.
        let expected = expected.to_string().replace("a sequence", "a list");
        Self::custom(format!("expected {expected}, found {found}"))
    }

    fn invalid_value(found: Unexpected, expected: &dyn Expected) -> Self {
        Self::custom(format!("expected {expected}, found {found}"))
    }

    fn unknown_variant(typed: &str, known: &'static [&'static str]) -> Self {
        Self::custom(unknown("value", typed, known.iter().copied()))
    }

    fn unknown_field(typed: &str, known: &'static [&'static str]) -> Self {
        Self::custom(unknown("key", typed, known.iter().copied()))
    }

    fn missing_field(field: &'static str) -> Self {
        Self { is_missing: true, ..Self::custom(format!("the key {field:?} is missing")) }
    }
}

/// A scalar in the words of YAML 1.2 (10.3.2, "Core Schema").
enum Scalar<'a> {
    Null,
    Bool(bool),
    Whole(i64),
    Fraction(f64),
    Text(&'a str),
}

fn scalar(text: &str, plain: bool) -> Scalar<'_> {
    if !plain {
        return Scalar::Text(text);
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Scalar::Null,
        "true" | "True" | "TRUE" => return Scalar::Bool(true),
        "false" | "False" | "FALSE" => return Scalar::Bool(false),
        _ => {}
    }
    let numeric = text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c));
    match (text.parse(), text.parse()) {
        (Ok(whole), _) => Scalar::Whole(whole),
        (_, Ok(fraction)) if numeric => Scalar::Fraction(fraction),
        _ => Scalar::Text(text),
    }
}

impl<'de> Deserializer<'de> for &'de Node {
    type Error = DecodeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match &self.content {
            Content::Scalar { text, plain } => match scalar(text, *plain) {
                Scalar::Null => visitor.visit_unit(),
                Scalar::Bool(value) => visitor.visit_bool(value),
                Scalar::Whole(value) => visitor.visit_i64(value),
                Scalar::Fraction(value) => visitor.visit_f64(value),
                Scalar::Text(text) => visitor.visit_borrowed_str(text),
            },
            Content::Sequence(items) => visitor.visit_seq(Items(items.iter())),
            Content::Mapping(entries) => {
                visitor.visit_map(Entries { left: entries.iter(), value: None })
            }
        }
    }

    /// Decodes a struct by its keys only: what serde derives also takes a list of the values.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _keys: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        match &self.content {
            Content::Sequence(_) => Err(de::Error::invalid_type(Unexpected::Seq, &visitor)),
            Content::Scalar { .. } | Content::Mapping(_) => self.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        // A key without a value is a mistake, and does not turn off what it names.
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        match self.text() {
            Some(text) => {
                visitor.visit_enum(IntoDeserializer::<DecodeError>::into_deserializer(text))
            }
            None => Err(de::Error::custom("expected one word")),
        }
    }

    /// Decodes a key as a text, whatever it looks like.
    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.text() {
            Some(text) => visitor.visit_str(text),
            None => self.deserialize_any(visitor),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map ignored_any
    }
}

/// The remaining items of a list. Whatever is wrong with one is wrong there, unless it stands deeper.
struct Items<'de>(std::slice::Iter<'de, Node>);

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = DecodeError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, DecodeError> {
        self.0.next().map(|it| seed.deserialize(it).map_err(|error| error.at(it))).transpose()
    }
}

/// The remaining entries of a mapping.
struct Entries<'de> {
    left: std::slice::Iter<'de, (Node, Node)>,
    value: Option<&'de Node>,
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = DecodeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, DecodeError> {
        let Some((key, value)) = self.left.next() else { return Ok(None) };
        self.value = Some(value);
        seed.deserialize(key).map_err(|error| error.at(key)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, DecodeError> {
        let Some(value) = self.value.take() else {
            return Err(de::Error::custom("a value without a key"));
        };
        seed.deserialize(value).map_err(|error| error.at(value))
    }
}

/// Position at which a value begins, both numbers counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position {
    pub(super) line: usize,
    pub(super) column: usize,
}

impl Position {
    pub(super) const START: Self = Self { line: 1, column: 1 };

    fn of(marker: &Marker) -> Self {
        Self { line: marker.line(), column: marker.col() + 1 }
    }
}

/// Node of a document: a value, and its position.
#[derive(Debug, Clone)]
pub(super) struct Node {
    /// Number of the node in its document: two values may begin at one position.
    pub(super) id: usize,
    pub(super) at: Position,
    pub(super) content: Content,
    /// Whether something in the node was taken out, because it was found to be wrong.
    pub(super) is_incomplete: bool,
}

/// Content of a node.
#[derive(Debug, Clone)]
pub(super) enum Content {
    /// A scalar; plain ones may be numbers and other words of YAML 1.2.
    Scalar { text: String, plain: bool },
    /// A list.
    Sequence(Vec<Node>),
    /// A mapping, whose keys are all texts and all different.
    Mapping(Vec<(Node, Node)>),
}

/// Fault in a policy, with its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) at: Position,
    pub(super) message: String,
}

impl Fault {
    fn new(at: Position, message: impl Into<String>) -> Self {
        Self { at, message: message.into() }
    }
}

/// Greatest depth of collections in collections in a policy; it needs four.
const DEEPEST: usize = 16;

impl Node {
    /// Parses one document. Keys that occur twice are told in `faults`, and the first counts.
    pub(super) fn parse(text: &str, faults: &mut Vec<Fault>) -> Result<Self, Fault> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut reading = Reading { parser: Parser::new_from_str(text), count: 0, faults };
        let mut root = None;
        loop {
            let (event, at) = reading.next()?;
            match event {
                Event::StreamEnd => break,
                Event::DocumentStart(..) if root.is_some() => {
                    return Err(Fault::new(at, "a second document; a policy is one"));
                }
                Event::StreamStart | Event::DocumentStart(..) | Event::DocumentEnd => {}
                event => root = Some(reading.node(event, at, 0)?),
            }
        }
        root.ok_or_else(|| Fault::new(Position::START, "the policy is empty"))
    }

    /// Returns the value of a key.
    pub(super) fn get(&self, key: &str) -> Option<&Node> {
        let Content::Mapping(entries) = &self.content else { return None };
        entries.iter().find(|(name, _)| name.text() == Some(key)).map(|(_, value)| value)
    }

    /// Returns the text of a scalar.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.content {
            Content::Scalar { text, .. } => Some(text),
            Content::Sequence(_) | Content::Mapping(_) => None,
        }
    }

    /// Adds an entry that the document lacks, so that the rest of it can be decoded.
    pub(super) fn add(&mut self, key: &str, value: &str) {
        let scalar = |text: &str| Self {
            id: usize::MAX,
            at: Position::START,
            content: Content::Scalar { text: text.to_owned(), plain: false },
            is_incomplete: false,
        };
        if let Content::Mapping(entries) = &mut self.content {
            entries.push((scalar(key), scalar(value)));
        }
    }

    /// Removes the value with this id, or the entry with such a key; `false` if there is none.
    pub(super) fn take_out(&mut self, id: usize) -> bool {
        let before = self.len();
        let inner: Vec<&mut Node> = match &mut self.content {
            Content::Scalar { .. } => Vec::new(),
            Content::Sequence(items) => {
                items.retain(|it| it.id != id);
                items.iter_mut().collect()
            }
            Content::Mapping(entries) => {
                entries.retain(|(key, value)| key.id != id && value.id != id);
                entries.iter_mut().map(|(_, value)| value).collect()
            }
        };
        let is_out = inner.into_iter().any(|it| it.take_out(id));
        let was_mine = self.len() < before;
        self.is_incomplete |= was_mine;
        was_mine || is_out
    }

    /// Whether the value with this id lacks something that was taken out.
    pub(super) fn lacks_something(&self, id: usize) -> bool {
        if self.id == id {
            return self.is_incomplete;
        }
        match &self.content {
            Content::Scalar { .. } => false,
            Content::Sequence(items) => items.iter().any(|it| it.lacks_something(id)),
            Content::Mapping(entries) => entries.iter().any(|(_, it)| it.lacks_something(id)),
        }
    }

    fn len(&self) -> usize {
        match &self.content {
            Content::Scalar { .. } => 0,
            Content::Sequence(items) => items.len(),
            Content::Mapping(entries) => entries.len(),
        }
    }
}

struct Reading<'a> {
    parser: Parser<'a, granit_parser::StrInput<'a>>,
    count: usize,
    faults: &'a mut Vec<Fault>,
}

impl<'a> Reading<'a> {
    /// Returns the next event, and where it begins. Comments are none.
    fn next(&mut self) -> Result<(Event<'a>, Position), Fault> {
        loop {
            let Some(next) = self.parser.next() else {
                return Ok((Event::StreamEnd, Position::START));
            };
            let (event, span) =
                next.map_err(|error| Fault::new(Position::of(error.marker()), syntax(&error)))?;
            if !matches!(event, Event::Comment(..)) {
                return Ok((event, Position::of(&span.start)));
            }
        }
    }

    fn node(&mut self, event: Event<'a>, at: Position, depth: usize) -> Result<Node, Fault> {
        if depth > DEEPEST {
            return Err(Fault::new(at, "too many levels"));
        }
        self.count += 1;
        let id = self.count;
        if event.tag().is_some() {
            return Err(Fault::new(at, "tags are not supported in a policy"));
        }
        let content = match event {
            Event::Scalar(text, style, ..) => {
                Content::Scalar { text: text.into_owned(), plain: style == ScalarStyle::Plain }
            }
            Event::SequenceStart(..) => {
                let mut items = Vec::new();
                loop {
                    match self.next()? {
                        (Event::SequenceEnd, _) => break Content::Sequence(items),
                        (event, at) => items.push(self.node(event, at, depth + 1)?),
                    }
                }
            }
            Event::MappingStart(..) => self.mapping(depth)?,
            Event::Alias(_) => {
                return Err(Fault::new(at, "aliases are not supported in a policy"));
            }
            _ => return Err(Fault::new(at, "expected a value")),
        };
        Ok(Node { id, at, content, is_incomplete: false })
    }

    fn mapping(&mut self, depth: usize) -> Result<Content, Fault> {
        let mut entries: Vec<(Node, Node)> = Vec::new();
        loop {
            let (event, at) = self.next()?;
            if matches!(event, Event::MappingEnd) {
                return Ok(Content::Mapping(entries));
            }
            let key = self.node(event, at, depth + 1)?;
            let (event, at) = self.next()?;
            let value = self.node(event, at, depth + 1)?;
            let Some(name) = key.text() else {
                return Err(Fault::new(key.at, "a key must be a text"));
            };
            match entries.iter().find(|(known, _)| known.text() == Some(name)) {
                Some((known, _)) => self.faults.push(Fault::new(
                    key.at,
                    format!("the key {name:?} is given twice, first on line {}", known.at.line),
                )),
                None => entries.push((key, value)),
            }
        }
    }
}

/// Describes an error of the syntax, in one line.
fn syntax(error: &granit_parser::ScanError) -> String {
    let info = error.info();
    format!("not valid YAML: {}", info.lines().next().unwrap_or_default())
}
