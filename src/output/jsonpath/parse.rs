//! From text to steps, by recursive descent over one cursor, so that every error knows its place.

use super::lexeme::{Cursor, Within};
use super::{Node, Operator, Path, Problem, Step, TemplateError};

/// Nobody nests filters; a bound keeps the stack out of the user's reach.
const DEEPEST: usize = 32;

/// Parses text with expressions in braces.
pub(super) fn template(text: &str) -> Result<Vec<Node>, TemplateError> {
    let mut parser = Parser { cursor: Cursor::new(text), depth: 0 };
    let mut open = Vec::new();
    let mut nodes = Vec::new();
    while !parser.cursor.is_done() {
        let plain = parser.cursor.take_while(|c| c != '{');
        if !plain.is_empty() {
            nodes.push(Node::Text(plain.into()));
        }
        if !parser.cursor.eat("{") {
            break;
        }
        let at = parser.cursor.at();
        match parser.action()? {
            Action::Print(path) => nodes.push(Node::Print(path)),
            Action::Range(over) => open.push((over, std::mem::take(&mut nodes))),
            Action::End => {
                let (over, outer) =
                    open.pop().ok_or_else(|| parser.cursor.error(at, Problem::NothingToEnd))?;
                let body = std::mem::replace(&mut nodes, outer);
                nodes.push(Node::Range { over, body });
            }
        }
    }
    // Like kubectl, take the end of the text for the end of what is still open.
    while let Some((over, outer)) = open.pop() {
        let body = std::mem::replace(&mut nodes, outer);
        nodes.push(Node::Range { over, body });
    }
    Ok(nodes)
}

/// Parses one path, relaxed as kubectl does it for custom columns and `--sort-by`.
pub(super) fn path(text: &str) -> Result<Path, TemplateError> {
    let inner = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    let (start, end) = if inner.is_some() { (1, text.len() - 1) } else { (0, text.len()) };
    let mut parser = Parser { cursor: Cursor::between(text, start, end), depth: 0 };
    if let Some(brace) = text[start..end].find(['{', '}']) {
        return Err(parser.cursor.error(start + brace, Problem::NotOnePath));
    }
    let mut steps = Vec::new();
    parser.cursor.skip_spaces();
    if !matches!(parser.cursor.peek(), None | Some('.' | '[' | '@' | '$')) {
        steps.push(parser.cursor.field(Within::Path)?);
    }
    parser.steps(Within::Path, &mut steps)?;
    Ok(Path { steps })
}

enum Action {
    Print(Path),
    Range(Path),
    End,
}

struct Parser<'t> {
    cursor: Cursor<'t>,
    depth: usize,
}

