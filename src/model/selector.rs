//! Label selectors, as kubectl's `-l` takes them.
//!
//! The grammar is that of `labels.Parse` in k8s.io/apimachinery, so that a mistake is an error here exactly where it is one
//! of kubectl's.

use std::fmt;

use super::Labels;

/// A label selector.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selector {
    requirements: Vec<Requirement>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Requirement {
    key: String,
    test: Test,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Test {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    Absent,
    /// The value is an integer above this one.
    Above(i64),
    /// The value is an integer below this one.
    Below(i64),
    /// An operator that this version does not know: nothing matches.
    Unknown(String),
}

/// Reason for which a selector does not parse.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid selector at {requirement:?}: {problem}")]
pub struct SelectorError {
    /// The requirement, as it was typed.
    pub(super) requirement: String,
    /// The error in the requirement.
    pub(super) problem: String,
}

impl Selector {
    /// Parses kubectl's `-l`.
    ///
    /// # Errors
    /// When a requirement is malformed.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        let mut parser = Parser::new(text);
        let mut requirements = Vec::new();
        if parser.peek() == Token::End {
            return Ok(Self { requirements });
        }
        loop {
            let start = parser.position();
            let parsed = parser.requirement().and_then(|it| match parser.next() {
                Token::Comma => Ok((it, true)),
                Token::End => Ok((it, false)),
                other => Err(format!("found {other}, expected a comma or the end")),
            });
            match parsed {
                Ok((requirement, more)) => {
                    requirements.push(requirement);
                    if !more {
                        return Ok(Self { requirements });
                    }
                }
                Err(problem) => {
                    let requirement = first_outside_parentheses(&text[start..]).to_owned();
                    return Err(SelectorError { requirement, problem });
                }
            }
        }
    }

    /// Returns the selector of an object, which has all of these labels and matches all of these
    /// expressions.
    pub fn of<'a>(
        labels: impl IntoIterator<Item = (&'a str, &'a str)>,
        expressions: impl IntoIterator<Item = (&'a str, &'a str, &'a [String])>,
    ) -> Self {
        let has = |(key, value): (&str, &str)| Requirement {
            key: key.to_owned(),
            test: Test::In(vec![value.to_owned()]),
        };
        let matches = |(key, operator, values): (&str, &str, &[String])| Requirement {
            key: key.to_owned(),
            test: match operator {
                "In" => Test::In(values.to_vec()),
                "NotIn" => Test::NotIn(values.to_vec()),
                "Exists" => Test::Exists,
                "DoesNotExist" => Test::Absent,
                other => Test::Unknown(other.to_owned()),
            },
        };
        let labels = labels.into_iter().map(has);
        Self { requirements: labels.chain(expressions.into_iter().map(matches)).collect() }
    }

    /// Returns the first requirement that a present label does not satisfy, in words, with that label. A label that is
    /// absent contradicts nothing.
    pub fn contradicted_by<'l>(&self, labels: &'l Labels) -> Option<(&'l str, &'l str, String)> {
        self.requirements.iter().find_map(|it| {
            let (key, value) = labels.iter().find(|(key, _)| **key == *it.key)?;
            let only = Self { requirements: vec![it.clone()] };
            (!it.matches(labels)).then(|| (&**key, &**value, only.to_string()))
        })
    }

    /// Whether the selector selects everything.
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Whether the labels satisfy every requirement.
    pub fn matches(&self, labels: &Labels) -> bool {
        self.requirements.iter().all(|requirement| requirement.matches(labels))
    }
}

impl Requirement {
    fn matches(&self, labels: &Labels) -> bool {
        let value = labels.iter().find(|(key, _)| **key == *self.key).map(|(_, value)| &**value);
        let number = |value: &str| value.parse::<i64>().ok();
        match (&self.test, value) {
            (Test::In(values), Some(value)) => values.iter().any(|known| known == value),
            (Test::NotIn(values), Some(value)) => !values.iter().any(|known| known == value),
            (Test::Above(bound), Some(value)) => number(value).is_some_and(|it| it > *bound),
            (Test::Below(bound), Some(value)) => number(value).is_some_and(|it| it < *bound),
            (Test::Exists, Some(_)) | (Test::NotIn(_) | Test::Absent, None) => true,
            (Test::In(_) | Test::Exists | Test::Above(_) | Test::Below(_), None)
            | (Test::Absent, Some(_))
            | (Test::Unknown(_), _) => false,
        }
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Requirement { key, test }) in self.requirements.iter().enumerate() {
            f.write_str(if index == 0 { "" } else { "," })?;
            match test {
                Test::In(values) if values.len() == 1 => write!(f, "{key}={}", values[0]),
                Test::In(values) => write!(f, "{key} in ({})", values.join(",")),
                Test::NotIn(values) => write!(f, "{key} notin ({})", values.join(",")),
                Test::Exists => f.write_str(key),
                Test::Absent => write!(f, "!{key}"),
                Test::Above(bound) => write!(f, "{key}>{bound}"),
                Test::Below(bound) => write!(f, "{key}<{bound}"),
                Test::Unknown(operator) => write!(f, "{key} {operator}"),
            }?;
        }
        Ok(())
    }
}

