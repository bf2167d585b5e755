//! kubectl's JSONPath templates: `-o jsonpath=…`, and the paths of `--sort-by` and `-o custom-columns=…`.
//!
//! The dialect looks like RFC 9535 and is another language: `.items` without `$`, `$` that means `@`, `a\.b`, `{range}…{end}`,
//! `['metadata.name','spec']` naming two paths, slices and indexes that fail out of bounds, comparisons that fail between types.
//! An RFC engine agrees with it on chains of plain fields only, and where it differs it is silent. So paths are evaluated here,
//! by one set of rules, compared one by one with `kubectl get`.
//!
//! Where kubectl 1.32 prints something that nobody can have meant, this is stricter or kinder, never different in a result that was right:
//! an empty list among several does not end `[*]` early, an index out of bounds does not count as existing in `[?(…)]`, integers compare with
//! fractions, a comma or bracket inside a quoted key belongs to the key; words, empty names, `[]` and a stray `{end}` are refused when
//! parsed, and `"\\"` ends where it should.

mod eval;
mod lexeme;
mod parse;
mod print;

#[cfg(test)]
mod tests;

use std::io;

use serde_json::Value;
use thiserror::Error;

pub(super) use print::go_text;

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

/// Says where a template stops making sense, and why.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("invalid jsonpath at character {at}: {problem}")]
pub struct TemplateError {
    /// The character, counted from 1.
    pub at: usize,
    /// What is wrong there.
    pub problem: TemplateProblem,
}

/// What can be wrong with a template.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum TemplateProblem {
    /// `{` without `}`.
    #[error("unclosed action, expected `}}`")]
    UnclosedAction,
    /// `[` without `]`.
    #[error("unterminated array, expected `]`")]
    UnclosedArray,
    /// `[?(` without `)]`.
    #[error("unterminated filter, expected `)]`")]
    UnclosedFilter,
    /// A quote without its partner.
    #[error("unterminated quoted string")]
    UnclosedQuote,
    /// `{end}` with nothing to end.
    #[error("not in range, nothing to end")]
    NothingToEnd,
    /// A character that begins nothing.
    #[error("unrecognized character `{0}`")]
    Character(char),
    /// A word that is neither a keyword nor a field, which would begin with a dot.
    #[error("unrecognized identifier `{0}`, fields begin with a dot")]
    Word(String),
    /// A dot or a pair of quotes with no name.
    #[error("field name is missing")]
    NoName,
    /// Neither an index, a slice, a key in single quotes nor a filter.
    #[error("invalid array index `{0}`")]
    Index(String),
    /// `["key"]`, which kubectl knows with single quotes only.
    #[error("keys are quoted with single quotes, as in ['key']")]
    DoubleQuotedKey,
    /// A step that would never arrive.
    #[error("step must be > 0")]
    ZeroStep,
    /// Digits that are no number.
    #[error("cannot parse number `{0}`")]
    Number(String),
    /// A backslash before something that cannot be escaped.
    #[error("invalid escape in quoted string")]
    Escape,
    /// `....`.
    #[error("invalid multiple recursive descent")]
    DoubleDescent,
    /// An operator that no filter knows.
    #[error("unrecognized filter operator `{0}`")]
    Operator(String),
    /// `=~`, which kubectl lacks as well.
    #[error("regular expressions are not supported, `=~` cannot be used")]
    Regex,
    /// A comparison with nothing.
    #[error("comparison has no right side")]
    NoOperand,
    /// `&&` and `||`, which kubectl lacks as well.
    #[error("a filter holds one comparison, `&&` and `||` are not supported")]
    Logic,
    /// Filters within filters within filters.
    #[error("filters are nested too deeply")]
    TooDeep,
    /// Braces where one path was expected.
    #[error(
        "unexpected path string, expected a 'name1.name2' or '.name1.name2' or '{{name1.name2}}' or '{{.name1.name2}}'"
    )]
    NotOnePath,
}

/// Says why a template could not be applied to an object.
#[derive(Debug, Error)]
pub enum RenderError {
    /// The output failed.
    #[error("failed to write")]
    Io(#[from] io::Error),
    /// An index, slice or filter met something else than a list.
    #[error("{found} is not an array")]
    NotAnArray {
        /// What it met.
        found: &'static str,
    },
    /// An index or the end of a slice lies outside the list.
    #[error("array index out of bounds: index {index}, length {length}")]
    OutOfBounds {
        /// As it was written.
        index: i64,
        /// How long the list is.
        length: usize,
    },
    /// A slice ends before it begins.
    #[error("starting index {from} is greater than ending index {to}")]
    Reversed {
        /// Its begin.
        from: i64,
        /// Its end.
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
        each(&self.nodes, value, &mut |results| print::as_text(results, out))
    }

    /// Writes what `-o jsonpath-as-json=` prints of a value: the results of each expression as one list.
    pub fn render_json(&self, value: &Value, out: &mut dyn io::Write) -> Result<(), RenderError> {
        each(&self.nodes, value, &mut |results| print::as_json(results, out))
    }
}

impl JsonPath {
    /// Parses one path, with or without its first dot and its braces.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        parse::path(text)
    }

    /// Returns what the path leads to: nothing, where a field is missing.
    pub fn find<'a>(&'a self, value: &'a Value) -> Result<Vec<&'a Value>, RenderError> {
        eval::find(self, vec![value])
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
