//! Lines of a bounded width, and their colours.

use std::borrow::Cow;

use anstyle::{Ansi256Color, AnsiColor, Style};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::model::{Severity, begins_command, escape_control, in_own_name};

/// Greatest length of a name that is printed: no object of a cluster has a longer one.
pub const LONGEST_NAME: usize = 400;

/// Red, one of the colours that read on black as on white: what a terminal calls yellow, green, cyan or dim does not.
const RED: Style = AnsiColor::Red.on_default();
const AMBER: Style = Ansi256Color(130).on_default();
const GREEN: Style = Ansi256Color(28).on_default();
const BLUE: Style = Ansi256Color(31).on_default();
const GREY: Style = Ansi256Color(243).on_default();

/// Painter of texts, which uses colours only where they are wanted.
#[derive(Debug, Clone, Copy)]
pub struct Paint {
    pub colour: bool,
}

impl Paint {
    /// Returns a severity in its colour, in a column of this width.
    pub fn severity(self, severity: Option<Severity>, width: usize) -> String {
        let Some(severity) = severity else { return " ".repeat(width) };
        let name = severity.name();
        format!("{}{:2$}", self.ranked(severity, name), "", width.saturating_sub(name.len()))
    }

    /// Returns a text in the colour of a severity.
    pub fn ranked(self, severity: Severity, text: &str) -> String {
        let style = match severity {
            Severity::Critical => RED.bold(),
            Severity::High => RED,
            Severity::Medium => AMBER,
            Severity::Low => BLUE,
            Severity::Info => GREY,
        };
        self.styled(text, style)
    }

    /// Returns a text in bold, such as the id of a finding.
    pub fn strong(self, text: &str) -> String {
        self.styled(text, Style::new().bold())
    }

    /// Returns a text in the colour of what destroys data.
    pub fn alarm(self, text: &str) -> String {
        self.styled(text, RED)
    }

    /// Returns a text in the colour of what keeps data.
    pub fn kept(self, text: &str) -> String {
        self.styled(text, GREEN)
    }

    /// Returns a text in the colour of what is refused.
    pub fn refused(self, text: &str) -> String {
        self.styled(text, AMBER)
    }

    /// Returns the label of a line in its colour: an error, a next step, a verdict.
    pub fn label(self, label: &str) -> String {
        let style = match label.trim_end() {
            "Error:" => RED,
            "Next:" => GREEN,
            "Blocked:" | "Unknown:" => AMBER,
            _ => Style::new(),
        };
        let (word, gap) = label.split_at(label.trim_end().len());
        format!("{}{gap}", self.styled(word, style))
    }

    fn styled(self, text: &str, style: Style) -> String {
        match self.colour && !text.is_empty() {
            true => format!("{style}{text}{style:#}"),
            false => text.to_owned(),
        }
    }
}

/// Returns a cell of a table that people read: harmless, and with the name under which the program was called.
pub fn readable(text: &str) -> Cow<'_, str> {
    match escape_control(text) {
        Cow::Borrowed(text) => in_own_name(text),
        Cow::Owned(text) => Cow::Owned(in_own_name(&text).into_owned()),
    }
}

/// Returns the width of a column: that of its widest cell with a gap of two, and at least `least`.
pub fn column_width<'t>(least: usize, cells: impl Iterator<Item = &'t str>) -> usize {
    cells.map(|cell| cell.width() + 2).fold(least, usize::max)
}

/// Returns a cell, padded to its column.
pub fn cell(text: &str, width: usize) -> String {
    format!("{text}{:1$}", "", width.saturating_sub(text.width()))
}

/// Shortens a text to at most `limit` columns: its beginning and its end remain, since errors name
/// their innermost cause last.
pub fn bounded(text: &str, limit: usize) -> String {
    if text.len() <= limit || text.width() <= limit {
        return text.to_owned();
    }
    let end = limit / 3;
    let start = limit.saturating_sub(end + 1);
    let head = columns(text.chars(), start);
    let tail: Vec<char> = columns(text.chars().rev(), end);
    let mut short: String = head.into_iter().collect();
    short.push('…');
    short.extend(tail.into_iter().rev());
    short
}

/// Shortens a sentence to at most `limit` columns, between words where it has any.
pub fn shortened(text: &str, limit: usize) -> String {
    if text.len() <= limit || text.width() <= limit {
        return text.to_owned();
    }
    let mut short: String = columns(text.chars(), limit.saturating_sub(1)).into_iter().collect();
    if let Some(at) = short.rfind(' ').filter(|at| *at > short.len() / 2) {
        short.truncate(at);
    }
    short.truncate(short.trim_end_matches([',', ';', ':', '.', ' ']).len());
    short.push('…');
    short
}