/// Returns the first requirement of a text, without the comma behind it.
fn first_outside_parentheses(text: &str) -> &str {
    let mut depth = 0_i32;
    let end = text.find(|c: char| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == ',' && depth <= 0
    });
    text[..end.unwrap_or(text.len())].trim()
}

/// Token of a selector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token<'a> {
    /// A key, a value or an operator in letters.
    Word(&'a str),
    /// `=`, `==`, `!=`, `<` or `>`.
    Operator(&'a str),
    Not,
    Open,
    Close,
    Comma,
    End,
}

impl fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(text) | Self::Operator(text) => write!(f, "{text:?}"),
            Self::Not => f.write_str("\"!\""),
            Self::Open => f.write_str("\"(\""),
            Self::Close => f.write_str("\")\""),
            Self::Comma => f.write_str("a comma"),
            Self::End => f.write_str("the end"),
        }
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    const fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// Returns where the next token begins.
    fn position(&self) -> usize {
        self.text.len() - self.text[self.at..].trim_start_matches(SPACES).len()
    }

    fn peek(&self) -> Token<'a> {
        self.scan().0
    }

    fn next(&mut self) -> Token<'a> {
        let (token, end) = self.scan();
        self.at = end;
        token
    }

    /// Returns the next token, and where it ends.
    fn scan(&self) -> (Token<'a>, usize) {
        let start = self.position();
        let rest = &self.text[start..];
        let symbol = match rest.as_bytes() {
            [] => (Token::End, 0),
            [b'=' | b'!', b'=', ..] => (Token::Operator(&rest[..2]), 2),
            [b'=' | b'<' | b'>', ..] => (Token::Operator(&rest[..1]), 1),
            [b'!', ..] => (Token::Not, 1),
            [b'(', ..] => (Token::Open, 1),
            [b')', ..] => (Token::Close, 1),
            [b',', ..] => (Token::Comma, 1),
            _ => {
                let ends = |c: char| SPACES.contains(&c) || "=!(),<>".contains(c);
                let length = rest.find(ends).unwrap_or(rest.len());
                (Token::Word(&rest[..length]), length)
            }
        };
        (symbol.0, start + symbol.1)
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let absent = self.peek() == Token::Not;
        if absent {
            self.next();
        }
        let key = match self.next() {
            Token::Word(key) => valid_key(key)?,
            other => return Err(format!("found {other}, expected a key")),
        };
        let is_whole = matches!(self.peek(), Token::Comma | Token::End);
        let test = match (absent, is_whole) {
            (true, _) => Test::Absent,
            (false, true) => Test::Exists,
            (false, false) => match self.next() {
                Token::Operator("=" | "==") => Test::In(vec![self.value()?]),
                Token::Operator("!=") => Test::NotIn(vec![self.value()?]),
                Token::Operator(">") => Test::Above(self.integer()?),
                Token::Operator("<") => Test::Below(self.integer()?),
                Token::Word("in") => Test::In(self.values()?),
                Token::Word("notin") => Test::NotIn(self.values()?),
                other => {
                    return Err(format!(
                        "found {other}, expected =, ==, !=, in, notin, < or > after the key"
                    ));
                }
            },
        };
        Ok(Requirement { key, test })
    }

    /// Parses the value behind an operator, which may be empty.
    fn value(&mut self) -> Result<String, String> {
        match self.peek() {
            Token::Comma | Token::End => Ok(String::new()),
            Token::Word(value) => {
                self.next();
                valid_value(value)
            }
            other => Err(format!("found {other}, expected a value")),
        }
    }

    fn integer(&mut self) -> Result<i64, String> {
        let value = self.value()?;
        value
            .parse()
            .map_err(|_| format!("{value:?} is not an integer, which < and > compare with"))
    }

    /// Parses the values in parentheses. Between commas, and beside a parenthesis, one may be empty.
    fn values(&mut self) -> Result<Vec<String>, String> {
        match self.next() {
            Token::Open => {}
            other => return Err(format!("found {other}, expected (")),
        }
        if self.peek() == Token::Close {
            return Err("in and notin take at least one value".to_owned());
        }
        let mut values = Vec::new();
        loop {
            let value = match self.peek() {
                Token::Comma | Token::Close => String::new(),
                Token::Word(value) => {
                    self.next();
                    valid_value(value)?
                }
                other => return Err(format!("found {other}, expected a value")),
            };
            if !values.contains(&value) {
                values.push(value);
            }
            match self.next() {
                Token::Comma => {}
                Token::Close => return Ok(values),
                other => return Err(format!("found {other}, expected a comma or )")),
            }
        }
    }
}

