//! Templates in kubectl's JSONPath: `-o jsonpath=…`, and the paths of `--sort-by` and `-o custom-columns=…`.
//!
//! The dialect looks like RFC 9535 and is another language: `.items` without `$`, `$` that means `@`, `a\.b`, `{range}…{end}`,
//! `['metadata.name','spec']` naming two paths, slices and indexes that fail out of bounds, comparisons that fail between types.
//! An RFC engine agrees with it on chains of plain fields only, and where it differs it is silent. So paths are evaluated here,
//! by one set of rules, compared one by one with `kubectl get`.
//!
//! Where kubectl 1.32 prints something that no user can have meant, this is stricter or kinder, never different in a result that was right:
//! an empty list among several does not end `[*]` early, an index out of bounds does not count as existing in `[?(…)]`, integers compare with
//! fractions, a comma or bracket inside a quoted key belongs to the key; words, empty names, `[]` and a stray `{end}` are refused when
//! parsed, and `"\\"` ends where it should.

mod parse;

use std::{cmp::Ordering, io};

use serde::Serialize;
use serde_json::{Number, Value, ser::PrettyFormatter};
use thiserror::Error;

/// A parsed template: text, expressions in braces and ranges.
#[derive(Debug, Clone, PartialEq)]
pub struct Template {
    nodes: Vec<TemplatePart>,
}

/// One path without braces, as `--sort-by` and custom columns take it: `.metadata.name`, `metadata.name` or `{.metadata.name}`.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonPath {
    steps: Vec<PathStep>,
}

/// Error in a template, with its position.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("invalid jsonpath at character {at}: {problem}")]
pub struct TemplateError {
    /// The position in characters, counted from 1.
    pub at: usize,
    /// The problem at that position.
    pub problem: TemplateProblem,
}

/// Problem of a template.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum TemplateProblem {
    /// A `{` has no `}`.
    #[error("unclosed action, expected `}}`")]
    UnclosedAction,
    /// A `[` has no `]`.
    #[error("unterminated array, expected `]`")]
    UnclosedArray,
    /// A `[?(` has no `)]`.
    #[error("unterminated filter, expected `)]`")]
    UnclosedFilter,
    /// A quote has no partner.
    #[error("unterminated quoted string")]
    UnclosedQuote,
    /// An `{end}` has nothing to end.
    #[error("not in range, nothing to end")]
    NothingToEnd,
    /// A character that begins nothing.
    #[error("unrecognized character `{0}`")]
    Character(char),
    /// A word that is neither a keyword nor a field, which would begin with a dot.
    #[error("unrecognized identifier `{0}`, fields begin with a dot")]
    Word(String),
    /// A dot or a pair of quotes has no name.
    #[error("field name is missing")]
    NoName,
    /// An index is neither a number, a slice, a key in single quotes nor a filter.
    #[error("invalid array index `{0}`")]
    Index(String),
    /// A key is in double quotes (`["key"]`), while kubectl knows only single ones.
    #[error("keys are quoted with single quotes, as in ['key']")]
    DoubleQuotedKey,
    /// A slice has a step of zero, which would never arrive.
    #[error("step must be > 0")]
    ZeroStep,
    /// A number has digits that are no number.
    #[error("cannot parse number `{0}`")]
    Number(String),
    /// A backslash before something that cannot be escaped.
    #[error("invalid escape in quoted string")]
    Escape,
    /// Four dots: a descent within a descent.
    #[error("invalid multiple recursive descent")]
    DoubleDescent,
    /// An operator that no filter knows.
    #[error("unrecognized filter operator `{0}`")]
    Operator(String),
    /// The operator `=~`, which kubectl lacks as well.
    #[error("regular expressions are not supported, `=~` cannot be used")]
    Regex,
    /// A comparison has only one side.
    #[error("comparison has no right side")]
    NoOperand,
    /// The operators `&&` and `||`, which kubectl lacks as well.
    #[error("a filter holds one comparison, `&&` and `||` are not supported")]
    Logic,
    /// Filters are nested too deep.
    #[error("filters are nested too deeply")]
    TooDeep,
    /// Braces or text stand where one path was expected.
    #[error(
        "unexpected path string, expected a 'name1.name2' or '.name1.name2' or '{{name1.name2}}' or '{{.name1.name2}}'"
    )]
    NotOnePath,
}