/// Shortens what stands before, between and after the commands of an advice to at most `limit` columns
/// each: the commands stay whole.
pub fn shortened_beside_commands(advice: &str, limit: usize) -> String {
    let parts: Vec<&str> = advice.split('`').collect();
    let is_command = |(index, part): (usize, &&str)| index % 2 == 1 && part.starts_with("kubectl ");
    if !parts.iter().enumerate().any(is_command) {
        return shortened(advice, limit);
    }
    let part = |(index, part): (usize, &&str)| match is_command((index, part)) {
        true => (*part).to_owned(),
        false => shortened(part, limit),
    };
    parts.iter().enumerate().map(part).collect::<Vec<_>>().join("`")
}

/// Returns the first characters that have room in a number of columns.
fn columns(text: impl Iterator<Item = char>, limit: usize) -> Vec<char> {
    let mut used = 0;
    text.take_while(|c| {
        used += c.width().unwrap_or(0);
        used <= limit
    })
    .collect()
}

/// Breaks a text into lines of at most `width` columns: between words, but not in a quoted command
/// that has room on a line, and in a word that has none.
pub fn broken(text: &str, width: usize) -> Vec<String> {
    filled(text, width, true)
}

/// Breaks a text like `broken`, but never a word: names and flags are there to be copied.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    filled(text, width, false)
}

fn filled(text: &str, width: usize, breaks_words: bool) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for (word, is_command) in words(&in_own_name(text), width) {
        match lines.last_mut() {
            Some(line) if line.width() + 1 + word.width() <= width && !line.ends_with(GOES_ON) => {
                line.push(' ');
                line.push_str(&word);
                continue;
            }
            _ => {}
        }
        let mut rest = &*word;
        // What is cut in a command could not be copied.
        while breaks_words && !is_command && rest.width() > width {
            let head: String = columns(rest.chars(), width.max(2)).into_iter().collect();
            rest = &rest[head.len()..];
            lines.push(head);
        }
        lines.push(rest.to_owned());
    }
    lines
}

/// The end of a line of a command that goes on in the next one.
const GOES_ON: &str = " \\";

/// Returns the words of a text, and whether they are of a command; a command in backticks is one, or one for each line
/// that it takes.
fn words(text: &str, width: usize) -> Vec<(String, bool)> {
    let mut words: Vec<(String, bool)> = Vec::new();
    let mut command: Vec<&str> = Vec::new();
    let whole = |command: &mut Vec<&str>, words: &mut Vec<(String, bool)>| {
        let joined = command.join(" ");
        match joined.width() <= width {
            true => words.push((joined, true)),
            false if joined.split_once('`').is_some_and(|(_, it)| begins_command(it)) => {
                words.extend(command_lines(&joined, width).into_iter().map(|it| (it, true)));
            }
            // What a command prints is none.
            false => words.extend(command.iter().map(|it| ((*it).to_owned(), false))),
        }
        command.clear();
    };
    for word in text.split_whitespace() {
        let odd = word.matches('`').count() % 2 == 1;
        match (command.is_empty(), odd) {
            (true, false) => words.push((word.to_owned(), false)),
            (true, true) | (false, false) => command.push(word),
            (false, true) => {
                command.push(word);
                whole(&mut command, &mut words);
            }
        }
    }
    // A backtick that nothing closes begins no command.
    words.extend(command.into_iter().map(|it| (it.to_owned(), false)));
    words
}

/// Returns a test for a letter of a command, from its beginning on, where no quotes of a shell are around it.
pub(super) fn unquoted(wanted: char) -> impl FnMut(char) -> bool {
    let (mut is_quoted, mut is_escaped) = (false, false);
    move |letter| {
        is_quoted ^= letter == '\'' && !is_escaped;
        is_escaped = letter == '\\' && !is_quoted;
        letter == wanted && !is_quoted
    }
}