const SPACES: [char; 4] = [' ', '\t', '\r', '\n'];

/// Whether a text has letters and digits at both ends, also `-`, `_` and `.` between them, and at most 63 characters.
fn is_name(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    text.len() <= 63
        && text.chars().all(plain)
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.ends_with(|c: char| c.is_ascii_alphanumeric())
}

/// Checks a key that a label can have (`IsQualifiedName`).
fn valid_key(key: &str) -> Result<String, String> {
    let is_label = |text: &str| {
        is_name(text)
            && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
    };
    let is_prefix = |text: &str| text.len() <= 253 && text.split('.').all(is_label);
    let valid = match key.split_once('/') {
        Some((prefix, name)) => is_prefix(prefix) && is_name(name),
        None => is_name(key),
    };
    valid.then(|| key.to_owned()).ok_or_else(|| format!("no label can have the key {key:?}"))
}

/// Checks a value that a label can have (`IsValidLabelValue`).
fn valid_value(value: &str) -> Result<String, String> {
    let valid = value.is_empty() || is_name(value);
    valid.then(|| value.to_owned()).ok_or_else(|| format!("no label can have the value {value:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_match_as_kubectl_does() {
        let labels: Labels = [
            ("app".into(), "db".into()),
            ("tier".into(), "a".into()),
            ("rank".into(), "7".into()),
            ("none".into(), "".into()),
        ]
        .into();
        for (selector, expected) in [
            ("", true),
            (" ", true),
            ("app=db", true),
            ("app = db , tier= a", true),
            ("app==db,tier=a", true),
            ("app=web", false),
            ("app!=web", true),
            ("zone!=x", true),
            ("app in (web, db),tier notin (b)", true),
            ("app in (web)", false),
            ("none in (a,)", true),
            ("none in (,a)", true),
            ("none=", true),
            ("none=,app=db", true),
            ("app=", false),
            ("zone notin (x)", true),
            ("app", true),
            ("zone", false),
            ("!zone", true),
            ("! zone", true),
            ("!app", false),
            ("rank>6", true),
            ("rank > 7", false),
            ("rank<8", true),
            ("app>1", false),
            ("zone<1", false),
            // A label may have the name of an operator.
            ("in notin (in)", true),
        ] {
            let parsed = Selector::parse(selector).expect("valid selector");
            assert_eq!(parsed.matches(&labels), expected, "{selector}");
        }
    }

    /// Each is refused by `labels.Parse` too.
    #[test]
    fn what_kubectl_refuses_is_refused_with_the_requirement() {
        let long = format!("a={}", "x".repeat(64));
        for (broken, requirement, problem) in [
            ("app=db,a=b=c", "a=b=c", "found \"=\", expected a comma or the end"),
            ("=x", "=x", "found \"=\", expected a key"),
            ("a b", "a b", "found \"b\", expected =, ==, !=, in, notin, < or > after the key"),
            ("a in b)", "a in b)", "found \"b\", expected ("),
            ("x,a in (b,c", "a in (b,c", "found the end, expected a comma or )"),
            ("a in ()", "a in ()", "in and notin take at least one value"),
            ("a in (b c)", "a in (b c)", "found \"c\", expected a comma or )"),
            ("!", "!", "found the end, expected a key"),
            ("!a=b", "!a=b", "found \"=\", expected a comma or the end"),
            ("a,", "", "found the end, expected a key"),
            (",a", "", "found a comma, expected a key"),
            ("a=(b)", "a=(b)", "found \"(\", expected a value"),
            ("a>b", "a>b", "\"b\" is not an integer, which < and > compare with"),
            ("-a=b", "-a=b", "no label can have the key \"-a\""),
            ("A/b", "A/b", "no label can have the key \"A/b\""),
            ("a/b/c=d", "a/b/c=d", "no label can have the key \"a/b/c\""),
            ("a=b/c", "a=b/c", "no label can have the value \"b/c\""),
            ("a=ö", "a=ö", "no label can have the value \"ö\""),
            (&long, &long, &format!("no label can have the value {:?}", &long[2..])),
        ] {
            let error = Selector::parse(broken).expect_err(broken);
            assert_eq!((&*error.requirement, &*error.problem), (requirement, problem), "{broken}");
        }
    }
}
