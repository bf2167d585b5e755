//! Parser of templates, by recursive descent over one cursor, so that every error has its position.

use std::num::ParseIntError;

use serde_json::Value;

use super::{JsonPath, Operator, PathStep, TemplateError, TemplatePart, TemplateProblem};

/// Largest depth of filters within filters, a bound that keeps the stack out of the user's reach.
const DEEPEST: usize = 32;

/// Parses text with expressions in braces.
pub(super) fn template(text: &str) -> Result<Vec<TemplatePart>, TemplateError> {
    let mut parser = Parser { cursor: Cursor::new(text), depth: 0 };
    let mut open = Vec::new();
    let mut nodes = Vec::new();
    while !parser.cursor.is_done() {
        let plain = parser.cursor.take_while(|c| c != '{');
        if !plain.is_empty() {
            nodes.push(TemplatePart::Text(plain.into()));
        }
        if !parser.cursor.eat("{") {
            break;
        }
        let at = parser.cursor.at();
        match parser.action()? {
            TemplateAction::Print(path) => nodes.push(TemplatePart::Print(path)),
            TemplateAction::Range(over) => open.push((over, std::mem::take(&mut nodes))),
            TemplateAction::End => {
                let (over, outer) = open
                    .pop()
                    .ok_or_else(|| parser.cursor.error(at, TemplateProblem::NothingToEnd))?;
                let body = std::mem::replace(&mut nodes, outer);
                nodes.push(TemplatePart::Range { over, body });
            }
        }
    }
    // Like kubectl, take the end of the text for the end of what is still open.
    while let Some((over, outer)) = open.pop() {
        let body = std::mem::replace(&mut nodes, outer);
        nodes.push(TemplatePart::Range { over, body });
    }
    Ok(nodes)
}

/// Parses one path, relaxed as kubectl does it for custom columns and `--sort-by`.
pub(super) fn path(text: &str) -> Result<JsonPath, TemplateError> {
    let inner = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    let (start, end) = if inner.is_some() { (1, text.len() - 1) } else { (0, text.len()) };
    let mut parser = Parser { cursor: Cursor::between(text, start, end), depth: 0 };
    if let Some(brace) = text[start..end].find(['{', '}']) {
        return Err(parser.cursor.error(start + brace, TemplateProblem::NotOnePath));
    }
    let mut steps = Vec::new();
    parser.cursor.skip_spaces();
    if !matches!(parser.cursor.peek(), None | Some('.' | '[' | '@' | '$')) {
        steps.push(parser.cursor.field(TokenContext::WholeText)?);
    }
    parser.steps(TokenContext::WholeText, &mut steps)?;
    Ok(JsonPath { steps })
}

enum TemplateAction {
    Print(JsonPath),
    Range(JsonPath),
    End,
}

struct Parser<'t> {
    cursor: Cursor<'t>,
    depth: usize,
}

