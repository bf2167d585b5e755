//! Writers of documents as JSON and YAML. Reports are written while their findings are made: a hundred thousand
//! findings are never in memory at once.
//!
//! YAML quotes what readers of YAML 1.1 take for booleans: kubectl reads `off` as `false`.

use std::{
    cell::RefCell,
    error::Error,
    io::{self, Write},
};

use serde::{
    Serialize, Serializer,
    ser::{Error as _, SerializeMap, SerializeSeq},
};
use serde_json::ser::PrettyFormatter;

/// Writes an object as JSON with kubectl's indent: the fields of `head`, then `field` with what the iterator yields, then the fields of `tail`.
/// `head` and `tail` are structs or maps.
pub fn report_json<T: Serialize>(
    out: &mut dyn Write,
    head: &impl Serialize,
    field: &str,
    items: &mut dyn Iterator<Item = T>,
    tail: &impl Serialize,
) -> io::Result<()> {
    let report =
        Report { head, list: NamedField { field, items: Streamed(RefCell::new(items)) }, tail };
    json(out, &report)
}

/// Writes an object like [`report_json`], as YAML.
pub fn report_yaml<T: Serialize>(
    out: &mut dyn Write,
    head: &impl Serialize,
    field: &str,
    items: &mut dyn Iterator<Item = T>,
    tail: &impl Serialize,
) -> io::Result<()> {
    let report =
        Report { head, list: NamedField { field, items: Streamed(RefCell::new(items)) }, tail };
    yaml(out, &report)
}

/// Returns a list that is written while its items are made; it can be written once.
pub fn streamed<T: Serialize>(items: &mut dyn Iterator<Item = T>) -> impl Serialize + '_ {
    Streamed(RefCell::new(items))
}

/// Writes a value as JSON with kubectl's indent, and a line break after it.
pub fn json(out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    let mut serializer =
        serde_json::Serializer::with_formatter(&mut *out, PrettyFormatter::with_indent(b"    "));
    value.serialize(&mut serializer)?;
    writeln!(out)
}

/// Writes a value as JSON in one line.
pub fn json_line(out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    writeln!(out)
}

/// Writes a value as YAML, which readers of YAML 1.1 read as it is meant.
pub fn yaml(out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    let mut quoted = QuotedBooleans::new(out);
    serde_yaml::to_writer(&mut quoted, value).map_err(|error| {
        // The kind must survive: a closed pipe is no failure.
        let kind = error
            .source()
            .and_then(|source| source.downcast_ref::<io::Error>())
            .map(io::Error::kind);
        io::Error::new(kind.unwrap_or(io::ErrorKind::InvalidData), error)
    })?;
    quoted.finish()
}

#[derive(Serialize)]
struct Report<'a, H, T, I> {
    #[serde(flatten)]
    head: &'a H,
    #[serde(flatten)]
    list: NamedField<'a, I>,
    #[serde(flatten)]
    tail: &'a T,
}

/// A field whose name is known only when it is written.
struct NamedField<'a, I> {
    field: &'a str,
    items: I,
}

impl<I: Serialize> Serialize for NamedField<'_, I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(self.field, &self.items)?;
        map.end()
    }
}

/// A sequence whose items are made once, while it is written.
struct Streamed<'a, T>(RefCell<&'a mut dyn Iterator<Item = T>>);

impl<T: Serialize> Serialize for Streamed<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut items = self.0.try_borrow_mut().map_err(S::Error::custom)?;
        let mut list = serializer.serialize_seq(None)?;
        for item in &mut **items {
            list.serialize_element(&item)?;
        }
        list.end()
    }
}

/// Words that are booleans in YAML 1.1 and text in YAML 1.2. `true` and `false` are quoted by the serializer.
const BOOLEANS: [&str; 6] = ["y", "yes", "on", "n", "no", "off"];

fn is_boolean(text: &str) -> bool {
    BOOLEANS.iter().any(|it| it.eq_ignore_ascii_case(text))
}

/// Writer that quotes the [`BOOLEANS`] in YAML of the serializer: a scalar is on a line of its own, or a literal block.
pub(super) struct QuotedBooleans<'a> {
    out: &'a mut dyn Write,
    line: Vec<u8>,
    /// The column beneath which a literal block stands, while one is written.
    block: Option<usize>,
}

impl<'a> QuotedBooleans<'a> {
    pub(super) fn new(out: &'a mut dyn Write) -> Self {
        Self { out, line: Vec::new(), block: None }
    }

    /// Writes what is left.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.pass_on()
    }

    fn pass_on(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        match std::str::from_utf8(&line).ok().and_then(|text| self.quoted(text)) {
            Some(quoted) => self.out.write_all(quoted.as_bytes()),
            None => self.out.write_all(&line),
        }
    }

    /// Returns a line with quotes, if it needs some.
    fn quoted(&mut self, line: &str) -> Option<String> {
        let text = line.trim_end_matches('\n');
        let spaces = text.len() - text.trim_start_matches(' ').len();
        if let Some(above) = self.block {
            if text.is_empty() || spaces > above {
                return None;
            }
            self.block = None;
        }
        let mut column = spaces;
        let mut dash = spaces;
        while let Some(rest) = text[column..].strip_prefix("- ") {
            dash = column;
            column = text.len() - rest.len();
        }
        let content = &text[column..];
        let (key, value) = match content.split_once(": ") {
            Some((key, value)) => (Some(key), value),
            None => match content.strip_suffix(':') {
                Some(key) => (Some(key), ""),
                None => (None, content),
            },
        };
        if value.starts_with('|') {
            self.block = Some(if key.is_some() { column } else { dash });
        }
        if !key.is_some_and(is_boolean) && !is_boolean(value) {
            return None;
        }
        let quote = |it: &str| if is_boolean(it) { format!("'{it}'") } else { it.to_owned() };
        let key =
            key.map(|key| format!("{}:{}", quote(key), if value.is_empty() { "" } else { " " }));
        let end = &line[text.len()..];
        Some(format!("{}{}{}{end}", &text[..column], key.unwrap_or_default(), quote(value)))
    }
}

