//! Tables with kubectl's look: columns three spaces apart, no lines.
//!
//! A small table is laid out by comfy-table, which sees all of it. A large one is never held: its widths come from the first rows, the rest
//! is written as it arrives, and a cell that is wider than its column borrows from the space after it.

use std::{
    borrow::Cow,
    io::{self, Write},
};

use comfy_table::{ColumnConstraint::LowerBoundary, ContentArrangement, Width, presets};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::wire::{Age, ObjectReference};
use crate::model::{Kind, format_age};

/// Number of rows that are held to find the widths of the columns.
const SAMPLE: usize = 10_000;
/// Number of spaces between columns.
const GAP: u16 = 3;
/// kubectl's narrowest column, without the gap.
const NARROWEST: u16 = 3;
/// Least width to which the last column is wrapped: letters one under the other are unreadable.
const NARROWEST_WRAP: usize = 20;
/// Largest width of a row: comfy-table counts in sixteen bits and adds without looking.
const WIDEST: usize = 10_000;

/// Function that makes text from the cluster harmless to a terminal.
pub type Escape = for<'t> fn(&'t str) -> Cow<'t, str>;

/// Style of a table.
#[derive(Debug, Clone, Copy)]
pub struct TableStyle {
    /// Whether the line of headers is printed; `--no-headers` sets it to false.
    pub headers: bool,
    /// Width of the terminal, to which the last column is wrapped. `None` when there is no terminal: nothing is wrapped or cut.
    pub width: Option<u16>,
    /// The function that is applied to every cell.
    pub escape: Escape,
}

/// A table that is being printed, row by row.
#[must_use = "the last rows are printed by `finish`"]
pub struct TextTable<'o> {
    out: &'o mut dyn Write,
    headers: Vec<String>,
    look: TableStyle,
    state: TableState,
}

/// State of a table: all rows so far, or the place where each column begins.
enum TableState {
    Sampling(Vec<Vec<String>>),
    Streaming(Vec<usize>),
}

impl<'o> TextTable<'o> {
    /// Begins a table on this output. Nothing is printed yet.
    pub fn new(out: &'o mut dyn Write, headers: &[&str], look: TableStyle) -> Self {
        let headers = headers.iter().map(|header| (look.escape)(header).into_owned()).collect();
        Self { out, headers, look, state: TableState::Sampling(Vec::new()) }
    }

    /// Adds a row. Missing cells are empty, supernumerary ones are dropped.
    pub fn row(&mut self, cells: Vec<String>) -> io::Result<()> {
        let mut cells: Vec<_> = cells.into_iter().map(|cell| self.escaped(cell)).collect();
        cells.resize(self.headers.len(), String::new());
        match &mut self.state {
            TableState::Streaming(starts) => {
                return write_row(self.out, starts, &cells, self.look.width);
            }
            TableState::Sampling(rows) => rows.push(cells),
        }
        self.stream_if_large()
    }

    /// Prints the remaining rows. A table without rows is its headers.
    pub fn finish(mut self) -> io::Result<()> {
        match &mut self.state {
            TableState::Streaming(_) => Ok(()),
            TableState::Sampling(rows) => {
                let rows = std::mem::take(rows);
                self.lay_out(&rows)
            }
        }
    }

    fn escaped(&self, cell: String) -> String {
        match (self.look.escape)(&cell) {
            Cow::Borrowed(same) if same.len() == cell.len() => cell,
            other => other.into_owned(),
        }
    }

    fn shown_headers(&self) -> Option<&Vec<String>> {
        Some(&self.headers).filter(|_| self.look.headers)
    }

    fn stream_if_large(&mut self) -> io::Result<()> {
        let TableState::Sampling(rows) = &mut self.state else {
            return Ok(());
        };
        if rows.len() < SAMPLE {
            return Ok(());
        }
        let rows = std::mem::take(rows);
        let starts = starts(self.shown_headers().into_iter().chain(&rows), self.headers.len());
        self.write_rows(&starts, &rows)?;
        self.state = TableState::Streaming(starts);
        Ok(())
    }

    fn write_rows(&mut self, starts: &[usize], rows: &[Vec<String>]) -> io::Result<()> {
        let headers = Some(&self.headers).filter(|_| self.look.headers);
        headers
            .into_iter()
            .chain(rows)
            .try_for_each(|row| write_row(self.out, starts, row, self.look.width))
    }