/// Reason for which a template could not be applied to an object.
#[derive(Debug, Error)]
pub enum RenderError {
    /// Writing the output failed.
    #[error("failed to write")]
    Io(#[from] io::Error),
    /// An index, slice or filter met something else than a list.
    #[error("{found} is not an array")]
    NotAnArray {
        /// Type of the value that it met.
        found: &'static str,
    },
    /// An index or the end of a slice lies outside the list.
    #[error("array index out of bounds: index {index}, length {length}")]
    OutOfBounds {
        /// The index, as it was written.
        index: i64,
        /// Length of the list.
        length: usize,
    },
    /// A slice ends before it begins.
    #[error("starting index {from} is greater than ending index {to}")]
    Reversed {
        /// Begin of the slice.
        from: i64,
        /// End of the slice.
        to: i64,
    },
    /// The sides of a comparison are of different types, or of types that do not compare so.
    #[error("cannot compare {left} with {right}")]
    Incomparable {
        /// Type of the left side.
        left: &'static str,
        /// Type of the right side.
        right: &'static str,
    },
    /// One side of a comparison has several values.
    #[error("can only compare one element at a time")]
    Ambiguous,
}

#[derive(Debug, Clone, PartialEq)]
enum TemplatePart {
    Text(Value),
    Print(JsonPath),
    Range { over: JsonPath, body: Vec<TemplatePart> },
}

#[derive(Debug, Clone, PartialEq)]
enum PathStep {
    Key(String),
    Wildcard,
    Descend,
    Index(i64),
    Slice { from: Option<i64>, to: Option<i64>, step: usize },
    Union(Vec<JsonPath>),
    Filter { left: JsonPath, test: Option<(Operator, JsonPath)> },
    Literal(Value),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Template {
    /// Parses a template such as `{range .items[*]}{.metadata.name}{"\n"}{end}`.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        Ok(Self { nodes: parse::template(text)? })
    }

    /// Writes what `-o jsonpath=` prints of a value: no newline is added, and what is missing prints nothing, as in `kubectl get`.
    pub fn render(&self, value: &Value, out: &mut dyn io::Write) -> Result<(), RenderError> {
        each(&self.nodes, value, &mut |results| as_text(results, out))
    }

    /// Writes what `-o jsonpath-as-json=` prints of a value: the results of each expression as one list.
    pub fn render_json(&self, value: &Value, out: &mut dyn io::Write) -> Result<(), RenderError> {
        each(&self.nodes, value, &mut |results| as_json(results, out))
    }
}

impl JsonPath {
    /// Parses one path, with or without its first dot and its braces.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        parse::path(text)
    }

    /// Returns the named fields of the path, each behind a dot, up to the first wildcard, descent, union or literal.
    pub fn fields(&self) -> Vec<String> {
        let mut fields = Vec::new();
        for step in &self.steps {
            match step {
                PathStep::Key(name) => fields.push(format!(".{name}")),
                PathStep::Index(_) | PathStep::Slice { .. } | PathStep::Filter { .. } => {}
                PathStep::Wildcard
                | PathStep::Descend
                | PathStep::Union(_)
                | PathStep::Literal(_) => {
                    break;
                }
            }
        }
        fields
    }

    /// Returns the values to which the path leads: none, where a field is missing.
    pub fn find<'a>(&'a self, value: &'a Value) -> Result<Vec<&'a Value>, RenderError> {
        find(self, vec![value])
    }
}

/// Calls `print` with the results of every piece of text and every expression, in order.
fn each(
    nodes: &[TemplatePart],
    value: &Value,
    print: &mut dyn FnMut(&[&Value]) -> Result<(), RenderError>,
) -> Result<(), RenderError> {
    for node in nodes {
        match node {
            TemplatePart::Text(text) => print(&[text])?,
            TemplatePart::Print(path) => print(&path.find(value)?)?,
            TemplatePart::Range { over, body } => {
                for item in over.find(value)? {
                    each(body, item, print)?;
                }
            }
        }
    }
    Ok(())
}

