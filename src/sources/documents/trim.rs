//! Removes the members of an object that no row needs, before the object is decoded: of a pod, two
//! thirds.
//!
//! Only of what kubectl has laid out, one thing in a line, each level four deeper. That this is so is
//! checked line by line: from the first line that is indented otherwise, nothing is left out any more.
//! So what is left out is exactly the member that it begins with, and never hides another.

use std::ops::Range;

use memchr::memchr;

use super::unread::{MemberUse, MemberUses};
use crate::model::Kind;

/// A one in each byte.
const ONES: u64 = u64::MAX / 255;
/// Where the members of an item of a list stand.
const ITEM: usize = 12;
/// What a level is indented by.
const STEP: usize = 4;

/// Appends to `out` an item of a list that was found by its indentation, without what nobody reads of
/// its kind. `managed` is where in it the managed fields stand.
pub(super) fn copy(kind: Kind, item: &str, managed: &Range<usize>, out: &mut String) {
    let mut walk = TrimmedItem { item, managed, kept: 0, out };
    let parts = MemberUse::of_kind(kind);
    if !parts.is_empty() {
        // Where it ends early, the rest is kept.
        let _ = walk.object(1, ITEM, parts);
    }
    let rest = walk.kept;
    out.push_str(item.get(rest..).unwrap_or_default());
}

struct TrimmedItem<'a> {
    item: &'a str,
    managed: &'a Range<usize>,
    /// Up to here everything was copied or left out.
    kept: usize,
    out: &'a mut String,
}

/// A line without its indentation.
#[derive(Clone, Copy)]
struct IndentedLine<'a> {
    text: &'a [u8],
    /// Where the line break behind it stands.
    end: usize,
}

impl IndentedLine<'_> {
    /// Whether a value begins here that is ended by a line of its own.
    fn opens(self) -> bool {
        matches!(self.text, [.., b'{' | b'['])
    }

    fn closes(self) -> bool {
        matches!(self.text, [b'}' | b']'] | [b'}' | b']', b','])
    }

    fn has_comma(self) -> bool {
        matches!(self.text, [.., b','])
    }

    /// Splits the line into a key and what follows the colon.
    fn member(&self) -> Option<(&[u8], &[u8])> {
        let [b'"', rest @ ..] = self.text else { return None };
        let (key, rest) = rest.split_at_checked(memchr(b'"', rest)?)?;
        let [b'"', b':', b' ', value @ ..] = rest else { return None };
        Some((key, value))
    }
}

impl<'a> TrimmedItem<'a> {
    /// Goes through an object whose first member follows the line break at `at`, and returns where the
    /// line break before its end stands.
    fn object(&mut self, mut at: usize, indent: usize, parts: MemberUses) -> Option<usize> {
        loop {
            if at == self.managed.start && MemberUse::of(b"managedFields", parts).is_unread() {
                self.leave_out(self.managed.clone())?;
                at = self.managed.end;
            }
            let Some(line) = self.line(at, indent) else { return Some(at) };
            let (key, value) = line.member()?;
            if !matches!(value, b"{" | b"[") {
                at = line.end;
                continue;
            }
            let part = MemberUse::of(key, parts);
            let last = match (part, value) {
                (MemberUse::Object(parts), b"{") => {
                    let end = self.object(line.end, indent + STEP, parts)?;
                    self.line(end, indent).filter(|line| line.closes())?
                }
                (MemberUse::Each(parts), b"[") => {
                    let end = self.list(line.end, indent + STEP, parts)?;
                    self.line(end, indent).filter(|line| line.closes())?
                }
                _ => self.value(line.end, indent, value[0])?,
            };
            if part.is_unread() {
                // With a comma behind it, and nothing, it would not have been JSON.
                if last.has_comma() != self.line(last.end, indent).is_some() {
                    return None;
                }
                self.leave_out(at..last.end)?;
            }
            at = last.end;
        }
    }

