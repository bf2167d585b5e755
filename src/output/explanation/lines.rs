//! Lines under labels, no wider than a terminal: the label once, what follows under its text.

use std::io::{self, Write};

use unicode_width::UnicodeWidthStr as _;

use crate::model::{Severity, begins_command, escape_control, in_own_name, shorten};
use crate::output::lines::{Paint, readable, wrapped};

/// Largest number of characters of a text from the cluster that is shown; the whole is in `-o json`.
const LONGEST: usize = 600;
/// Least width of the text beside a label, however narrow the terminal.
const NARROWEST: usize = 30;

/// Writer of labelled lines.
pub(super) struct LabelledLines<'a> {
    out: &'a mut dyn Write,
    width: usize,
    paint: Paint,
}

/// The position of labels, and their width with the space after them.
#[derive(Debug, Clone, Copy)]
pub(super) struct LabelColumn {
    pub(super) indent: usize,
    pub(super) width: usize,
}

/// The column of labels that are about the object as a whole.
pub(super) const BOTTOM: LabelColumn = LabelColumn { indent: 0, width: 12 };

impl<'a> LabelledLines<'a> {
    pub(super) fn new(out: &'a mut dyn Write, width: usize, paint: Paint) -> Self {
        Self { out, width, paint }
    }

    /// Writes an empty line.
    pub(super) fn gap(&mut self) -> io::Result<()> {
        writeln!(self.out)
    }

    /// Writes text at an indent.
    pub(super) fn text(&mut self, indent: usize, text: &str) -> io::Result<()> {
        self.labelled(LabelColumn { indent, width: 0 }, "", text)
    }

    /// Writes text behind a label; further lines stand under the text.
    pub(super) fn labelled(
        &mut self,
        column: LabelColumn,
        label: &str,
        text: &str,
    ) -> io::Result<()> {
        self.write(column, label, text, 0)
    }

    /// Writes text behind a label; further lines stand so many columns behind its beginning.
    fn write(
        &mut self,
        column: LabelColumn,
        label: &str,
        text: &str,
        hanging: usize,
    ) -> io::Result<()> {
        let LabelColumn { indent, width } = column;
        let text = shown(text);
        // A long label has its text behind it, and further lines where those of others are.
        let label_width = label.width() + usize::from(label.width() >= width && width > 0);
        let first = label_width.max(width);
        let begin = width + hanging;
        let room = self.width.saturating_sub(indent + begin).max(NARROWEST);
        let lines = wrap_beside(&text, (room + begin).saturating_sub(first), room);
        let mut lines = lines.iter();
        let head = lines.next().map_or("", |line| &**line);
        let gap = first - label.width();
        let label = self.paint.label(label);
        writeln!(self.out, "{}", format!("{:indent$}{label}{:gap$}{head}", "", "").trim_end())?;
        for line in lines {
            writeln!(self.out, "{:indent$}{:begin$}{line}", "", "")?;
        }
        Ok(())
    }

    /// Writes text from the margin; further lines are indented.
    pub(super) fn hanging(&mut self, text: &str, hanging: usize) -> io::Result<()> {
        self.write(LabelColumn { indent: 0, width: 0 }, "", text, hanging)
    }

    /// Writes several texts behind one label, each on a line of its own. Where there are more than
    /// one, their further lines are indented.
    pub(super) fn list(
        &mut self,
        column: LabelColumn,
        label: &str,
        texts: impl IntoIterator<Item = String>,
    ) -> io::Result<()> {
        let mut texts = texts.into_iter().peekable();
        let mut label = label;
        let mut hanging = 0;
        while let Some(text) = texts.next() {
            if texts.peek().is_some() {
                hanging = 2;
            }
            self.write(column, label, &text, hanging)?;
            label = "";
        }
        Ok(())
    }

    /// Writes a command, which is never wrapped, and what it does: both behind the label if the
    /// command fits there, else each on a line of its own.
    pub(super) fn command(
        &mut self,
        column: LabelColumn,
        label: &str,
        command: &str,
        effect: &str,
    ) -> io::Result<()> {
        let LabelColumn { indent, width } = column;
        let shown = readable(command);
        if indent + width + shown.width() <= self.width {
            let gap = width.saturating_sub(label.width());
            let label = self.paint.label(label);
            writeln!(self.out, "{:indent$}{label}{:gap$}{shown}", "", "")?;
            return self.labelled(column, "", effect);
        }
        // Without a label, it ends the sentence above.
        if !label.is_empty() {
            self.labelled(column, label, effect)?;
        }
        writeln!(self.out, "{:indent$}  {shown}", "")?;
        if label.is_empty() { self.labelled(column, label, effect) } else { Ok(()) }
    }

    /// Writes advice. A command in it that is longer than a line stands whole on a line of its own.
    pub(super) fn advice(
        &mut self,
        column: LabelColumn,
        label: &str,
        text: &str,
    ) -> io::Result<()> {
        let room = self.width.saturating_sub(column.indent + column.width).max(NARROWEST);
        let mut label = label;
        let text = in_own_name(text);
        let mut rest = &*text;
        while let Some((before, command, after)) = long_command(rest, room) {
            self.labelled(column, label, before.trim_end())?;
            label = "";
            writeln!(
                self.out,
                "{:indent$}  {}",
                "",
                escape_control(command),
                indent = column.indent
            )?;
            // What a sentence goes on with.
            rest = after.trim_start_matches([',', ';', '.', ' ']);
        }
        match rest {
            "" if label.is_empty() => Ok(()),
            rest => self.labelled(column, label, rest),
        }
    }

