//! Parser of YAML dumps: documents, lists that are cut into their items before they are parsed, and
//! the times that YAML allows without quotes.
//!
//! The parser of YAML keeps all events of a document, a dozen times its text. `kubectl get -o yaml`
//! writes everything into one document, so it is split here by its lines: after `items:` each line
//! that begins with `- ` at the same depth begins an item, and each such piece is valid YAML.
//! A list of another shape (`items: [{…}]`, aliases apart) is parsed as a whole.
//!
//! Objects are handed on as JSON, so that the layer above knows one format. This is also what
//! Kubernetes itself does, and gives the same answers to `yes`, `0x10` and `1e3`.
//!
//! YAML has no end that could be missed: the end of a file is the end of its last document, with or
//! without a line break. What can be noticed is a document that does not parse, or a list that never
//! names its kind. What cannot is a file that is cut between two documents, or within the last value.
//!
//! A tool that reads `2026-01-01T00:00:00Z` as a time may write it as `2026-01-01 00:00:00`: the
//! timestamp of <https://yaml.org/type/timestamp.html>, in which a missing zone is UTC.

use chrono::{DateTime, NaiveDate, NaiveTime, SecondsFormat};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::delivery::Delivery;
use super::flaw::Flaw;
use super::head::{ItemsMember, ObjectHead, called};
use super::window::{Halt, Position, Window};

/// Reads all documents of a file.
pub(super) fn read(window: &mut Window, out: &mut Delivery) -> Result<(), Halt> {
    let mut yaml = YamlReader { window, out, scratch: Vec::new() };
    while yaml.document()? {}
    yaml.window.failure().map_or(Ok(()), Err)
}

struct YamlReader<'w, 'r, 's> {
    window: &'w mut Window<'r>,
    out: &'w mut Delivery<'s>,
    /// The JSON of the object at hand.
    scratch: Vec<u8>,
}

/// Meaning of a line at the left margin between documents.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LineMark {
    /// A divider, `---` or `...`, with its length.
    Divider(usize),
    /// The beginning of logs in a cluster-info dump: `==== START logs`.
    Logs,
    None,
}

