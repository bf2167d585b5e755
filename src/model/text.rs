//! Texts: one shared copy of each repeated string and label set, escaping for terminals, Kubernetes quantities of
//! bytes, and suggestions for a name that does not exist.

use std::{fmt::Display, sync::Arc};

use hashbrown::HashSet;
use strsim::damerau_levenshtein;

/// Text that many rows share: namespaces, classes, drivers, managers, finalizers.
pub type Text = Arc<str>;

/// Interner that keeps one copy of each repeated text and label set.
///
/// The code that folds objects into rows owns one. A second interner only costs memory, since texts
/// are compared by value.
#[derive(Debug, Default)]
pub struct Interner {
    texts: HashSet<Text>,
}

impl Interner {
    /// Returns the shared copy of `text`.
    pub fn text(&mut self, text: &str) -> Text {
        if let Some(known) = self.texts.get(text) {
            return Arc::clone(known);
        }
        let new: Text = Arc::from(text);
        self.texts.insert(Arc::clone(&new));
        new
    }

    /// Returns the shared copy, or `None` for the empty text, which is how the API server
    /// sends a Go string that was never set.
    pub fn non_empty(&mut self, text: &str) -> Option<Text> {
        (!text.is_empty()).then(|| self.text(text))
    }
}

/// Makes text from the cluster safe to print on one line of a terminal.
///
/// Control characters (escape sequences, line breaks, right-to-left overrides) are shown as
/// escapes, so that no object's name or message can move the cursor or hide what follows.
pub fn escape_control(text: &str) -> std::borrow::Cow<'_, str> {
    let hostile = |c: char| {
        c.is_control()
            || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    if !text.contains(hostile) {
        return text.into();
    }
    let mut safe = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if hostile(c) {
            safe.extend(c.escape_default());
        } else {
            safe.push(c);
        }
    }
    safe.into()
}

/// Returns the first bytes of a text, at most `limit`, without half a character at the end.
pub fn beginning(text: &str, limit: usize) -> &str {
    let mut end = limit.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.split_at(end).0
}

/// Shortens a text to one line of at most `limit` characters, cut between words where it has any:
/// the beginning, and the end, where wrapped errors name their cause.
pub fn shorten(text: &str, limit: usize) -> String {
    if let Some(line) = fitting(text.split_whitespace(), limit) {
        return line;
    }
    let (mut head, mut tail) = (Vec::new(), Vec::new());
    let mut room = limit.saturating_sub(3);
    let mut taken = 0;
    for word in text.split_whitespace() {
        taken += characters(word, room) + 1;
        if taken > room * 3 / 5 + 1 {
            break;
        }
        head.push(word);
    }
    room = room.saturating_sub(head.iter().map(|word| word.chars().count() + 1).sum());
    for word in text.split_whitespace().rev() {
        let length = characters(word, room) + 1;
        if length > room + 1 {
            break;
        }
        room = room.saturating_sub(length);
        tail.push(word);
    }
    tail.reverse();
    match (&*head, &*tail) {
        // Its first word is longer than what there is room for.
        ([], _) => {
            let first = text.split_whitespace().next().unwrap_or_default();
            first.chars().take(limit.saturating_sub(1)).chain(['…']).collect()
        }
        (_, []) => format!("{}…", head.join(" ")),
        (_, _) => format!("{} … {}", head.join(" "), tail.join(" ")),
    }
}

/// Joins words to a line, if it has at most `limit` characters.
fn fitting<'a>(words: impl Iterator<Item = &'a str>, limit: usize) -> Option<String> {
    let (mut line, mut length) = (String::new(), 0);
    for word in words {
        let gap = usize::from(length > 0);
        length += gap + characters(word, limit);
        if length > limit {
            return None;
        }
        line.push_str(if gap == 1 { " " } else { "" });
        line.push_str(word);
    }
    Some(line)
}

/// Returns the number of characters of a word, at most one more than `limit`: it may have a megabyte.
fn characters(word: &str, limit: usize) -> usize {
    word.chars().take(limit + 1).count()
}

