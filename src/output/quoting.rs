//! Quotes in YAML what readers of YAML 1.1 take for booleans: kubectl reads `off` as `false`.

use std::io::{self, Write};

/// Words that are booleans in YAML 1.1 and text in YAML 1.2. `true` and `false` are quoted by the serializer.
const BOOLEANS: [&str; 6] = ["y", "yes", "on", "n", "no", "off"];

fn is_boolean(text: &str) -> bool {
    BOOLEANS.iter().any(|it| it.eq_ignore_ascii_case(text))
}

/// Passes YAML on, as the serializer writes it: a scalar is on a line of its own, or a literal block.
pub(super) struct QuotedBooleans<'a> {
    out: &'a mut dyn Write,
    line: Vec<u8>,
    /// The column that a literal block is beneath, while one is written.
    block: Option<usize>,
}

impl<'a> QuotedBooleans<'a> {
    pub(super) fn new(out: &'a mut dyn Write) -> Self {
        Self { out, line: Vec::new(), block: None }
    }

    /// Passes on what is left.
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