    fn lay_out(mut self, rows: &[Vec<String>]) -> io::Result<()> {
        let starts = starts(self.shown_headers().into_iter().chain(rows), self.headers.len());
        if rows.iter().flatten().any(|cell| cell.width() > WIDEST) {
            return self.write_rows(&starts, rows);
        }
        let mut table = comfy_table::Table::new();
        table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        if let Some(headers) = self.shown_headers() {
            table.set_header(wrapped(headers, &starts, self.look.width));
        }
        table.add_rows(rows.iter().map(|row| wrapped(row, &starts, self.look.width)));
        for column in table.column_iter_mut() {
            column
                .set_padding((0, GAP))
                .set_constraint(LowerBoundary(Width::Fixed(NARROWEST + GAP)));
        }
        for line in table.lines() {
            writeln!(self.out, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// Returns the place at which each column begins.
fn starts<'r>(rows: impl Iterator<Item = &'r Vec<String>>, columns: usize) -> Vec<usize> {
    let mut widths = vec![usize::from(NARROWEST); columns];
    widen(&mut widths, rows);
    places(&widths)
}

/// Widens columns to their widest cells.
fn widen<'r>(widths: &mut [usize], rows: impl Iterator<Item = &'r Vec<String>>) {
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.width().max(*width);
        }
    }
}

/// Returns the place at which each column begins, by their widths.
fn places(widths: &[usize]) -> Vec<usize> {
    let ends = widths
        .iter()
        .scan(0, |at, width| Some(std::mem::replace(at, *at + width + usize::from(GAP))));
    ends.collect()
}

/// A table whose rows come over time, as those of `kubectl get -w`: columns become wider, and never
/// narrower again.
#[derive(Debug)]
pub struct GrowingTable {
    headers: Vec<String>,
    look: TableStyle,
    widths: Vec<usize>,
    begun: bool,
}

impl GrowingTable {
    /// Begins a table whose rows come later. Nothing is printed yet.
    pub fn new(headers: &[&str], look: TableStyle) -> Self {
        let headers: Vec<_> =
            headers.iter().map(|header| (look.escape)(header).into_owned()).collect();
        let widths = vec![usize::from(NARROWEST); headers.len()];
        Self { headers, look, widths, begun: false }
    }

    /// Prints rows, each with a cell for every column; above the first ones the headers.
    pub fn rows(&mut self, out: &mut dyn Write, rows: Vec<Vec<String>>) -> io::Result<()> {
        let escaped = |row: Vec<String>| {
            row.iter().map(|cell| (self.look.escape)(cell).into_owned()).collect()
        };
        let mut rows: Vec<Vec<String>> = rows.into_iter().map(escaped).collect();
        if !self.begun && self.look.headers && !rows.is_empty() {
            rows.insert(0, self.headers.clone());
        }
        self.begun |= !rows.is_empty();
        widen(&mut self.widths, rows.iter());
        let starts = places(&self.widths);
        rows.iter().try_for_each(|row| write_row(out, &starts, row, self.look.width))
    }
}

/// Writes a row at the places given; a cell too wide pushes the next one aside, which pushes only as far as it must.
fn write_row(
    out: &mut dyn Write,
    starts: &[usize],
    cells: &[String],
    width: Option<u16>,
) -> io::Result<()> {
    let Some((last, others)) = cells.split_last() else {
        return writeln!(out);
    };
    let mut line = String::new();
    let mut at = 0;
    let indent = |line: &mut String, count: usize| line.extend(std::iter::repeat_n(' ', count));
    for (start, cell) in starts.iter().zip(others) {
        let gap = start.saturating_sub(at).max(if at == 0 { 0 } else { usize::from(GAP) });
        indent(&mut line, gap);
        line.push_str(cell);
        at += gap + cell.width();
    }
    let start = starts.last().copied().unwrap_or(0);
    let gap = start.saturating_sub(at).max(if at == 0 { 0 } else { usize::from(GAP) });
    indent(&mut line, gap);
    for piece in wrap(last, room(start, width)) {
        line.push_str(piece);
        writeln!(out, "{}", line.trim_end())?;
        line.clear();
        indent(&mut line, start);
    }
    Ok(())
}