impl Parser<'_> {
    /// Parses the content of braces, with the closing one.
    fn action(&mut self) -> Result<TemplateAction, TemplateError> {
        self.cursor.skip_spaces();
        let action = if self.cursor.eat_word("range") {
            TemplateAction::Range(self.path(TokenContext::Braces)?)
        } else if self.cursor.eat_word("end") {
            self.cursor.skip_spaces();
            TemplateAction::End
        } else {
            TemplateAction::Print(self.path(TokenContext::Braces)?)
        };
        match self.cursor.peek() {
            Some('}') => self.cursor.eat("}"),
            Some(other) if other != '\n' => {
                return Err(self.cursor.here(TemplateProblem::Character(other)));
            }
            _ => return Err(self.cursor.here(TemplateProblem::UnclosedAction)),
        };
        Ok(action)
    }

    fn path(&mut self, within: TokenContext) -> Result<JsonPath, TemplateError> {
        let mut steps = Vec::new();
        self.steps(within, &mut steps)?;
        Ok(JsonPath { steps })
    }

    /// Parses steps until something ends them, which is left to the caller.
    fn steps(
        &mut self,
        within: TokenContext,
        steps: &mut Vec<PathStep>,
    ) -> Result<(), TemplateError> {
        loop {
            let Some(next) = self.cursor.peek() else {
                return match within {
                    TokenContext::WholeText => Ok(()),
                    TokenContext::Braces => Err(self.cursor.here(TemplateProblem::UnclosedAction)),
                    TokenContext::Filter => Err(self.cursor.here(TemplateProblem::UnclosedFilter)),
                };
            };
            match next {
                '}' if within == TokenContext::Braces => return Ok(()),
                ')' | '=' | '!' | '<' | '>' if within == TokenContext::Filter => return Ok(()),
                '&' | '|' if within == TokenContext::Filter => {
                    return Err(self.cursor.here(TemplateProblem::Logic));
                }
                '\n' | '\r' if within == TokenContext::Braces => {
                    return Err(self.cursor.here(TemplateProblem::UnclosedAction));
                }
                ' ' => self.cursor.skip_spaces(),
                // Both are the current object: kubectl has no way back to the root.
                '@' | '$' => {
                    self.cursor.next();
                }
                '.' => self.dotted(within, steps)?,
                '[' => self.bracket(steps)?,
                '"' | '\'' => steps.push(PathStep::Literal(self.cursor.quoted()?)),
                '+' | '-' | '0'..='9' => steps.push(PathStep::Literal(self.cursor.number()?)),
                c if c == '_' || c.is_alphanumeric() => {
                    steps.push(PathStep::Literal(self.cursor.boolean(within)?));
                }
                other => return Err(self.cursor.here(TemplateProblem::Character(other))),
            }
        }
    }

    fn dotted(
        &mut self,
        within: TokenContext,
        steps: &mut Vec<PathStep>,
    ) -> Result<(), TemplateError> {
        if !self.cursor.rest().starts_with("..") {
            self.cursor.next();
            steps.push(self.cursor.field(within)?);
            return Ok(());
        }
        if steps.last() == Some(&PathStep::Descend) {
            return Err(self.cursor.here(TemplateProblem::DoubleDescent));
        }
        self.cursor.eat("..");
        steps.push(PathStep::Descend);
        if self.cursor.peek().is_some_and(|c| c == '_' || c.is_alphanumeric()) {
            steps.push(self.cursor.field(within)?);
        }
        Ok(())
    }

    /// Parses `[…]`: an index, a slice, a key, several of them, or a filter.
    fn bracket(&mut self, steps: &mut Vec<PathStep>) -> Result<(), TemplateError> {
        if self.cursor.eat("[?(") {
            steps.push(self.filter()?);
            return Ok(());
        }
        self.cursor.eat("[");
        let mut members = Vec::new();
        loop {
            self.cursor.skip_spaces();
            members.push(self.member()?);
            self.cursor.skip_spaces();
            if self.cursor.eat("]") {
                break;
            }
            if !self.cursor.eat(",") {
                return Err(self.cursor.here(TemplateProblem::UnclosedArray));
            }
        }
        match <[JsonPath; 1]>::try_from(members) {
            Ok([only]) => steps.extend(only.steps),
            Err(several) => steps.push(PathStep::Union(several)),
        }
        Ok(())
    }

    fn member(&mut self) -> Result<JsonPath, TemplateError> {
        match self.cursor.peek() {
            Some('\'') => self.quoted_path(),
            Some('"') => Err(self.cursor.here(TemplateProblem::DoubleQuotedKey)),
            _ => Ok(JsonPath { steps: vec![self.cursor.slice()?] }),
        }
    }

    /// Parses a quoted key, which in kubectl is a path of its own: `['metadata.name']` is `.metadata.name`.
    fn quoted_path(&mut self) -> Result<JsonPath, TemplateError> {
        let inner = self.cursor.quoted_span()?;
        let mut parser = Parser { cursor: inner, depth: self.depth };
        let mut steps = vec![parser.cursor.field(TokenContext::WholeText)?];
        parser.steps(TokenContext::WholeText, &mut steps)?;
        Ok(JsonPath { steps })
    }

    /// Parses the rest of `[?(left operator right)]`.
    fn filter(&mut self) -> Result<PathStep, TemplateError> {
        if self.depth == DEEPEST {
            return Err(self.cursor.here(TemplateProblem::TooDeep));
        }
        self.depth += 1;
        let left = self.path(TokenContext::Filter)?;
        let test = match self.cursor.peek() {
            Some(')') => None,
            _ => Some((self.operator()?, self.operand()?)),
        };
        if !self.cursor.eat(")]") {
            return Err(self.cursor.here(TemplateProblem::UnclosedFilter));
        }
        self.depth -= 1;
        Ok(PathStep::Filter { left, test })
    }

    fn operator(&mut self) -> Result<Operator, TemplateError> {
        let at = self.cursor.at();
        match self.cursor.take_while(|c| "!<>=~".contains(c)) {
            "==" => Ok(Operator::Equal),
            "!=" => Ok(Operator::NotEqual),
            "<" => Ok(Operator::Less),
            "<=" => Ok(Operator::LessOrEqual),
            ">" => Ok(Operator::Greater),
            ">=" => Ok(Operator::GreaterOrEqual),
            "=~" => Err(self.cursor.error(at, TemplateProblem::Regex)),
            other => Err(self.cursor.error(at, TemplateProblem::Operator(other.to_owned()))),
        }
    }

    fn operand(&mut self) -> Result<JsonPath, TemplateError> {
        self.cursor.skip_spaces();
        if self.cursor.peek() == Some(')') {
            return Err(self.cursor.here(TemplateProblem::NoOperand));
        }
        self.path(TokenContext::Filter)
    }
}