impl YamlReader<'_, '_, '_> {
    /// Reads one document and what separates it from the next; returns whether there may be one.
    fn document(&mut self) -> Result<bool, Halt> {
        let mut at = 0;
        loop {
            let Some((end, ended)) = self.window.line(at)? else {
                self.whole(at)?;
                return Ok(false);
            };
            let line = &self.window.bytes()[at..end];
            let mark = mark(line);
            let items = is_bare_items(line);
            if mark != LineMark::None {
                self.whole(at)?;
                self.pass(mark)?;
                return Ok(true);
            }
            if items && ended && self.list(at, end)? {
                return Ok(true);
            }
            at = end;
        }
    }

    /// Passes over what separates documents.
    fn pass(&mut self, mark: LineMark) -> Result<(), Halt> {
        match mark {
            LineMark::Divider(length) => self.window.consume(length),
            LineMark::Logs => {
                if !self.window.skip_logs()? {
                    let end = self.window.line(0)?.map_or(0, |(end, _)| end);
                    self.window.consume(end);
                }
            }
            LineMark::None => {}
        }
        Ok(())
    }

    /// Parses what stands before `end` as one document, and consumes it.
    fn whole(&mut self, end: usize) -> Result<(), Halt> {
        let place = self.window.here();
        if self.window.bytes().len() == end
            && let Some(halt) = self.window.failure()
        {
            return Err(halt);
        }
        let text = &self.window.bytes()[..end];
        if is_blank(text) {
            self.window.consume(end);
            return Ok(());
        }
        let parsed = parse::<Value>(text, place).map(settled);
        self.window.consume(end);
        match parsed {
            Ok(value) => self.value(place, None, value),
            Err((flaw, place)) => self.out.broken(place, None, flaw),
        }
    }

    /// Delivers a document that has been parsed as a whole.
    fn value(&mut self, place: Position, element: Option<u64>, value: Value) -> Result<(), Halt> {
        match value {
            // Nothing but comments.
            Value::Null if element.is_none() => Ok(()),
            Value::Array(elements) if element.is_none() => {
                for (index, value) in (1..).zip(elements) {
                    self.value(place, Some(index), value)?;
                }
                Ok(())
            }
            Value::Object(object) => {
                let head = ObjectHead::of(&object);
                if head.items == ItemsMember::Listed && head.may_be_list() {
                    return self.parsed_list(place, &head, object);
                }
                let body = json(&mut self.scratch, &object);
                self.out.document(place, element, &head, body)
            }
            other => {
                let flaw = Flaw::NotAnObject { found: called(&other) };
                self.out.broken(place, element, flaw)
            }
        }
    }

    fn parsed_list(
        &mut self,
        place: Position,
        list: &ObjectHead,
        mut object: Map<String, Value>,
    ) -> Result<(), Halt> {
        self.out.open_list(place);
        match object.remove("items") {
            Some(Value::Array(items)) => {
                for (index, item) in (1..).zip(items) {
                    self.item(place, index, list, &item)?;
                }
                self.out.close_list(list, list.has_metadata)
            }
            Some(Value::Null) | None => self.out.close_list(list, list.has_metadata),
            Some(other) => {
                self.out.broken(place, None, Flaw::NotAnObject { found: called(&other) })?;
                self.out.close_list(list, false)
            }
        }
    }

    fn item(
        &mut self,
        place: Position,
        index: u64,
        list: &ObjectHead,
        item: &Value,
    ) -> Result<(), Halt> {
        let Value::Object(object) = item else {
            let flaw = Flaw::NotAnObject { found: called(item) };
            return self.out.broken_item(place, index, list, flaw);
        };
        let body = json(&mut self.scratch, object);
        self.out.item(place, index, list, ObjectHead::of(object), body)
    }

    /// Reads a list whose line `items:` stands from `at` to `after`. Returns whether it has the
    /// shape that can be split; if not, nothing has been consumed.
    fn list(&mut self, at: usize, after: usize) -> Result<bool, Halt> {
        let start = self.window.here();
        let Ok(front) = parse::<Option<Map<String, Value>>>(&self.window.bytes()[..at], start)
        else {
            return Ok(false);
        };
        let mut head = ObjectHead::of(&front.unwrap_or_default());
        if head.items != ItemsMember::Absent || !head.may_be_list() {
            return Ok(false);
        }
        let Some((first, depth)) = self.first_item(after)? else { return Ok(false) };
        head.items = ItemsMember::Listed;
        self.out.open_list(start);
        self.window.consume(first);
        match self.items(&mut head, depth) {
            Ok(whole) => self.out.close_list(&head, whole)?,
            Err(Halt::Asked) => return Err(Halt::Asked),
            Err(halt) => {
                self.out.close_list(&head, false)?;
                return Err(halt);
            }
        }
        Ok(true)
    }

    /// Returns where the first item begins, and at which depth; nothing if none does.
    fn first_item(&mut self, mut at: usize) -> Result<Option<(usize, usize)>, Halt> {
        loop {
            let Some((end, _)) = self.window.line(at)? else { return Ok(None) };
            let line = &self.window.bytes()[at..end];
            if begins_item(line) {
                return Ok(Some((at, depth(line))));
            }
            if !is_blank(line) {
                return Ok(None);
            }
            at = end;
        }
    }

    /// Reads the items and what follows them; returns whether the list certainly ends here.
    fn items(&mut self, list: &mut ObjectHead, margin: usize) -> Result<bool, Halt> {
        for index in 1.. {
            let place = self.window.here();
            let mut at = 0;
            let (end, more) = loop {
                match self.window.line(at) {
                    Ok(None) => break (at, false),
                    Ok(Some((end, _))) => {
                        let line = &self.window.bytes()[at..end];
                        if at > 0 && !is_blank(line) && depth(line) <= margin {
                            break (at, depth(line) == margin && begins_item(line));
                        }
                        at = end;
                    }
                    // The item before the line that is too long is whole.
                    Err(Halt::Flaw(Flaw::TooLarge { .. }, _)) if self.ends_item(at, margin) => {
                        break (at, true);
                    }
                    Err(halt) => return Err(halt),
                }
            };
            let over = self.window.bytes().len() == end;
            // The end of the file in the middle of a list that has not named its kind: written by
            // a tool that sorts its members, and cut. The item may be half of one.
            if over && (list.kind.is_empty() || self.window.failure().is_some()) {
                return Err(self.window.cut("a list"));
            }
            match parse::<[Value; 1]>(&self.window.bytes()[..end], place) {
                Ok([item]) => {
                    self.window.consume(end);
                    self.item(place, index, list, &settled(item))?;
                }
                Err((flaw, place)) => {
                    self.window.consume(end);
                    self.out.broken_item(place, index, list, flaw)?;
                }
            }
            if !more {
                break;
            }
        }
        self.rest_of_list(list)
    }

    /// Returns whether the bytes at `at` begin the next item, as far as they are there.
    fn ends_item(&self, at: usize, margin: usize) -> bool {
        let line = self.window.bytes().get(at..).unwrap_or_default();
        at > 0 && line.len() > margin + 1 && depth(line) == margin && begins_item(line)
    }

    fn rest_of_list(&mut self, list: &mut ObjectHead) -> Result<bool, Halt> {
        let place = self.window.here();
        let mut at = 0;
        let mark = loop {
            let Some((end, _)) = self.window.line(at)? else { break LineMark::None };
            let mark = mark(&self.window.bytes()[at..end]);
            if mark != LineMark::None {
                break mark;
            }
            at = end;
        };
        if mark == LineMark::None
            && let Some(halt) = self.window.failure()
        {
            return Err(halt);
        }
        let rest = parse::<Option<Map<String, Value>>>(&self.window.bytes()[..at], place);
        self.window.consume(at);
        let rest = match rest {
            Ok(rest) => rest.unwrap_or_default(),
            Err((flaw, place)) => {
                self.out.broken(place, None, flaw)?;
                return Ok(false);
            }
        };
        if rest.contains_key("items") {
            self.out.broken(place, None, Flaw::TwoItems)?;
        }
        list.merge(&rest);
        // Every tool writes metadata, and those that sort write it last: without it, or with
        // nothing at all behind the items, this may be a part of the list.
        Ok(!rest.is_empty() && list.has_metadata)
    }
}

