//! Parses templates by recursive descent over one cursor, so that every error has its position.

use super::lexeme::{Cursor, TokenContext};
use super::{JsonPath, Operator, PathStep, TemplateError, TemplatePart, TemplateProblem};

/// Nobody nests filters; a bound keeps the stack out of the user's reach.
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
    /// Parses what stands between braces, the second included.
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