impl Parser<'_> {
    /// Parses what stands between braces, the second included.
    fn action(&mut self) -> Result<Action, TemplateError> {
        self.cursor.skip_spaces();
        let action = if self.cursor.eat_word("range") {
            Action::Range(self.path(Within::Action)?)
        } else if self.cursor.eat_word("end") {
            self.cursor.skip_spaces();
            Action::End
        } else {
            Action::Print(self.path(Within::Action)?)
        };
        match self.cursor.peek() {
            Some('}') => self.cursor.eat("}"),
            Some(other) if other != '\n' => {
                return Err(self.cursor.here(Problem::Character(other)));
            }
            _ => return Err(self.cursor.here(Problem::UnclosedAction)),
        };
        Ok(action)
    }

    fn path(&mut self, within: Within) -> Result<Path, TemplateError> {
        let mut steps = Vec::new();
        self.steps(within, &mut steps)?;
        Ok(Path { steps })
    }

    /// Parses steps until something ends them, which is left to the caller.
    fn steps(&mut self, within: Within, steps: &mut Vec<Step>) -> Result<(), TemplateError> {
        loop {
            let Some(next) = self.cursor.peek() else {
                return match within {
                    Within::Path => Ok(()),
                    Within::Action => Err(self.cursor.here(Problem::UnclosedAction)),
                    Within::Filter => Err(self.cursor.here(Problem::UnclosedFilter)),
                };
            };
            match next {
                '}' if within == Within::Action => return Ok(()),
                ')' | '=' | '!' | '<' | '>' if within == Within::Filter => return Ok(()),
                '&' | '|' if within == Within::Filter => {
                    return Err(self.cursor.here(Problem::Logic));
                }
                '\n' | '\r' if within == Within::Action => {
                    return Err(self.cursor.here(Problem::UnclosedAction));
                }
                ' ' => self.cursor.skip_spaces(),
                // Both are the current object: kubectl has no way back to the root.
                '@' | '$' => {
                    self.cursor.next();
                }
                '.' => self.dotted(within, steps)?,
                '[' => self.bracket(steps)?,
                '"' | '\'' => steps.push(Step::Literal(self.cursor.quoted()?)),
                '+' | '-' | '0'..='9' => steps.push(Step::Literal(self.cursor.number()?)),
                c if c == '_' || c.is_alphanumeric() => {
                    steps.push(Step::Literal(self.cursor.boolean(within)?));
                }
                other => return Err(self.cursor.here(Problem::Character(other))),
            }
        }
    }

    fn dotted(&mut self, within: Within, steps: &mut Vec<Step>) -> Result<(), TemplateError> {
        if !self.cursor.rest().starts_with("..") {
            self.cursor.next();
            steps.push(self.cursor.field(within)?);
            return Ok(());
        }
        if steps.last() == Some(&Step::Descend) {
            return Err(self.cursor.here(Problem::DoubleDescent));
        }
        self.cursor.eat("..");
        steps.push(Step::Descend);
        if self.cursor.peek().is_some_and(|c| c == '_' || c.is_alphanumeric()) {
            steps.push(self.cursor.field(within)?);
        }
        Ok(())
    }

    /// Parses `[…]`: an index, a slice, a key, several of them, or a filter.
    fn bracket(&mut self, steps: &mut Vec<Step>) -> Result<(), TemplateError> {
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
                return Err(self.cursor.here(Problem::UnclosedArray));
            }
        }
        match <[Path; 1]>::try_from(members) {
            Ok([only]) => steps.extend(only.steps),
            Err(several) => steps.push(Step::Union(several)),
        }
        Ok(())
    }

    fn member(&mut self) -> Result<Path, TemplateError> {
        match self.cursor.peek() {
            Some('\'') => self.quoted_path(),
            Some('"') => Err(self.cursor.here(Problem::DoubleQuotedKey)),
            _ => Ok(Path { steps: vec![self.cursor.slice()?] }),
        }
    }

    /// Parses a quoted key, which in kubectl is a path of its own: `['metadata.name']` is `.metadata.name`.
    fn quoted_path(&mut self) -> Result<Path, TemplateError> {
        let inner = self.cursor.quoted_span()?;
        let mut parser = Parser { cursor: inner, depth: self.depth };
        let mut steps = vec![parser.cursor.field(Within::Path)?];
        parser.steps(Within::Path, &mut steps)?;
        Ok(Path { steps })
    }

    /// Parses the rest of `[?(left operator right)]`.
    fn filter(&mut self) -> Result<Step, TemplateError> {
        if self.depth == DEEPEST {
            return Err(self.cursor.here(Problem::TooDeep));
        }
        self.depth += 1;
        let left = self.path(Within::Filter)?;
        let test = match self.cursor.peek() {
            Some(')') => None,
            _ => Some((self.operator()?, self.operand()?)),
        };
        if !self.cursor.eat(")]") {
            return Err(self.cursor.here(Problem::UnclosedFilter));
        }
        self.depth -= 1;
        Ok(Step::Filter { left, test })
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
            "=~" => Err(self.cursor.error(at, Problem::Regex)),
            other => Err(self.cursor.error(at, Problem::Operator(other.to_owned()))),
        }
    }

    fn operand(&mut self) -> Result<Path, TemplateError> {
        self.cursor.skip_spaces();
        if self.cursor.peek() == Some(')') {
            return Err(self.cursor.here(Problem::NoOperand));
        }
        self.path(Within::Filter)
    }
}