/// Parses a piece of YAML that begins at `place`.
fn parse<'de, T: Deserialize<'de>>(
    text: &'de [u8],
    place: Position,
) -> Result<T, (Flaw, Position)> {
    T::deserialize(serde_yaml::Deserializer::from_slice(text)).map_err(|error| {
        let mut place = place;
        if let Some(location) = error.location() {
            place.line += (location.line() as u64).saturating_sub(1);
            place.offset += location.index() as u64;
        }
        let reason = without_places(&error.to_string());
        (Flaw::Syntax { format: "YAML", offset: place.offset, reason }, place)
    })
}

fn settled(mut value: Value) -> Value {
    settle_timestamps(&mut value);
    value
}

/// Returns the message of the parser without `at line 4 column 3`, which is relative to the piece.
fn without_places(reason: &str) -> String {
    let mut parts = reason.split(" at line ");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        let rest = rest.strip_prefix(" column ").unwrap_or(rest);
        plain.push_str(rest.trim_start_matches(|c: char| c.is_ascii_digit()));
    }
    plain
}

/// Writes an object as JSON.
fn json<'s>(scratch: &'s mut Vec<u8>, object: &Map<String, Value>) -> &'s [u8] {
    scratch.clear();
    serde_json::to_writer(&mut *scratch, object)
        .expect("because a map of text to JSON values has a JSON form, and memory takes all bytes");
    scratch
}

fn mark(line: &[u8]) -> LineMark {
    let divides = |dots: &[u8]| {
        line.strip_prefix(dots).is_some_and(|rest| rest.first().is_none_or(u8::is_ascii_whitespace))
    };
    if divides(b"---") {
        // What follows on the same line belongs to the document.
        LineMark::Divider(if is_blank(&line[3..]) { line.len() } else { 3 })
    } else if divides(b"...") {
        LineMark::Divider(line.len())
    } else if line.starts_with(b"==== START logs for container ") {
        LineMark::Logs
    } else {
        LineMark::None
    }
}

/// Returns whether the line is `items:`, and nothing else.
fn is_bare_items(line: &[u8]) -> bool {
    line.strip_prefix(b"items:").is_some_and(|rest| {
        let rest = rest.trim_ascii_start();
        rest.is_empty() || rest.starts_with(b"#")
    })
}

fn begins_item(line: &[u8]) -> bool {
    let line = &line[depth(line)..];
    line.first() == Some(&b'-') && line.get(1).is_none_or(u8::is_ascii_whitespace)
}

fn depth(line: &[u8]) -> usize {
    line.iter().take_while(|byte| **byte == b' ').count()
}

