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

/// Shortens a text to one line of at most `limit` characters, cut between words where it has any.
pub fn shorten(text: &str, limit: usize) -> String {
    let mut line = String::new();
    let mut length = 0;
    for word in text.split_whitespace() {
        let gap = usize::from(length > 0);
        let room = limit.saturating_sub(length + gap + 1);
        // Only as much is counted as could be shown: a word may have a megabyte.
        let taken = word.chars().take(room + 1).count();
        if taken > room {
            // A word that is most of the line is cut itself.
            if length < limit / 2 {
                line.push_str(if gap == 1 { " " } else { "" });
                line.extend(word.chars().take(room));
            }
            line.truncate(line.trim_end_matches([',', ';', ':', '.', ' ']).len());
            line.push('…');
            return line;
        }
        if gap == 1 {
            line.push(' ');
        }
        line.push_str(word);
        length += gap + taken;
    }
    line
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
            ("volume is in use, by node-1", 20, "volume is in use…"),
            ("volume vol-0123456789abcdef is in use", 16, "volume vol-0123…"),
            ("größer als möglich", 9, "größer…"),
            ("0123456789", 6, "01234…"),
        ] {
            assert_eq!(shorten(text, limit), short, "{text:?} {limit}");
        }
        let long = shorten(&"ü".repeat(1 << 20), 120);
        assert_eq!(long.chars().count(), 120);
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