/// Returns the cells with line breaks where the last one must be wrapped.
fn wrapped(cells: &[String], starts: &[usize], width: Option<u16>) -> Vec<String> {
    let mut cells = cells.to_vec();
    if let (Some(last), Some(start)) = (cells.last_mut(), starts.last()) {
        *last = wrap(last, room(*start, width)).join("\n");
    }
    cells
}

/// Returns how wide the last column may be.
fn room(start: usize, width: Option<u16>) -> usize {
    width.map_or(usize::MAX, |width| usize::from(width).saturating_sub(start).max(NARROWEST_WRAP))
}

/// Breaks text at spaces, and words that are too long wherever they must be. There is at least one line.
fn wrap(text: &str, room: usize) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut rest = text;
    while rest.width() > room {
        let fits = fitting(rest, room);
        let line = match rest[..fits].rfind(' ') {
            _ if rest[fits..].starts_with(' ') => &rest[..fits],
            Some(space) if !rest[..space].trim().is_empty() => &rest[..space],
            _ => &rest[..fits],
        };
        lines.push(line.trim_end());
        rest = rest[line.len()..].trim_start_matches(' ');
    }
    if !rest.is_empty() || lines.is_empty() {
        lines.push(rest);
    }
    lines
}

/// Returns how many bytes fit into so many columns: at least one character, or there would be no end to it.
fn fitting(text: &str, room: usize) -> usize {
    let mut used = 0;
    let mut fits = 0;
    for (at, c) in text.char_indices() {
        used += c.width().unwrap_or(0);
        if used > room && at > 0 {
            return at;
        }
        fits = at + c.len_utf8();
    }
    fits
}

/// Returns the name that people use for an object.
pub fn short_name(object: &ObjectReference) -> String {
    let short = object.known_kind().map_or("", Kind::short);
    match &object.namespace {
        Some(namespace) => format!("{short}/{namespace}/{}", object.name),
        None => format!("{short}/{}", object.name),
    }
}

/// Returns the name of an object as kubectl's `-o name` has it.
pub fn resource_name(object: &ObjectReference) -> String {
    let group = object.api_version.rsplit_once('/').map_or("", |(group, _)| group);
    match group {
        "" => format!("{}/{}", object.kind.to_lowercase(), object.name),
        group => format!("{}.{group}/{}", object.kind.to_lowercase(), object.name),
    }
}

