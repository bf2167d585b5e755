//! Parser of JSON dumps: objects, lists, arrays, and any number of them one after the other.
//!
//! An object is walked member by member by `serde_json`, which checks it and finds its end in one
//! pass; its bytes are then handed on where they lie. Lists are entered, so that no more than one
//! item has to be in memory.

use serde::de::{DeserializeOwned, IgnoredAny};

use super::delivery::Delivery;
use super::flaw::Flaw;
use super::head::{HeadKey, HeadMetadata, ItemsMember, NullableText, ObjectHead};
use super::piece::Skimmed;
use super::window::{Filled, Halt, Position, Window, newlines};
use super::{piece, wording};

/// Reads all documents of a file.
pub(super) fn read(window: &mut Window, out: &mut Delivery, skim: bool) -> Result<(), Halt> {
    JsonReader { window, out, skim }.documents()
}

/// An item found by its indentation, and where it ends.
type SkimmedItem = ((ObjectHead, Skimmed), usize);

struct JsonReader<'w, 'r, 's> {
    window: &'w mut Window<'r>,
    out: &'w mut Delivery<'s>,
    /// Whether items may be cut out by their indentation.
    skim: bool,
}

/// Shape of an object, once its members were walked.
enum Shape {
    /// An object that ends before this byte.
    Object(usize),
    /// A list whose items begin at this byte, after the bracket.
    List(usize),
}

/// Next token within an object.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Token {
    KeyOrEnd,
    Key,
    CommaOrEnd,
}