impl Write for QuotedBooleans<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for part in bytes.split_inclusive(|it| *it == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                self.pass_on()?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use serde_json::{Value, json};

    use super::*;

    #[derive(Serialize)]
    struct Head {
        kind: &'static str,
        api_version: &'static str,
    }

    #[derive(Serialize)]
    struct Finding {
        id: usize,
    }

    const HEAD: Head = Head { kind: "Report", api_version: "v1" };

    #[derive(Serialize)]
    struct Nothing {}

    fn written(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> String {
        let mut out = Vec::new();
        write(&mut out).expect("because memory does not fail");
        String::from_utf8(out).expect("because it is text")
    }

    #[test]
    fn json_is_indented_as_kubectl_indents() {
        let tail = json!({"gaps": [{"resource": "pods"}]});
        let mut items = (1..=2).map(|id| Finding { id });
        let text = written(|out| report_json(out, &HEAD, "findings", &mut items, &tail));
        let expected = json!({"kind": "Report", "api_version": "v1", "findings": [{"id": 1}, {"id": 2}], "gaps": [{"resource": "pods"}]});
        assert_eq!(serde_json::from_str::<Value>(&text).expect("because it is JSON"), expected);
        assert!(text.starts_with("{\n    \"kind\": \"Report\",\n    \"api_version\": \"v1\",\n    \"findings\": [\n        {\n            \"id\": 1\n        },\n"), "{text}");
        assert!(text.ends_with("        }\n    ]\n}\n"), "{text}");
    }

    #[test]
    fn yaml_keeps_the_order() {
        let mut items = (1..=2).map(|id| Finding { id });
        let text =
            written(|out| report_yaml(out, &HEAD, "findings", &mut items, &json!({"gaps": []})));
        assert_eq!(text, "kind: Report\napi_version: v1\nfindings:\n- id: 1\n- id: 2\ngaps: []\n");
    }

    #[test]
    fn empty_lists_stay_lists() {
        let mut none = std::iter::empty::<Finding>();
        let text = written(|out| report_json(out, &HEAD, "findings", &mut none, &Nothing {}));
        assert!(text.ends_with("    \"findings\": []\n}\n"), "{text}");
        let text = written(|out| report_yaml(out, &HEAD, "findings", &mut none, &Nothing {}));
        assert!(text.ends_with("findings: []\n"), "{text}");
    }

    /// Counts what has arrived, to compare it with what was made.
    struct Counting<'c>(&'c Cell<usize>);

    impl Write for Counting<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.set(self.0.get() + bytes.len());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn items_are_written_as_they_are_made() {
        type Report = fn(
            &mut dyn Write,
            &Head,
            &str,
            &mut dyn Iterator<Item = Finding>,
            &Nothing,
        ) -> io::Result<()>;
        let writers: [Report; 2] = [
            |o, h, f, i, t| report_json(o, h, f, i, t),
            |o, h, f, i, t| report_yaml(o, h, f, i, t),
        ];
        for write in writers {
            let arrived = Cell::new(0);
            let mut items = (0..50_000).map(|id| {
                // Buffers of the emitter may hold some, never all.
                assert!(
                    arrived.get() + 100_000 > id * 6,
                    "{id} made, {} bytes written",
                    arrived.get()
                );
                Finding { id }
            });
            write(&mut Counting(&arrived), &HEAD, "findings", &mut items, &Nothing {})
                .expect("because it only counts");
        }
    }

    struct Closed;

    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_closed_pipe_is_known_as_one() {
        let kind = |result: io::Result<()>| result.expect_err("the pipe is closed").kind();
        assert_eq!(kind(json(&mut Closed, &HEAD)), io::ErrorKind::BrokenPipe);
        assert_eq!(kind(yaml(&mut Closed, &HEAD)), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn words_that_kubectl_reads_as_booleans_are_quoted_and_nothing_else() {
        let value = json!({
            "values": ["deny", "off", "Yes", "true", "offline", "turn - off", "a: off"],
            "value": "NO", "on": "y", "n": {"off": []}, "nested": [["off"], {"a": "no", "b": "x\noff\n"}],
            "text": "line\noff\n  key: off\n- off", "after": "off", "list": ["x\n- off\n", "off"],
        });
        let mut out = Vec::new();
        yaml(&mut out, &value).expect("because memory does not fail");
        let text = String::from_utf8(out).expect("because it is text");
        let again: serde_json::Value = serde_yaml::from_str(&text).expect("because it is YAML");
        assert_eq!(again, value, "{text}");
        for line in [
            "- 'off'",
            "- 'Yes'",
            "value: 'NO'",
            "'on': 'y'",
            "'n':",
            "  'off': []",
            "- - 'off'",
            "- a: 'no'",
            "after: 'off'",
            "- offline",
            "- turn - off",
            "  off",
            "    key: off",
        ] {
            assert!(text.lines().any(|it| it == line || it.trim_start() == line), "{line}: {text}");
        }
    }
}
