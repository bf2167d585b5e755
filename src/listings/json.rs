//! Answers in JSON: their rows are cut out of the stream, and each is decoded where it lies, at twice the speed of a decoder
//! that reads the stream itself.

use std::{
    fmt,
    io::{self, BufRead},
};

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::{Error, Value};

use super::{
    answers::SHAPES,
    found::{FoundDisks, ListingError},
    shape::ListingShape,
    value::ListedFields,
};
use crate::client::stream::ValueScan;
use crate::model::{escape_control, first_of, shorten};

/// Reads every answer of a file: pages may follow each other.
pub(super) fn read_json(
    content: Box<dyn BufRead + '_>,
    found: &mut FoundDisks<'_>,
) -> Result<(), ListingError> {
    let mut answers = JsonAnswers { content, value: Vec::new(), line: 1, began: 1 };
    answers.read(found).map_err(|error| answers.refused(&error, found))
}

/// Answers, one after the other.
struct JsonAnswers<'a> {
    content: Box<dyn BufRead + 'a>,
    /// The value that was cut out last, and the line in which it begins.
    value: Vec<u8>,
    began: u64,
    /// The line of what comes next.
    line: u64,
}

impl JsonAnswers<'_> {
    fn read(&mut self, found: &mut FoundDisks<'_>) -> Result<(), Error> {
        loop {
            match self.peek()? {
                None => return Ok(()),
                Some(b'[') => self.rows("", found)?,
                Some(b'{') => self.members(found)?,
                Some(_) => return Err(Error::custom("expected a list of disks")),
            }
        }
    }

    fn members(&mut self, found: &mut FoundDisks<'_>) -> Result<(), Error> {
        self.content.consume(1);
        let (mut has_rows, mut others, mut is_first) = (false, Vec::new(), true);
        while self.goes_on(b'}', is_first)? {
            is_first = false;
            self.cut(true)?;
            let member: String = serde_json::from_slice(&self.value)?;
            if self.peek()? != Some(b':') {
                return Err(Error::custom("expected `:`"));
            }
            self.content.consume(1);
            let first = self.peek()?;
            if let Some(shape) = SHAPES.iter().find(|it| it.rows == member && !member.is_empty()) {
                has_rows = true;
                if first == Some(b'[') {
                    self.rows(shape.rows, found)?;
                } else {
                    // What has none may be null.
                    self.cut(true)?;
                    serde_json::from_slice::<()>(&self.value)?;
                }
                continue;
            }
            let marks_next = ["NextToken", "nextPageToken", "next", "nextLink", "links"];
            if marks_next.contains(&&*member) {
                self.cut(true)?;
                found.listing.is_truncated |= continues(&serde_json::from_slice(&self.value)?);
            } else {
                // Whatever else there is may be large, and is not looked into.
                let is_plain = !matches!(first, Some(b'{' | b'[' | b'"'));
                self.cut(is_plain)?;
                if is_plain {
                    serde_json::from_slice::<IgnoredAny>(&self.value)?;
                }
            }
            others.push(member);
        }
        if has_rows {
            return Ok(());
        }
        let others: Vec<_> = others.iter().map(|it| shorten(it, 40)).collect();
        Err(Error::custom(format!("no listing is an object with {}", first_of(&others, 8))))
    }

    /// Reads a list of rows; `around` is the member of the answer that holds it.
    fn rows(&mut self, around: &str, found: &mut FoundDisks<'_>) -> Result<(), Error> {
        self.content.consume(1);
        let mut is_first = true;
        while self.goes_on(b']', is_first)? {
            is_first = false;
            self.cut(true)?;
            let mut row = serde_json::Deserializer::from_slice(&self.value);
            let row = OneRow(found.shape).deserialize(&mut row)?;
            found.take(around, &row).map_err(Error::custom)?;
        }
        Ok(())
    }

    /// Goes to the next entry of a list or of an object, unless this closes it.
    fn goes_on(&mut self, close: u8, is_first: bool) -> Result<bool, Error> {
        let mut next = self.peek()?;
        if next == Some(close) {
            self.content.consume(1);
            return Ok(false);
        }
        if next == Some(b',') && !is_first {
            self.content.consume(1);
            next = self.peek()?;
        } else if next.is_some() && !is_first {
            let told = format!("expected `,` or `{}`", char::from(close));
            return Err(Error::custom(told));
        }
        match next {
            Some(_) => Ok(true),
            None => Err(Error::custom("EOF while parsing a list or an object")),
        }
    }

    /// Returns the next byte that is no white space.
    fn peek(&mut self) -> Result<Option<u8>, Error> {
        loop {
            let part = self.content.fill_buf().map_err(Error::io)?;
            let end = part.iter().position(|it| !it.is_ascii_whitespace());
            let first = end.map(|end| part[end]);
            let space = end.unwrap_or(part.len());
            self.line += newlines(&part[..space]);
            let is_over = first.is_some() || part.is_empty();
            self.content.consume(space);
            if is_over {
                return Ok(first);
            }
        }
    }

    /// Cuts out the next value, and keeps it if it is wanted; as much of it as there is.
    fn cut(&mut self, is_wanted: bool) -> Result<(), Error> {
        self.value.clear();
        let first = self.peek()?;
        self.began = self.line;
        if matches!(first, Some(b',' | b':' | b'}' | b']')) {
            return Ok(());
        }
        let mut scan = ValueScan::default();
        loop {
            let part = self.content.fill_buf().map_err(Error::io)?;
            let end = scan.end(part);
            let is_over = end.is_some() || part.is_empty();
            let length = end.unwrap_or(part.len());
            let part = &part[..length];
            self.line += newlines(part);
            if is_wanted {
                self.value.extend_from_slice(part);
            }
            self.content.consume(length);
            if is_over {
                return Ok(());
            }
        }
    }

    /// Says what is wrong with a row, or with the whole.
    fn refused(&self, error: &Error, found: &FoundDisks<'_>) -> ListingError {
        let name = found.listing.name.clone();
        let text = error.to_string();
        let why = text.rsplit_once(" at line ").map_or(&*text, |it| it.0);
        let why = escape_control(why).into_owned();
        let line = match error.line() {
            0 => self.line,
            line => self.began + line as u64 - 1,
        };
        match found.listing.rows {
            _ if error.is_io() => ListingError::Read { name, source: io::Error::other(text) },
            0 => ListingError::Foreign { name, why },
            1 if found.shape.is_none() && found.pool.is_none() => {
                ListingError::Foreign { name, why }
            }
            row => ListingError::Row { name, row, line: Some(line), why },
        }
    }
}