/// Returns the values to which a path leads from each of the given values.
fn find<'a>(path: &'a JsonPath, from: Vec<&'a Value>) -> Result<Vec<&'a Value>, RenderError> {
    let mut values = from;
    for step in &path.steps {
        values = follow(step, values)?;
    }
    Ok(values)
}

fn follow<'a>(step: &'a PathStep, values: Vec<&'a Value>) -> Result<Vec<&'a Value>, RenderError> {
    let mut found = Vec::new();
    match step {
        PathStep::Key(name) => {
            found.extend(values.into_iter().filter_map(|value| value.as_object()?.get(name)));
        }
        PathStep::Wildcard => values.into_iter().for_each(|value| found.extend(children(value))),
        PathStep::Descend => values.into_iter().for_each(|value| descend(value, &mut found)),
        PathStep::Index(index) => {
            for list in lists(values) {
                found.push(pick(list?, *index)?);
            }
        }
        PathStep::Slice { from, to, step } => {
            for list in lists(values) {
                found.extend(cut(list?, *from, *to)?.iter().step_by(*step));
            }
        }
        PathStep::Union(paths) => {
            for path in paths {
                found.extend(find(path, values.clone())?);
            }
        }
        PathStep::Filter { left, test } => {
            for list in lists(values) {
                for item in list? {
                    if passes(item, left, test.as_ref())? {
                        found.push(item);
                    }
                }
            }
        }
        // Text stands for itself once; a number stands for every value, which is how kubectl has it.
        PathStep::Literal(text @ Value::String(_)) => found.push(text),
        PathStep::Literal(number) => found.extend(values.iter().map(|_| number)),
    }
    Ok(found)
}

/// Yields the lists among values. A null is a list that Go never filled, and is passed over.
fn lists(values: Vec<&Value>) -> impl Iterator<Item = Result<&[Value], RenderError>> {
    values.into_iter().filter(|value| !value.is_null()).map(|value| match value {
        Value::Array(items) => Ok(items.as_slice()),
        other => Err(RenderError::NotAnArray { found: type_of(other) }),
    })
}

fn children(value: &Value) -> Box<dyn Iterator<Item = &Value> + '_> {
    match value {
        Value::Array(items) => Box::new(items.iter()),
        Value::Object(fields) => Box::new(fields.values()),
        _ => Box::new(std::iter::empty()),
    }
}

/// Collects a value and all beneath it, parents first. Empty things, numbers and the like are left out, as kubectl
/// leaves them out.
fn descend<'a>(value: &'a Value, found: &mut Vec<&'a Value>) {
    let something = match value {
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::String(text) => !text.is_empty(),
        _ => false,
    };
    if something {
        found.push(value);
        children(value).for_each(|child| descend(child, found));
    }
}

fn pick(list: &[Value], index: i64) -> Result<&Value, RenderError> {
    let at = from_end(list, index);
    let item = usize::try_from(at).ok().and_then(|at| list.get(at));
    item.ok_or(RenderError::OutOfBounds { index, length: list.len() })
}

fn cut(list: &[Value], from: Option<i64>, to: Option<i64>) -> Result<&[Value], RenderError> {
    let begin = from_end(list, from.unwrap_or(0));
    let end = to.map_or_else(|| from_end_of(list), |to| from_end(list, to));
    // Nothing asked for is nothing wanted, wherever it lies.
    if begin == end {
        return Ok(&[]);
    }
    let outside = |index| RenderError::OutOfBounds { index, length: list.len() };
    let inside = |place, longest| usize::try_from(place).ok().filter(|place| *place <= longest);
    let first =
        inside(begin, list.len().saturating_sub(1)).ok_or_else(|| outside(from.unwrap_or(0)))?;
    let beyond =
        inside(end, list.len()).ok_or_else(|| outside(to.unwrap_or(0).saturating_sub(1)))?;
    list.get(first..beyond).ok_or(RenderError::Reversed { from: begin, to: end })
}

fn from_end(list: &[Value], index: i64) -> i64 {
    if index < 0 { from_end_of(list).saturating_add(index) } else { index }
}

fn from_end_of(list: &[Value]) -> i64 {
    i64::try_from(list.len()).unwrap_or(i64::MAX)
}