/// Context of steps, which decides what ends them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenContext {
    /// Within braces.
    Braces,
    /// Within a filter: `[?(…)]`.
    Filter,
    /// Within nothing: the text ends them.
    WholeText,
}

/// A position in the text. What a cursor reads may end before the text does, so that errors still count from its begin.
pub(super) struct Cursor<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Cursor<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    /// Returns a cursor over a part of the text only; both ends are places between characters.
    pub(super) fn between(text: &'t str, start: usize, end: usize) -> Self {
        Self { text: &text[..end], at: start }
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    pub(super) fn is_done(&self) -> bool {
        self.rest().is_empty()
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    pub(super) fn eat(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    /// Eats a keyword, unless it is only the begin of a longer word.
    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let whole = self
            .rest()
            .strip_prefix(word)
            .is_some_and(|rest| rest.chars().next().is_none_or(ends_name));
        whole && self.eat(word)
    }

    pub(super) fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let taken = &rest[..rest.find(|c| !wanted(c)).unwrap_or(rest.len())];
        self.at += taken.len();
        taken
    }

    pub(super) fn skip_spaces(&mut self) {
        self.take_while(|c| c == ' ');
    }

    pub(super) fn here(&self, problem: TemplateProblem) -> TemplateError {
        self.error(self.at, problem)
    }

    pub(super) fn error(&self, at: usize, problem: TemplateProblem) -> TemplateError {
        TemplateError { at: self.text[..at].chars().count() + 1, problem }
    }

    /// Reads the name of a field, in which a backslash takes the next character as it is; `*` alone is every field.
    pub(super) fn field(&mut self, within: TokenContext) -> Result<PathStep, TemplateError> {
        let start = self.at;
        let mut name = String::new();
        while let Some(c) = self.peek() {
            if ends_name(c) || (within == TokenContext::Filter && "!<>=)&|".contains(c)) {
                break;
            }
            self.next();
            name.extend(if c == '\\' { self.next() } else { Some(c) });
        }
        match &self.text[start..self.at] {
            "" => Err(self.error(start, TemplateProblem::NoName)),
            "*" => Ok(PathStep::Wildcard),
            _ => Ok(PathStep::Key(name)),
        }
    }

    /// Reads `true` or `false`: other words mean nothing, least of all a field whose dot was forgotten.
    pub(super) fn boolean(&mut self, within: TokenContext) -> Result<Value, TemplateError> {
        let start = self.at;
        let ends = |c| ends_name(c) || (within == TokenContext::Filter && "!<>=)&|".contains(c));
        match self.take_while(|c| !ends(c)) {
            "true" => Ok(Value::Bool(true)),
            "false" => Ok(Value::Bool(false)),
            other => Err(self.error(start, TemplateProblem::Word(other.to_owned()))),
        }
    }

    pub(super) fn number(&mut self) -> Result<Value, TemplateError> {
        let start = self.at;
        if matches!(self.peek(), Some('+' | '-')) {
            self.next();
        }
        self.take_while(|c| c == '.' || c.is_ascii_digit());
        let digits = &self.text[start..self.at];
        if let Ok(whole) = digits.parse::<i64>() {
            return Ok(whole.into());
        }
        let fraction = digits.parse::<f64>().ok().and_then(serde_json::Number::from_f64);
        fraction
            .map(Value::Number)
            .ok_or_else(|| self.error(start, TemplateProblem::Number(digits.to_owned())))
    }

    /// Reads an index, a slice or `*`, and stops before the comma or bracket.
    pub(super) fn slice(&mut self) -> Result<PathStep, TemplateError> {
        let start = self.at;
        let text = self.take_while(|c| !",]\n".contains(c)).trim_end();
        let wrong = || self.error(start, TemplateProblem::Index(text.to_owned()));
        if text == "*" {
            return Ok(PathStep::Slice { from: None, to: None, step: 1 });
        }
        let bounds: Result<Vec<_>, _> = text.split(':').map(bound).collect();
        match bounds.as_deref() {
            Ok([Some(index)]) => Ok(PathStep::Index(*index)),
            Ok([from, to]) => Ok(PathStep::Slice { from: *from, to: *to, step: 1 }),
            Ok([from, to, step]) => match usize::try_from(step.unwrap_or(1)) {
                Ok(step) if step > 0 => Ok(PathStep::Slice { from: *from, to: *to, step }),
                _ => Err(self.error(start, TemplateProblem::ZeroStep)),
            },
            _ if self.is_done() || self.peek() == Some('\n') => {
                Err(self.here(TemplateProblem::UnclosedArray))
            }
            _ => Err(wrong()),
        }
    }

    /// Returns a cursor over the content of single quotes, and steps past them. There are no escapes here: a backslash
    /// belongs to the key.
    pub(super) fn quoted_span(&mut self) -> Result<Cursor<'t>, TemplateError> {
        let quote = self.at;
        let length = self.text[quote + 1..]
            .find('\'')
            .ok_or_else(|| self.here(TemplateProblem::UnclosedQuote))?;
        self.at = quote + 1 + length + 1;
        Ok(Cursor::between(self.text, quote + 1, quote + 1 + length))
    }

    /// Reads a quoted string with Go's escapes, in single quotes as well as in double ones.
    pub(super) fn quoted(&mut self) -> Result<Value, TemplateError> {
        let start = self.at;
        let quote = self.next();
        let mut bytes = Vec::new();
        loop {
            match self.next() {
                None | Some('\n') => return Err(self.error(start, TemplateProblem::UnclosedQuote)),
                c if c == quote => break,
                Some('\\') => self.escape(quote, &mut bytes)?,
                Some(c) => bytes.extend(c.encode_utf8(&mut [0; 4]).bytes()),
            }
        }
        // `\x` and octal escapes are bytes, and may add up to something that is no text.
        String::from_utf8(bytes)
            .map(Value::String)
            .map_err(|_| self.error(start, TemplateProblem::Escape))
    }

    fn escape(&mut self, quote: Option<char>, bytes: &mut Vec<u8>) -> Result<(), TemplateError> {
        let backslash = self.at - 1;
        let wrong = |cursor: &Self| cursor.error(backslash, TemplateProblem::Escape);
        let next = self.next();
        let plain = match next {
            Some('a') => 0x07,
            Some('b') => 0x08,
            Some('f') => 0x0c,
            Some('n') => b'\n',
            Some('r') => b'\r',
            Some('t') => b'\t',
            Some('v') => 0x0b,
            Some('\\') => b'\\',
            Some(c @ ('"' | '\'')) if next == quote => c as u8,
            Some('x') => {
                self.digits(2, 16).and_then(|n| u8::try_from(n).ok()).ok_or_else(|| wrong(self))?
            }
            Some('0'..='7') => {
                self.at -= 1;
                self.digits(3, 8).and_then(|n| u8::try_from(n).ok()).ok_or_else(|| wrong(self))?
            }
            Some(c @ ('u' | 'U')) => {
                let code = self.digits(if c == 'u' { 4 } else { 8 }, 16);
                let c = code.and_then(char::from_u32).ok_or_else(|| wrong(self))?;
                bytes.extend(c.encode_utf8(&mut [0; 4]).bytes());
                return Ok(());
            }
            _ => return Err(wrong(self)),
        };
        bytes.push(plain);
        Ok(())
    }

    fn digits(&mut self, count: usize, radix: u32) -> Option<u32> {
        let mut number = 0_u32;
        for _ in 0..count {
            let digit = self.next()?.to_digit(radix)?;
            number = number.checked_mul(radix)?.checked_add(digit)?;
        }
        Some(number)
    }
}

/// Reads one bound of a slice, which may be left out.
fn bound(text: &str) -> Result<Option<i64>, ParseIntError> {
    if text.is_empty() { Ok(None) } else { text.parse().map(Some) }
}

fn ends_name(c: char) -> bool {
    " \t\r\n.,[]$@{}".contains(c)
}