/// Breaks a command where a shell allows it, so that it can be copied as it stands.
pub fn command_lines(command: &str, width: usize) -> Vec<String> {
    let command = &*in_own_name(command);
    if command.width() <= width {
        return vec![command.to_owned()];
    }
    let mut lines: Vec<String> = Vec::new();
    // Within quotes, the sign that the line goes on would be part of the text.
    for word in command.split(unquoted(' ')) {
        match lines.last_mut() {
            // Two columns for the sign that the line goes on.
            Some(line) if line.width() + 1 + word.width() + 2 <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    let last = lines.len() - 1;
    for line in &mut lines[..last] {
        line.push_str(GOES_ON);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_keep_beginning_and_end() {
        assert_eq!(bounded("short", 5), "short");
        assert_eq!(bounded("0123456789", 7), "0123…89");
        let long = bounded(&"ü".repeat(64 << 10), 69);
        assert_eq!(long.width(), 69);
        assert_eq!(bounded(&"木".repeat(50), 9).width(), 7);
        assert_eq!(bounded("größer", 6), "größer");
    }

    #[test]
    fn sentences_end_at_a_word() {
        assert_eq!(shortened("as it is", 8), "as it is");
        assert_eq!(shortened("the node, which is gone", 14), "the node…");
        assert_eq!(shortened("0123456789", 5), "0123…");
    }

    #[test]
    fn a_command_is_broken_outside_of_quotes() {
        let command = r"kubectl get --kubeconfig 'it'\''s a file' -n a";
        let lines = command_lines(command, 30);
        assert!(lines.iter().any(|it| it.contains(r"'it'\''s a file'")), "{lines:?}");
    }

    #[test]
    fn no_line_is_too_wide() {
        for text in ["a b c", &"x".repeat(1000), &format!("y {} z", "木".repeat(99)), ""] {
            for width in [2, 7, 40] {
                let lines = broken(text, width);
                assert!(lines.iter().all(|it| it.width() <= width), "{width}: {lines:?}");
                let said: String = lines.concat().replace(' ', "");
                assert_eq!(said, text.replace(' ', ""), "nothing is lost");
            }
        }
    }

    #[test]
    fn quoted_commands_stay_whole() {
        let text = "run `kubectl get pv x`: it `shows` more, `never closed at all";
        assert_eq!(
            broken(text, 20),
            ["run", "`kubectl get pv x`:", "it `shows` more,", "`never closed at all"]
        );
        assert_eq!(broken("it prints `one two three`", 12), ["it prints", "`one two", "three`"]);
        assert_eq!(broken("a longer-word here", 8), ["a", "longer-w", "ord here"]);
        assert_eq!(wrapped("a longer-word here", 8), ["a", "longer-word", "here"]);
        let text = "run `kubectl get pv one` then";
        assert_eq!(broken(text, 16), ["run", "`kubectl get \\", "pv one` then"]);
    }

    #[test]
    fn commands_break_as_a_shell_reads_them() {
        assert_eq!(command_lines("a b", 10), ["a b"]);
        assert_eq!(
            command_lines("gc pv/name --older-than 7d", 14),
            ["gc pv/name \\", "--older-than \\", "7d"]
        );
        assert_eq!(command_lines("longer-than-that", 4), ["longer-than-that"]);
        assert_eq!(
            command_lines("get pv -o 'a b c' x", 8),
            ["get pv \\", "-o \\", "'a b c' \\", "x"]
        );
    }

    #[test]
    fn colours_only_where_they_are_wanted() {
        let [with, without] = [true, false].map(|colour| Paint { colour });
        assert_eq!(without.severity(Some(Severity::Low), 5), "low  ");
        assert_eq!(without.label("Next:  "), "Next:  ");
        assert!(with.severity(Some(Severity::Critical), 10).starts_with('\u{1b}'));
        assert!(
            with.severity(Some(Severity::Critical), 10).ends_with("  "),
            "the gap has no colour"
        );
        assert_eq!(with.label("Cause:"), "Cause:");
    }

    /// By the formula of WCAG 2, for the colours that every terminal shows alike.
    #[test]
    fn colours_read_on_black_and_on_white() {
        let light = |part: u8| {
            let part = f64::from(part) / 255.0;
            if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        };
        // The cube of 216 colours, and the greys after it.
        let parts = |index: u8| match index {
            232.. => [8 + 10 * (index - 232); 3],
            _ => [36, 6, 1]
                .map(|step| [0, 95, 135, 175, 215, 255][usize::from((index - 16) / step % 6)]),
        };
        for style in [AMBER, GREEN, BLUE, GREY] {
            let Some(anstyle::Color::Ansi256(Ansi256Color(index))) = style.get_fg_color() else {
                panic!("{style:?} differs from terminal to terminal");
            };
            let [red, green, blue] = parts(index).map(light);
            let luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
            let (on_white, on_black) = (1.05 / (luminance + 0.05), (luminance + 0.05) / 0.05);
            assert!(on_white > 4.0 && on_black > 4.0, "{index}: {on_white:.1}, {on_black:.1}");
        }
    }

    #[test]
    fn columns_never_touch() {
        let width = column_width(7, ["3d", "1234567890123"].into_iter());
        assert_eq!(cell("1234567890123", width), "1234567890123  ");
        assert_eq!(cell("木", 7), "木     ");
        assert_eq!(column_width(7, ["3d"].into_iter()), 7);
    }
}