/// Returns an age in a column: empty where the finding has none, `unknown` where its beginning is not known.
pub fn age_cell(age: Option<&Age>, unknown: &str) -> String {
    let Some(age) = age else { return String::new() };
    match age.seconds {
        None => unknown.to_owned(),
        Some(seconds) if age.trust == "lower-bound" => format!(">{}", format_age(seconds)),
        Some(seconds) => format_age(seconds),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> Cow<'_, str> {
        Cow::Borrowed(text)
    }

    fn marked(text: &str) -> Cow<'_, str> {
        if text.contains('\x1b') { text.replace('\x1b', "\\x1b").into() } else { text.into() }
    }

    const LOOK: TableStyle = TableStyle { headers: true, width: None, escape: plain };

    fn print(headers: &[&str], rows: &[&[&str]], look: TableStyle) -> String {
        let mut out = Vec::new();
        let mut table = TextTable::new(&mut out, headers, look);
        for row in rows {
            table
                .row(row.iter().map(|&cell| cell.to_owned()).collect())
                .expect("because memory does not fail");
        }
        table.finish().expect("because memory does not fail");
        String::from_utf8(out).expect("because cells are text")
    }

    fn stream(headers: &[&str], rows: &[&[&str]], look: TableStyle) -> String {
        let lines = std::iter::once(headers).chain(rows.iter().copied());
        let cells: Vec<Vec<String>> =
            lines.map(|row| row.iter().map(|&cell| cell.to_owned()).collect()).collect();
        let starts = starts(cells.iter(), headers.len());
        let mut out = Vec::new();
        for row in &cells {
            write_row(&mut out, &starts, row, look.width).expect("because memory does not fail");
        }
        String::from_utf8(out).expect("because cells are text")
    }

    const ROWS: &[&[&str]] = &[
        &[
            "high",
            "pv/pvc-1",
            "the volume is released and nobody has asked for it in a very long time, so somebody should",
        ],
        &["low", "pv/データ", "short"],
        &["", "pv/é", ""],
        &[
            "low",
            "pv/x",
            "https://example.com/a/very/long/word/that/has/no/space/in/it/and/must/be/broken/somewhere",
        ],
    ];
    const HEADERS: &[&str] = &["S", "OBJECT", "WHAT"];

    #[test]
    fn looks_like_kubectl() {
        let table = print(HEADERS, &ROWS[1..3], LOOK);
        assert_eq!(table, "S     OBJECT      WHAT\nlow   pv/データ   short\n      pv/é\n");
    }

    #[test]
    fn narrow_columns_are_as_wide_as_in_kubectl() {
        assert_eq!(print(&["A", "B"], &[&["x", "y"]], LOOK), "A     B\nx     y\n");
    }

    #[test]
    fn small_and_large_tables_look_the_same() {
        for width in [None, Some(80), Some(40), Some(1)] {
            let look = TableStyle { width, ..LOOK };
            assert_eq!(print(HEADERS, ROWS, look), stream(HEADERS, ROWS, look), "at {width:?}");
        }
    }

    #[test]
    fn wraps_the_last_column_only_on_a_terminal() {
        assert!(print(HEADERS, ROWS, LOOK).lines().any(|line| line.len() > 100));
        let table = print(HEADERS, ROWS, TableStyle { width: Some(80), ..LOOK });
        assert!(table.lines().all(|line| line.width() <= 80), "{table}");
        assert!(table.contains("\n                   long time"), "{table}");
    }

    #[test]
    fn headers_can_be_left_out() {
        assert_eq!(
            print(HEADERS, &[&["a", "b", "c"]], TableStyle { headers: false, ..LOOK }),
            "a     b     c\n"
        );
        assert_eq!(print(HEADERS, &[], TableStyle { headers: false, ..LOOK }), "");
        assert_eq!(print(HEADERS, &[], LOOK), "S     OBJECT   WHAT\n");
    }

    #[test]
    fn rows_that_come_later_keep_to_the_columns() {
        let row = |cells: &[&str]| cells.iter().map(|&cell| cell.to_owned()).collect::<Vec<_>>();
        let mut table = GrowingTable::new(HEADERS, LOOK);
        let mut out = Vec::new();
        let mut print = |rows: &[&[&str]]| {
            let rows = rows.iter().map(|cells| row(cells)).collect();
            table.rows(&mut out, rows).expect("because memory does not fail");
        };
        print(&[]);
        print(&[&["high", "pv/a", "x"]]);
        print(&[&["low", "pv/b", "y"]]);
        print(&[&["low", "pv/longer", "z"], &["high", "pv/a", "x"]]);
        let text = String::from_utf8(out).expect("because cells are text");
        let expected = "S      OBJECT   WHAT\nhigh   pv/a     x\nlow    pv/b     y\n\
                        low    pv/longer   z\nhigh   pv/a        x\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn cells_are_escaped_and_rows_made_even() {
        let look = TableStyle { escape: marked, ..LOOK };
        assert_eq!(
            print(&["A", "B"], &[&["\x1b[31m"], &["a", "b", "c"]], look),
            "A          B\n\\x1b[31m\na          b\n"
        );
    }

    #[test]
    fn large_tables_keep_their_columns() {
        let mut out = Vec::new();
        let mut table = TextTable::new(&mut out, &["N", "NAME", "WHAT"], LOOK);
        for n in 0..SAMPLE + 5 {
            let name = if n == SAMPLE + 2 { "much-longer-than-all-before" } else { "pv" };
            table
                .row(vec![n.to_string(), name.to_owned(), "x".to_owned()])
                .expect("because memory does not fail");
            if n == SAMPLE {
                assert!(matches!(table.state, TableState::Streaming(_)), "still holds its rows");
            }
        }
        table.finish().expect("because memory does not fail");
        let text = String::from_utf8(out).expect("because cells are text");
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), SAMPLE + 6);
        assert_eq!(lines[0], "N      NAME   WHAT");
        assert_eq!(lines[1], "0      pv     x");
        assert_eq!(lines[SAMPLE + 1], "10000   pv    x");
        assert_eq!(lines[SAMPLE + 3], "10002   much-longer-than-all-before   x");
    }

    #[test]
    fn absurdly_wide_cells_do_no_harm() {
        let wide = "x".repeat(70_000);
        let table = print(&["A", "B"], &[&[&wide, "b"]], LOOK);
        assert!(table.ends_with("x   b\n"));
    }
}