    /// The same with a list of objects.
    fn list(&mut self, mut at: usize, indent: usize, parts: MemberUses) -> Option<usize> {
        loop {
            let Some(line) = self.line(at, indent) else { return Some(at) };
            if line.text != b"{" {
                return None;
            }
            let end = self.object(line.end, indent + STEP, parts)?;
            at = self.line(end, indent).filter(|line| line.closes())?.end;
        }
    }

    /// Goes through the value that `open` begins, before the line break at `at`, and returns its last
    /// line. Each line has to be as deep as the one before it promises, and to hold one thing.
    fn value(&self, mut at: usize, outer: usize, open: u8) -> Option<IndentedLine<'a>> {
        let mut indent = outer + STEP;
        // A bit for each level, the innermost lowest: whether it is a list.
        let mut lists = u64::from(open == b'[');
        let mut closing = false;
        loop {
            let line = self.line(at, indent)?;
            match (closing, line.text) {
                (true, [bracket, ..]) if line.closes() => {
                    if (*bracket == b']') != (lists & 1 == 1) {
                        return None;
                    }
                    if indent == outer {
                        return Some(line);
                    }
                    lists >>= 1;
                }
                // A list has no keys, and an object nothing else.
                (false, _) if line.member().is_some() == (lists & 1 == 1) => return None,
                (false, [bracket @ (b'{' | b'[')] | [b'"', .., bracket @ (b'{' | b'[')]) => {
                    lists = lists << 1 | u64::from(*bracket == b'[');
                    indent += STEP;
                    if indent > outer + STEP * 60 {
                        return None;
                    }
                }
                (false, b"{}" | b"{}," | b"[]" | b"[],") => {}
                (true, _) | (false, [] | [b'{' | b'[' | b'}' | b']', ..]) => return None,
                (false, _) => {}
            }
            closing = !line.opens() && !line.has_comma();
            if closing {
                indent -= STEP;
            }
            at = line.end;
        }
    }

    /// Returns the line behind the line break at `at`, if it is exactly so deep.
    fn line(&self, at: usize, indent: usize) -> Option<IndentedLine<'a>> {
        let begin = at + 1 + indent;
        let (front, rest) = self.item.as_bytes().split_at_checked(begin)?;
        // Eight blanks in a row stand nowhere else: what precedes them need not be looked at.
        let blanks = front.last_chunk().map(|blanks| u64::from_ne_bytes(*blanks));
        let is_deep = blanks == Some(ONES * u64::from(b' ')) && rest.first() != Some(&b' ');
        let length = is_deep.then(|| first_break(rest))??;
        Some(IndentedLine { text: &rest[..length], end: begin + length })
    }

    /// Leaves out whole lines, from a line break to the next, unless a comma is missing before them.
    fn leave_out(&mut self, lines: Range<usize>) -> Option<()> {
        self.out.push_str(self.item.get(self.kept..lines.start)?);
        self.kept = lines.start;
        if !self.out.ends_with([',', '{']) {
            return None;
        }
        // The last of its object: what precedes it is the last now.
        if !self.item.get(..lines.end)?.ends_with(',') && self.out.ends_with(',') {
            self.out.pop();
        }
        self.kept = lines.end;
        Some(())
    }
}

/// Finds a line break, nearly always within the next three words: to call memchr takes longer.
fn first_break(bytes: &[u8]) -> Option<usize> {
    let (words, rest) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        // The lowest byte that is zero here is a line break; higher ones may only seem to be.
        let word = u64::from_le_bytes(*word) ^ (ONES * u64::from(b'\n'));
        let zeros = word.wrapping_sub(ONES) & !word & (ONES << 7);
        if zeros != 0 {
            return Some(index * 8 + zeros.trailing_zeros() as usize / 8);
        }
    }
    let found = rest.iter().position(|byte| *byte == b'\n')?;
    Some(words.len() * 8 + found)
}

#[cfg(test)]
mod tests;