/// Returns a number with its noun: `1 volume`, `2 volumes`.
pub fn counted<N: Copy + Display + PartialEq + From<u8>>(count: N, what: &str) -> String {
    if count == N::from(1) { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// A number of bytes.
pub type Bytes = u64;

/// Lists the first of some names, and the number of the others: `a, b and 3 more`.
pub fn first_of(names: &[impl AsRef<str>], most: usize) -> String {
    let first: Vec<_> = names.iter().take(most).map(AsRef::as_ref).collect();
    match names.len().saturating_sub(most) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

/// Parses a quantity of bytes such as `10Gi`, `1.5T` or `1e9`, rounding up as Kubernetes does.
///
/// `None` when it is not a quantity, is negative, or does not fit 64 bits.
pub fn parse_quantity(text: &str) -> Option<Bytes> {
    let end = text
        .char_indices()
        .find(|(_, c)| !c.is_ascii_digit() && !matches!(c, '.' | '+' | '-'))
        .map_or(text.len(), |(index, _)| index);
    let (number, suffix) = text.split_at(end);
    let (multiply, divide) = scale(suffix)?;
    let number = number.strip_prefix('+').unwrap_or(number);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.len() > 18 {
        return None;
    }
    let digits: u128 = format!("{whole}{fraction}").parse().ok()?;
    let divide = divide.checked_mul(10_u128.checked_pow(u32::try_from(fraction.len()).ok()?)?)?;
    digits.checked_mul(multiply)?.div_ceil(divide).try_into().ok()
}

/// Returns the factor and the divisor of a suffix.
fn scale(suffix: &str) -> Option<(u128, u128)> {
    let power = |base: u128, exponent: u32| Some((base.pow(exponent), 1));
    match suffix {
        "n" => Some((1, 1_000_000_000)),
        "u" => Some((1, 1_000_000)),
        "m" => Some((1, 1000)),
        "" => Some((1, 1)),
        "k" => power(1000, 1),
        "M" => power(1000, 2),
        "G" => power(1000, 3),
        "T" => power(1000, 4),
        "P" => power(1000, 5),
        "E" => power(1000, 6),
        "Ki" => power(1024, 1),
        "Mi" => power(1024, 2),
        "Gi" => power(1024, 3),
        "Ti" => power(1024, 4),
        "Pi" => power(1024, 5),
        "Ei" => power(1024, 6),
        _ => {
            let exponent: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
            let power = 10_u128.checked_pow(exponent.unsigned_abs().min(30))?;
            Some(if exponent < 0 { (1, power) } else { (power, 1) })
        }
    }
}

/// Returns a number of bytes as a quantity of the largest unit it reaches: exact when it is a
/// multiple of it, else with one decimal.
pub fn format_bytes(bytes: u64) -> String {
    let bytes = u128::from(bytes);
    let tenths_of = |size: u128| (bytes * 10 + size / 2) / size;
    let mut size = 1;
    let mut unit = "";
    for larger in ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"] {
        // What would round to 1024 of a unit is one of the next instead.
        if tenths_of(size) < 10_240 {
            break;
        }
        size *= 1024;
        unit = larger;
    }
    let tenths = tenths_of(size);
    if bytes.is_multiple_of(size) {
        format!("{}{unit}", bytes / size)
    } else {
        format!("{}.{}{unit}", tenths / 10, tenths % 10)
    }
}

/// Largest number of names that are suggested.
const MOST: usize = 3;
/// Length of the longest name that is compared.
const LONGEST: usize = 253;

/// Returns the names nearest to what was typed, nearest first; none if all differ too much.
pub(crate) fn nearest(typed: &str, names: impl IntoIterator<Item = String>) -> Vec<String> {
    if typed.is_empty() || typed.len() > LONGEST {
        return Vec::new();
    }
    let near = names.into_iter().filter_map(|name| Some((distance(typed, &name)?, name)));
    let mut near: Vec<_> = near.collect();
    near.sort();
    near.dedup();
    near.into_iter().take(MOST).map(|(_, name)| name).collect()
}

/// Returns the question whether one of these names was meant; `None` where there is none.
pub(crate) fn did_you_mean(names: &[String]) -> Option<String> {
    (!names.is_empty()).then(|| format!("did you mean {}?", names.join(" or ")))
}

/// Returns the distance of a name from what was typed; `None` if they differ too much.
fn distance(typed: &str, name: &str) -> Option<usize> {
    // A part of a name is often all that was copied.
    if typed.len() >= 3 && name.starts_with(typed) {
        return Some(1);
    }
    if typed.len() >= 3 && name.contains(typed) {
        return Some(2);
    }
    let bound = (typed.chars().count() / 3).max(1);
    // The distance is at least the difference in length.
    if name.len().abs_diff(typed.len()) > bound * 4 {
        return None;
    }
    Some(damerau_levenshtein(typed, name)).filter(|distance| *distance <= bound)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(typed: &str) -> Vec<String> {
        let names = ["data-db-0", "data-db-1", "data-web-0", "pvc-lost", "pvc"];
        nearest(typed, names.map(str::to_owned))
    }

    #[test]
    fn typing_errors_are_recognised() {
        assert_eq!(of("data-bd-0"), ["data-db-0", "data-db-1", "data-web-0"]);
        assert_eq!(of("pvc-lots"), ["pvc-lost"]);
        assert_eq!(of("pcv"), ["pvc"]);
        assert_eq!(of("web"), ["data-web-0"]);
    }

    #[test]
    fn what_is_far_is_not_suggested() {
        assert_eq!(of("zzz"), [""; 0]);
        assert_eq!(of(""), [""; 0]);
        assert_eq!(of(&"x".repeat(100_000)), [""; 0]);
    }

    #[test]
    fn quantities_become_bytes() {
        for (text, bytes) in [
            ("10Gi", Some(10 << 30)),
            ("1.5Gi", Some(3 << 29)),
            ("5G", Some(5_000_000_000)),
            ("128974848", Some(128_974_848)),
            ("129e6", Some(129_000_000)),
            ("1E3", Some(1000)),
            ("1E", Some(1_000_000_000_000_000_000)),
            ("100m", Some(1)),
            ("0", Some(0)),
            ("16Ei", None),
            ("-1Gi", None),
            ("ten", None),
            ("", None),
            ("1.2.3", None),
            ("1Zi", None),
        ] {
            assert_eq!(parse_quantity(text), bytes, "{text}");
        }
    }

    #[test]
    fn bytes_are_quantities() {
        const GI: u64 = 1 << 30;
        let cases = [
            (0, "0"),
            (1, "1"),
            (1023, "1023"),
            (1024, "1Ki"),
            (1500, "1.5Ki"),
            (512 << 20, "512Mi"),
            (300 * GI, "300Gi"),
            (1536 * GI, "1.5Ti"),
            (GI + 1, "1.0Gi"),
            (GI - 1, "1.0Gi"),
            (1_000_000_000_000, "931.3Gi"),
            (u64::MAX, "16.0Ei"),
            (1 << 60, "1Ei"),
        ];
        for (bytes, expected) in cases {
            assert_eq!(format_bytes(bytes), expected, "{bytes}");
        }
    }

    #[test]
    fn equal_texts_share_one_allocation() {
        let mut interner = Interner::default();
        let first = interner.text("fast");
        let second = interner.text("fast");
        assert!(Arc::ptr_eq(&first, &second));
        assert_eq!(interner.non_empty(""), None);
    }

    #[test]
    fn shortened_text_is_one_line_cut_between_words() {
        for (text, limit, short) in [
            ("", 10, ""),
            ("in use", 10, "in use"),
            ("  in\n\tuse ", 10, "in use"),
            ("volume is in use, by node-1", 20, "volume is … node-1"),
            (
                "rpc error: code = Internal desc = no: Resource not found",
                40,
                "rpc error: code = … Resource not found",
            ),
            ("volume vol-0123456789abcdef is in use", 16, "volume … in use"),
            ("größer als möglich", 12, "größer…"),
            ("0123456789", 6, "01234…"),
            ("0123456789 0", 6, "01234…"),
        ] {
            assert_eq!(shorten(text, limit), short, "{text:?} {limit}");
        }
        let long = shorten(&"ü".repeat(1 << 20), 120);
        assert_eq!(long.chars().count(), 120);
        for limit in 4..40 {
            let line = shorten("failed to delete: rpc error: is in use by a snapshot", limit);
            assert!(line.chars().count() <= limit, "{limit}: {line}");
        }
        assert_eq!(beginning("größe", 3), "gr");
        assert_eq!(beginning("größe", 4), "grö");
        assert_eq!(beginning("a", 3), "a");
    }

    #[test]
    fn terminal_escapes_are_shown_not_obeyed() {
        assert_eq!(escape_control("a\u{1b}[2Jb\n"), "a\\u{1b}[2Jb\\n");
        assert_eq!(escape_control("\u{202e}gpj.exe"), "\\u{202e}gpj.exe");
        assert_eq!(escape_control("größe"), "größe");
    }
}