impl JsonReader<'_, '_, '_> {
    fn documents(&mut self) -> Result<(), Halt> {
        // The number of the next element, inside an array of objects.
        let mut element = None;
        let mut comma = false;
        loop {
            let start = self.skip_space(0)?;
            self.window.consume(start);
            let Some(byte) = self.window.byte(0)? else {
                return match (element, self.window.failure()) {
                    (_, Some(halt)) => Err(halt),
                    (Some(_), None) => Err(self.window.cut("an array")),
                    (None, None) => Ok(()),
                };
            };
            match (byte, element) {
                (b',', Some(_)) if comma => {
                    self.window.consume(1);
                    comma = false;
                    if self.peek(0)? == Some(b']') {
                        return Err(self.syntax(0, "trailing comma"));
                    }
                }
                (b']', Some(index)) if comma || index == 1 => {
                    self.window.consume(1);
                    element = None;
                    comma = false;
                }
                (_, Some(_)) if comma => return Err(self.syntax(0, "expected `,` or `]`")),
                (b'{', _) => {
                    self.document_or_next(element)?;
                    comma = element.is_some();
                    element = element.map(|index| index + 1);
                }
                (b'[', None) => {
                    self.window.consume(1);
                    element = Some(1);
                }
                (_, Some(index)) => {
                    self.not_an_object(index, byte, None)?;
                    comma = true;
                    element = Some(index + 1);
                }
                // Between lists: the logs of a cluster-info dump, or YAML's separator.
                (b'=', None) if self.window.skip_logs()? => {}
                (b'-', None) if self.separator()? => self.window.consume(3),
                (_, None) => self.stray()?,
            }
        }
    }

    fn separator(&mut self) -> Result<bool, Halt> {
        let end = self.window.line(0)?.map_or(0, |(end, _)| end);
        Ok(self.window.bytes()[..end].trim_ascii_end() == b"---")
    }

    /// Reports text that cannot begin a document, and passes over its line.
    fn stray(&mut self) -> Result<(), Halt> {
        let halt = self.syntax(0, "expected `{` or `[`");
        self.resume(halt)
    }

    /// Delivers a document; if it is no JSON, reports it and looks for the next one.
    fn document_or_next(&mut self, element: Option<u64>) -> Result<(), Halt> {
        let start = self.window.here();
        match self.document(element) {
            Err(Halt::Flaw(flaw @ Flaw::Syntax { .. }, place))
                if element.is_none()
                    && self.window.here() == start
                    // Where there is an object in each line, a bad line says nothing about the next.
                    // Anywhere else it is not known where the next one begins.
                    && place.line <= start.line + 1 =>
            {
                self.resume(Halt::Flaw(flaw, place))
            }
            other => other,
        }
    }

    /// Reports a flaw, and goes on at the next line that begins with an object.
    fn resume(&mut self, halt: Halt) -> Result<(), Halt> {
        let Halt::Flaw(flaw, place) = halt else { return Err(halt) };
        self.out.broken(place, None, flaw)?;
        loop {
            let Some((end, ended)) = self.window.line(0)? else { return Ok(()) };
            self.window.consume(end);
            if !ended || matches!(self.window.byte(0)?, Some(b'{' | b'=')) {
                return Ok(());
            }
        }
    }

    fn document(&mut self, element: Option<u64>) -> Result<(), Halt> {
        let start = self.window.here();
        let mut head = ObjectHead::default();
        match self.members(1, Token::KeyOrEnd, &mut head, true)? {
            Shape::Object(end) => {
                self.out.document(start, element, &head, &self.window.bytes()[..end])?;
                self.window.consume(end);
                Ok(())
            }
            Shape::List(at) => {
                self.window.consume(at);
                self.list(start, head)
            }
        }
    }

    fn list(&mut self, start: Position, mut head: ObjectHead) -> Result<(), Halt> {
        self.out.open_list(start);
        let end = self.items(&head).and_then(|()| self.rest_of_list(&mut head));
        match end {
            Ok(()) => self.out.close_list(&head, true),
            Err(Halt::Asked) => Err(Halt::Asked),
            Err(halt) => {
                // What was kept until the kind is known is told now, before the break.
                self.out.close_list(&head, false)?;
                Err(halt)
            }
        }
    }

    fn items(&mut self, list: &ObjectHead) -> Result<(), Halt> {
        let mut index = 0;
        loop {
            let start = self.skip_space(0)?;
            self.window.consume(start);
            match self.window.byte(0)? {
                None => return Err(self.window.cut("a list")),
                Some(b']') => {
                    self.window.consume(1);
                    return Ok(());
                }
                Some(b',') if index > 0 => {
                    let start = self.skip_space(1)?;
                    self.window.consume(start);
                }
                Some(_) if index > 0 => return Err(self.syntax(0, "expected `,` or `]`")),
                Some(_) => {}
            }
            index += 1;
            match self.window.byte(0)? {
                None => return Err(self.window.cut("a list")),
                Some(b'{') => {
                    if let Some((found, end)) = self.skim()? {
                        let body = &self.window.bytes()[..end];
                        self.out.skimmed(self.window.here(), index, list, &found, body)?;
                        self.window.consume(end);
                        continue;
                    }
                    let mut head = ObjectHead::default();
                    let Shape::Object(end) = self.members(1, Token::KeyOrEnd, &mut head, false)?
                    else {
                        return Err(self.syntax(0, "a list in a list"));
                    };
                    let place = self.window.here();
                    self.out.item(place, index, list, head, &self.window.bytes()[..end])?;
                    self.window.consume(end);
                }
                Some(byte) => self.not_an_object(index, byte, Some(list))?,
            }
        }
    }

    /// Finds the item at hand by its indentation, if it has the shape that kubectl writes.
    fn skim(&mut self) -> Result<Option<SkimmedItem>, Halt> {
        if !self.skim || !self.window.starts_with(piece::ITEM_START)? {
            return Ok(None);
        }
        let Some(end) = self.window.find(&piece::ITEM_END)? else { return Ok(None) };
        let end = end + piece::ITEM_END.needle().len();
        Ok(piece::skim_item(&self.window.bytes()[..end]).map(|found| (found, end)))
    }

    fn rest_of_list(&mut self, head: &mut ObjectHead) -> Result<(), Halt> {
        match self.members(0, Token::CommaOrEnd, head, true)? {
            Shape::Object(end) => {
                self.window.consume(end);
                Ok(())
            }
            Shape::List(at) => Err(Halt::Flaw(Flaw::TwoItems, self.window.place(at))),
        }
    }

    /// Reports an element that is a text, a number or the like, and passes over it.
    fn not_an_object(&mut self, index: u64, byte: u8, of: Option<&ObjectHead>) -> Result<(), Halt> {
        let place = self.window.here();
        let end = self.pass(0)?;
        let flaw = Flaw::NotAnObject { found: wording::begins(byte) };
        match of {
            Some(list) => self.out.broken_item(place, index, list, flaw)?,
            None => self.out.broken(place, Some(index), flaw)?,
        }
        self.window.consume(end);
        Ok(())
    }

    /// Walks the members of an object, and stops at the end of it or at the items of a list.
    fn members(
        &mut self,
        mut at: usize,
        mut next: Token,
        head: &mut ObjectHead,
        enter: bool,
    ) -> Result<Shape, Halt> {
        loop {
            at = self.skip_space(at)?;
            match (self.window.byte(at)?, next) {
                (None, _) => return Err(self.window.cut("an object")),
                (Some(b'}'), Token::KeyOrEnd | Token::CommaOrEnd) => {
                    return Ok(Shape::Object(at + 1));
                }
                (Some(b','), Token::CommaOrEnd) => {
                    at += 1;
                    next = Token::Key;
                    continue;
                }
                (Some(b'"'), Token::KeyOrEnd | Token::Key) => {}
                (Some(_), Token::CommaOrEnd) => {
                    return Err(self.syntax(at, "expected `,` or `}`"));
                }
                (Some(_), Token::KeyOrEnd | Token::Key) => {
                    return Err(self.syntax(at, "expected a name in quotes"));
                }
            }
            let (key, end) = self.take::<NullableText>(at)?;
            let Ok(NullableText(key)) = key else { return Err(self.syntax(at, "expected a name")) };
            at = self.skip_space(end)?;
            match self.window.byte(at)? {
                Some(b':') => at = self.skip_space(at + 1)?,
                Some(_) => return Err(self.syntax(at, "expected `:`")),
                None => return Err(self.window.cut("an object")),
            }
            let first = self.window.byte(at)?;
            match (HeadKey::named(&key), first) {
                (Some(HeadKey::Items), Some(b'[')) if enter && head.may_be_list() => {
                    if head.items == ItemsMember::Listed {
                        return Err(Halt::Flaw(Flaw::TwoItems, self.window.place(at)));
                    }
                    head.items = ItemsMember::Listed;
                    return Ok(Shape::List(at + 1));
                }
                (Some(HeadKey::Items), Some(b'n')) => {
                    at = self.pass(at)?;
                    if head.items == ItemsMember::Absent {
                        head.items = ItemsMember::Null;
                    }
                }
                (Some(HeadKey::Metadata), Some(byte)) if byte != b'n' => {
                    let (meta, end) = self.take::<HeadMetadata>(at)?;
                    // An array would pass: serde fills a struct from a sequence as well.
                    match meta {
                        _ if byte != b'{' => {
                            head.spoil("metadata", wording::not_an_object(wording::begins(byte)));
                        }
                        Ok(meta) => head.metadata(meta),
                        Err(_) => {
                            let text = &self.window.bytes()[at..end];
                            head.spoil_metadata(&String::from_utf8_lossy(text));
                        }
                    }
                    at = end;
                }
                (Some(member @ (HeadKey::Kind | HeadKey::ApiVersion | HeadKey::Message)), _) => {
                    let (text, end) = self.take::<NullableText>(at)?;
                    head.text(member, text);
                    at = end;
                }
                (Some(HeadKey::Items | HeadKey::Metadata) | None, _) => at = self.pass(at)?,
            }
            next = Token::CommaOrEnd;
        }
    }

    /// Parses the value at `at`, and returns it with its end. One that is JSON and yet not a `T`
    /// is no reason to stop.
    fn take<T: DeserializeOwned>(
        &mut self,
        at: usize,
    ) -> Result<(Result<T, serde_json::Error>, usize), Halt> {
        match self.attempt::<T>(at)? {
            Ok((value, end)) => Ok((Ok(value), end)),
            Err(error) => Ok((Err(error), self.pass(at)?)),
        }
    }

    /// Passes over the value at `at`, and returns its end.
    fn pass(&mut self, at: usize) -> Result<usize, Halt> {
        match self.attempt::<IgnoredAny>(at)? {
            Ok((IgnoredAny, end)) => Ok(end),
            Err(error) => Err(self.wrong(at, &error)),
        }
    }

    fn attempt<T: DeserializeOwned>(
        &mut self,
        at: usize,
    ) -> Result<Result<(T, usize), serde_json::Error>, Halt> {
        loop {
            let bytes = self.window.bytes().get(at..).unwrap_or_default();
            let mut values = serde_json::Deserializer::from_slice(bytes).into_iter::<T>();
            match values.next() {
                Some(Ok(value)) => {
                    let end = at + values.byte_offset();
                    // A number at the very end of the window may have more digits.
                    if end < self.window.bytes().len() || self.window.ended() {
                        return Ok(Ok((value, end)));
                    }
                }
                Some(Err(error)) if !error.is_eof() => return Ok(Err(error)),
                Some(Err(_)) | None => {
                    if self.window.ended() {
                        return Err(self.window.cut("a value"));
                    }
                }
            }
            self.window.fill()?;
        }
    }

    /// Returns the position of the next byte that is not white space, or the end.
    fn skip_space(&mut self, mut at: usize) -> Result<usize, Halt> {
        loop {
            let bytes = self.window.bytes().get(at..).unwrap_or_default();
            let space =
                bytes.iter().take_while(|b| matches!(b, b' ' | b'\n' | b'\r' | b'\t')).count();
            at += space;
            if at < self.window.bytes().len() || self.window.fill()? == Filled::End {
                return Ok(at);
            }
        }
    }

    fn peek(&mut self, at: usize) -> Result<Option<u8>, Halt> {
        let at = self.skip_space(at)?;
        self.window.byte(at)
    }

    fn syntax(&self, at: usize, reason: &str) -> Halt {
        let place = self.window.place(at);
        let reason = reason.to_owned();
        Halt::Flaw(Flaw::Syntax { format: "JSON", offset: place.offset, reason }, place)
    }

    /// Translates an error of the value at `at` to the place in the file.
    fn wrong(&self, at: usize, error: &serde_json::Error) -> Halt {
        let bytes = self.window.bytes().get(at..).unwrap_or_default();
        let lines = bytes.split_inclusive(|byte| *byte == b'\n');
        let before: usize = lines.take(error.line().saturating_sub(1)).map(<[u8]>::len).sum();
        let within = (before + error.column().saturating_sub(1)).min(bytes.len());
        debug_assert!(newlines(&bytes[..before]) < error.line().max(1) as u64);
        self.syntax(at + within, &wording::syntax(error))
    }
}
