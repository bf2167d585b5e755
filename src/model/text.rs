//! Shared text: one copy of each repeated string and label set, and escaping for terminals.

use std::sync::Arc;

use hashbrown::HashSet;

/// Text that many rows share: namespaces, classes, drivers, managers, finalizers.
pub type Text = Arc<str>;

/// Keeps one copy of each repeated text and label set.
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
        taken += counted(word, room) + 1;
        if taken > room * 3 / 5 + 1 {
            break;
        }
        head.push(word);
    }
    room = room.saturating_sub(head.iter().map(|word| word.chars().count() + 1).sum());
    for word in text.split_whitespace().rev() {
        let length = counted(word, room) + 1;
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
        length += gap + counted(word, limit);
        if length > limit {
            return None;
        }
        line.push_str(if gap == 1 { " " } else { "" });
        line.push_str(word);
    }
    Some(line)
}

/// Returns how many characters a word has, at most one more than `limit`: it may have a megabyte.
fn counted(word: &str, limit: usize) -> usize {
    word.chars().take(limit + 1).count()
}

#[cfg(test)]
mod tests {
    use super::*;

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