/// Returns whether there is nothing but white space, comments and directives.
fn is_blank(text: &[u8]) -> bool {
    text.split(|byte| *byte == b'\n').all(|line| {
        let inner = line.trim_ascii_start();
        inner.is_empty() || inner[0] == b'#' || line[0] == b'%'
    })
}

/// Members whose values people may write as they like.
const FREE: [&str; 4] = ["labels", "annotations", "matchLabels", "parameters"];

/// Converts the times of an object into the form that Kubernetes knows.
pub(super) fn settle_timestamps(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (key, value) in members.iter_mut().filter(|(key, _)| !FREE.contains(&key.as_str()))
            {
                let is_time = key == "time" || key.ends_with("Time") || key.ends_with("Timestamp");
                match value {
                    Value::String(text) if is_time => {
                        if let Some(time) = rfc_3339(text) {
                            *text = time;
                        }
                    }
                    other => settle_timestamps(other),
                }
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(settle_timestamps),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Returns a YAML timestamp as RFC 3339 has it; nothing if it is none, or is so already.
fn rfc_3339(text: &str) -> Option<String> {
    if DateTime::parse_from_rfc3339(text).is_ok() {
        return None;
    }
    let end = text.find(['T', 't', ' ', '\t']).unwrap_or(text.len());
    let date = NaiveDate::parse_from_str(&text[..end], "%Y-%m-%d").ok()?;
    let rest = text[end..].trim_start_matches(['T', 't', ' ', '\t']);
    let (time, zone) = rest.split_at(rest.find(['Z', 'z', '+', '-']).unwrap_or(rest.len()));
    let time = match time.trim_ascii_end() {
        "" if zone.is_empty() => NaiveTime::MIN,
        time => NaiveTime::parse_from_str(time, "%H:%M:%S%.f").ok()?,
    };
    let east = match zone {
        "" | "Z" | "z" => 0,
        zone => {
            let (hours, minutes) = zone[1..].split_once(':').unwrap_or((&zone[1..], "0"));
            let [hours, minutes] = [hours, minutes].map(|it| it.parse::<u16>().map(i64::from).ok());
            let minutes = hours? * 60 + minutes?;
            if zone.starts_with('-') { -minutes } else { minutes }
        }
    };
    let utc = date.and_time(time).checked_sub_signed(chrono::TimeDelta::minutes(east))?;
    Some(utc.and_utc().to_rfc3339_opts(SecondsFormat::AutoSi, true))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn timestamps_of_yaml_are_read_as_it_defines_them() {
        for (text, expected) in [
            ("2026-01-01", Some("2026-01-01T00:00:00Z")),
            ("2026-01-01 12:30:00", Some("2026-01-01T12:30:00Z")),
            ("2026-01-01T12:30:00", Some("2026-01-01T12:30:00Z")),
            ("2026-01-01 12:30:00.25 +1", Some("2026-01-01T11:30:00.250Z")),
            ("2026-1-1  2:30:00 Z", Some("2026-01-01T02:30:00Z")),
            ("2026-01-01 12:30:00 -5:30", Some("2026-01-01T18:00:00Z")),
            ("2026-01-01T12:30:00Z", None),
            ("2026-01-01 12:30:00+00:00", None),
            ("2026-01-01T12:30:00.000001Z", None),
            ("2026-01-01 Z", None),
            ("2026-13-01", None),
            ("20260101", None),
            ("2026-01-01 noon", None),
            ("2026-01-01 12:30:00 +x", None),
            ("2026-01-01 12:30:00 +99999999999", None),
            ("2026-01-01 12:30:00 +99999999", None),
            ("yesterday", None),
            ("", None),
        ] {
            assert_eq!(rfc_3339(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn only_times_are_settled() {
        let free = json!({"buildTime": "2026-01-01"});
        let mut object = json!({
            "metadata": {"creationTimestamp": "2026-01-01", "labels": free, "annotations": free,
                "name": "2026-01-01", "managedFields": [{"time": "2026-01-01 00:00:00"}]},
            "parameters": free,
        });
        settle_timestamps(&mut object);
        let time = json!("2026-01-01T00:00:00Z");
        let metadata = json!({"creationTimestamp": time, "labels": free, "annotations": free,
            "name": "2026-01-01", "managedFields": [{"time": time}]});
        assert_eq!(object, json!({"metadata": metadata, "parameters": free}));
    }
}