fn newlines(text: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', text).count() as u64
}

/// Whether a mark of a next page is one.
fn continues(mark: &Value) -> bool {
    match mark {
        Value::String(text) => !text.is_empty(),
        Value::Object(links) => {
            let pages = links.get("pages").and_then(|it| it.get("next"));
            pages.or_else(|| links.get("next")).is_some_and(continues)
        }
        _ => false,
    }
}

/// A row, of which only the fields are kept that are read.
struct OneRow(Option<&'static ListingShape>);

impl<'de> DeserializeSeed<'de> for OneRow {
    type Value = ListedFields<'de>;

    fn deserialize<D: Deserializer<'de>>(self, row: D) -> Result<ListedFields<'de>, D::Error> {
        row.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for OneRow {
    type Value = ListedFields<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a disk with its fields")
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<ListedFields<'de>, A::Error> {
        ListedFields::read(fields, |field| self.0.is_none_or(|shape| shape.reads(field)))
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::read_json;
    use crate::listings::found::FoundDisks;

    /// Returns the handles of a listing whose stream comes in parts of this size, or why it is refused.
    fn handles(text: &str, part: usize) -> Result<(Vec<String>, bool), String> {
        let mut handles = Vec::new();
        let mut each = |disk: crate::listings::Disk| {
            handles.push(format!("{} {}", disk.backend.handle, disk.tag("k").unwrap_or("-")));
            Ok(())
        };
        let mut found = FoundDisks::new("listing".to_owned(), None, &mut each);
        let content = Box::new(BufReader::with_capacity(part, text.as_bytes()));
        read_json(content, &mut found).map_err(|it| it.to_string())?;
        let is_truncated = found.listing.is_truncated;
        Ok((handles, is_truncated))
    }

    #[test]
    fn rows_are_cut_out_wherever_the_stream_is() {
        let row = |id: &str, value: &str| {
            format!(
                r#"{{"Vol\u0075meId": "{id}", "State": "in-use", "Tags": [{{"Key": "k", "Value": "{value}"}}], "x": [1, {{}}]}}"#
            )
        };
        let page = |rows: &str| {
            format!(
                "{{\"other\": {{\"]\": [\"}}\"]}}, \"n\": 1 , \"Volumes\" : [{rows}\n] ,\"NextToken\":\"t\"}}\n"
            )
        };
        let rows = [row("a", r#"\\\"]}"#), row("b", "ü{[")].join(" ,\n");
        let two = format!("{}{}", page(&rows), page(&row("c", "")));
        let expected = ["a \\\"]}", "b ü{[", "c "].map(str::to_owned).to_vec();
        for part in 1..60 {
            assert_eq!(handles(&two, part), Ok((expected.clone(), true)), "{part}");
            assert_eq!(handles("{\"Volumes\": null}", part), Ok((Vec::new(), false)));
        }
    }

    #[test]
    fn what_is_broken_is_refused_with_its_line() {
        let row = "{\"VolumeId\": \"a\",\n\"State\": \"x\"}";
        for (text, told) in [
            ("[1]", "invalid type: integer `1`, expected a disk with its fields"),
            ("{\"Volumes\": 1}", "invalid type: integer `1`, expected unit"),
            ("{\"Volumes\" []}", "expected `:`"),
            ("{\"a\":}", "EOF while parsing a value"),
            ("{\"a\": nope}", "expected ident"),
            ("{\"a\": [}", "EOF while parsing a list or an object"),
            ("[] 1", "expected a list of disks"),
            ("{}", "no listing is an object with "),
        ] {
            let refused = handles(text, 7).expect_err(text);
            assert_eq!(refused, format!("listing is no listing: {told}"), "{text}");
        }
        for (after, told) in [
            (",\n{\"Size\": [[}", "(line 4): expected value"),
            (",\n{\n\"VolumeId\": \"b\", \"Size\": \"c\"\n}", "(line 6): Size: \"c\" is no size"),
            ("\n{}", "(line 4): expected `,` or `]`"),
            (",\n", "(line 4): EOF while parsing a list or an object"),
            ("]}\n2", "(line 4): expected a list of disks"),
        ] {
            let refused = handles(&format!("{{\"Volumes\":\n[{row}{after}"), 7).expect_err(after);
            assert!(refused.ends_with(told) && refused.contains("row "), "{refused}");
        }
    }
}