    /// Writes the line that begins a finding.
    pub(super) fn finding(&mut self, severity: &str, id: &str, verdict: &str) -> io::Result<()> {
        let known = Severity::parse(severity);
        let severity = known.map(|it| self.paint.severity(Some(it), 0));
        let (severity, id) = (severity.unwrap_or_default(), self.paint.strong(id));
        writeln!(self.out, "{severity} {id} ({verdict})")
    }

    /// Writes the object and its state: in one line, if they fit.
    pub(super) fn head(&mut self, object: &str, status: &str) -> io::Result<()> {
        let (object, status) = (escape_control(object), shown(status));
        if status.is_empty() {
            return writeln!(self.out, "{object}");
        }
        if object.width() + 2 + status.width() <= self.width {
            return writeln!(self.out, "{object}  {status}");
        }
        writeln!(self.out, "{object}")?;
        self.text(2, &status)
    }
}

/// Makes text from the cluster harmless, and shortens it.
fn shown(text: &str) -> String {
    escape_control(&shorten(text, LONGEST)).into_owned()
}

/// The character around a command in a text.
const QUOTE: char = '`';

/// Returns the first command of a text that is longer than a line, with what stands before and after it.
fn long_command(text: &str, room: usize) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    while let Some(at) = text[from..].find(QUOTE).map(|it| from + it) {
        let begin = at + QUOTE.len_utf8();
        from = begin;
        if !begins_command(&text[begin..]) {
            continue;
        }
        let end = begin + text[begin..].find(QUOTE)?;
        from = end + QUOTE.len_utf8();
        if from - at > room {
            return Some((&text[..at], &text[begin..end], &text[from..]));
        }
    }
    None
}

/// Wraps text whose first line has other room than those under it.
fn wrap_beside(text: &str, first: usize, room: usize) -> Vec<String> {
    let mut lines = wrapped(text, first.max(NARROWEST));
    if first == room || lines.len() < 2 {
        return lines;
    }
    let rest = lines.split_off(1).join(" ");
    lines.extend(wrapped(&rest, room));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(width: usize, write: impl FnOnce(&mut LabelledLines) -> io::Result<()>) -> String {
        let mut out = Vec::new();
        let paint = Paint { colour: false };
        write(&mut LabelledLines::new(&mut out, width, paint))
            .expect("because memory does not fail");
        String::from_utf8(out).expect("because it is text")
    }

    const COLUMN: LabelColumn = LabelColumn { indent: 2, width: 8 };

    #[test]
    fn further_lines_stand_under_the_text() {
        let text = "one two three four five six seven eight nine ten";
        assert_eq!(
            written(40, |lines| lines.labelled(COLUMN, "Error:", text)),
            "  Error:  one two three four five six\n          seven eight nine ten\n"
        );
        assert_eq!(
            written(44, |lines| lines.labelled(COLUMN, "If it is deleted:", text)),
            "  If it is deleted: one two three four five six\n          seven eight nine ten\n"
        );
    }

    #[test]
    fn a_command_is_never_wrapped() {
        let command = "kubectl storage retain pv/pvc-0a1b2c3d-1277-4efe-9d2f-5a6b7c8d9e0f";
        let text = written(60, |lines| lines.command(COLUMN, "Next:", command, "keeps it"));
        assert_eq!(text, format!("  Next:   keeps it\n    {command}\n"));
        let text = written(80, |lines| lines.command(COLUMN, "Next:", command, "keeps it"));
        assert_eq!(text, format!("  Next:   {command}\n          keeps it\n"));
    }

    #[test]
    fn a_command_in_advice_is_never_wrapped() {
        let text =
            "remove it: `kubectl annotate pvc data -n shop some.example.com/annotation-` (or not)";
        assert_eq!(
            written(40, |lines| lines.advice(COLUMN, "Next:", text)),
            "  Next:   remove it:\n    kubectl annotate pvc data -n shop some.example.com/annotation-\n          (or not)\n"
        );
        let text = "one two three, then `kubectl get pv`, and look";
        assert_eq!(
            written(40, |lines| lines.advice(COLUMN, "Next:", text)),
            "  Next:   one two three, then\n          `kubectl get pv`, and look\n"
        );
        let text = "this ` is none, and `kubectl is not closed";
        assert_eq!(
            written(40, |lines| lines.advice(COLUMN, "Next:", text)),
            "  Next:   this ` is none, and `kubectl\n          is not closed\n"
        );
    }

    #[test]
    fn hostile_text_is_shortened_and_shown() {
        let text = format!("\u{1b}[2J\u{202e}{}", "x ".repeat(40_000));
        let text = written(80, |lines| lines.labelled(COLUMN, "Error:", &text));
        assert!(text.starts_with("  Error:  \\u{1b}[2J\\u{202e}x x"), "{text}");
        assert!(text.len() < 1000 && text.contains('…'), "{}", text.len());
        assert!(text.lines().all(|line| line.width() <= 80), "{text}");
    }

    #[test]
    fn the_state_stands_beside_the_object_where_it_fits() {
        assert_eq!(written(30, |lines| lines.head("pv/a", "Bound")), "pv/a  Bound\n");
        assert_eq!(
            written(30, |lines| lines.head("pv/a-very-long-name", "Terminating for 23h")),
            "pv/a-very-long-name\n  Terminating for 23h\n"
        );
    }
}