fn passes(
    item: &Value,
    left: &JsonPath,
    test: Option<&(Operator, JsonPath)>,
) -> Result<bool, RenderError> {
    let Some((operator, right)) = test else {
        // What cannot be reached does not exist.
        return Ok(find(left, vec![item]).is_ok_and(|found| !found.is_empty()));
    };
    let (Some(left), Some(right)) = (single(left, item)?, single(right, item)?) else {
        return Ok(false);
    };
    compare(left, *operator, right)
}

fn single<'a>(path: &'a JsonPath, item: &'a Value) -> Result<Option<&'a Value>, RenderError> {
    match find(path, vec![item])?.as_slice() {
        [] => Ok(None),
        [only] => Ok(Some(only)),
        _ => Err(RenderError::Ambiguous),
    }
}

fn compare(left: &Value, operator: Operator, right: &Value) -> Result<bool, RenderError> {
    let incomparable = || RenderError::Incomparable { left: type_of(left), right: type_of(right) };
    let order = match (left, right) {
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Number(left), Value::Number(right)) => {
            compare_numbers(left, right).ok_or_else(incomparable)?
        }
        (Value::Bool(left), Value::Bool(right))
            if matches!(operator, Operator::Equal | Operator::NotEqual) =>
        {
            left.cmp(right)
        }
        _ => return Err(incomparable()),
    };
    Ok(match operator {
        Operator::Equal => order == Ordering::Equal,
        Operator::NotEqual => order != Ordering::Equal,
        Operator::Less => order == Ordering::Less,
        Operator::LessOrEqual => order != Ordering::Greater,
        Operator::Greater => order == Ordering::Greater,
        Operator::GreaterOrEqual => order != Ordering::Less,
    })
}

/// Compares byte counts exactly: a fraction cannot hold all of them.
fn compare_numbers(left: &Number, right: &Number) -> Option<Ordering> {
    let whole = |number: &Number| {
        number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
    };
    match (whole(left), whole(right)) {
        (Some(left), Some(right)) => Some(left.cmp(&right)),
        _ => left.as_f64()?.partial_cmp(&right.as_f64()?),
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// Writes results side by side: scalars as they are, lists and objects as compact JSON.
fn as_text(results: &[&Value], out: &mut dyn io::Write) -> Result<(), RenderError> {
    for (place, result) in results.iter().enumerate() {
        if place > 0 {
            out.write_all(b" ")?;
        }
        match result {
            Value::String(text) => out.write_all(text.as_bytes())?,
            Value::Number(number) => out.write_all(go_number(number).as_bytes())?,
            other => serde_json::to_writer(&mut *out, other).map_err(io::Error::from)?,
        }
    }
    Ok(())
}

/// Writes results as one indented list.
fn as_json(results: &[&Value], out: &mut dyn io::Write) -> Result<(), RenderError> {
    let mut serializer =
        serde_json::Serializer::with_formatter(&mut *out, PrettyFormatter::with_indent(b"    "));
    results.serialize(&mut serializer).map_err(io::Error::from)?;
    out.write_all(b"\n")?;
    Ok(())
}

/// Returns a value as Go's `%v` shows it, which is what kubectl puts into a custom column.
pub(super) fn go_text(value: &Value) -> String {
    let spaced = |parts: Vec<String>| parts.join(" ");
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::Bool(truth) => truth.to_string(),
        Value::Number(number) => go_number(number),
        Value::String(text) => text.clone(),
        Value::Array(items) => format!("[{}]", spaced(items.iter().map(go_text).collect())),
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| *name);
            let shown =
                fields.into_iter().map(|(name, value)| format!("{name}:{}", go_text(value)));
            format!("map[{}]", spaced(shown.collect()))
        }
    }
}

/// Returns a number as Go prints it: integers plainly, very large or small fractions with an exponent of two digits.
fn go_number(number: &Number) -> String {
    let Some(fraction) = number.as_f64().filter(|_| number.is_f64()) else {
        return number.to_string();
    };
    let scientific = format!("{fraction:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    match exponent.parse::<i32>() {
        Ok(exponent) if !(-4..6).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.abs())
        }
        _ => fraction.to_string(),
    }
}

#[cfg(test)]
mod tests;
