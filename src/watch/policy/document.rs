//! A policy file as a tree in which each value knows its line and column.

use granit_parser::{Event, Marker, Parser, ScalarStyle};

/// Where a value begins, both counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position {
    pub(super) line: usize,
    pub(super) column: usize,
}

impl Position {
    pub(super) const START: Self = Self { line: 1, column: 1 };

    fn of(marker: &Marker) -> Self {
        Self { line: marker.line(), column: marker.col() + 1 }
    }
}

/// A value, and where it stands.
#[derive(Debug, Clone)]
pub(super) struct Node {
    /// What tells it apart in its document: two values may begin at one position.
    pub(super) id: usize,
    pub(super) at: Position,
    pub(super) content: Content,
    /// Whether something in it was taken out, because it was found to be wrong.
    pub(super) is_incomplete: bool,
}

/// What a value consists of.
#[derive(Debug, Clone)]
pub(super) enum Content {
    /// A scalar; plain ones may be numbers and other words of YAML 1.2.
    Scalar { text: String, plain: bool },
    /// A list.
    Sequence(Vec<Node>),
    /// Keys, which are all texts and all different, and their values.
    Mapping(Vec<(Node, Node)>),
}

/// What is wrong with a policy, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) at: Position,
    pub(super) message: String,
}

impl Fault {
    fn new(at: Position, message: impl Into<String>) -> Self {
        Self { at, message: message.into() }
    }
}

/// Collections in collections that a policy may have; it needs four.
const DEEPEST: usize = 16;

impl Node {
    /// Parses one document. Keys that occur twice are told in `faults`, and the first counts.
    pub(super) fn parse(text: &str, faults: &mut Vec<Fault>) -> Result<Self, Fault> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut reading = Reading { parser: Parser::new_from_str(text), count: 0, faults };
        let mut root = None;
        loop {
            let (event, at) = reading.next()?;
            match event {
                Event::StreamEnd => break,
                Event::DocumentStart(..) if root.is_some() => {
                    return Err(Fault::new(at, "a second document; a policy is one"));
                }
                Event::StreamStart | Event::DocumentStart(..) | Event::DocumentEnd => {}
                event => root = Some(reading.node(event, at, 0)?),
            }
        }
        root.ok_or_else(|| Fault::new(Position::START, "the policy is empty"))
    }

    /// The value of a key.
    pub(super) fn get(&self, key: &str) -> Option<&Node> {
        let Content::Mapping(entries) = &self.content else { return None };
        entries.iter().find(|(name, _)| name.text() == Some(key)).map(|(_, value)| value)
    }

    /// The text of a scalar.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.content {
            Content::Scalar { text, .. } => Some(text),
            Content::Sequence(_) | Content::Mapping(_) => None,
        }
    }

    /// Adds an entry that the rest of the document does without.
    pub(super) fn add(&mut self, key: &str, value: &str) {
        let scalar = |text: &str| Self {
            id: usize::MAX,
            at: Position::START,
            content: Content::Scalar { text: text.to_owned(), plain: false },
            is_incomplete: false,
        };
        if let Content::Mapping(entries) = &mut self.content {
            entries.push((scalar(key), scalar(value)));
        }
    }

    /// Takes out the value with this id, or the entry with such a key; `false` if there is none.
    pub(super) fn take_out(&mut self, id: usize) -> bool {
        let before = self.len();
        let inner: Vec<&mut Node> = match &mut self.content {
            Content::Scalar { .. } => Vec::new(),
            Content::Sequence(items) => {
                items.retain(|it| it.id != id);
                items.iter_mut().collect()
            }
            Content::Mapping(entries) => {
                entries.retain(|(key, value)| key.id != id && value.id != id);
                entries.iter_mut().map(|(_, value)| value).collect()
            }
        };
        let is_out = inner.into_iter().any(|it| it.take_out(id));
        let was_mine = self.len() < before;
        self.is_incomplete |= was_mine;
        was_mine || is_out
    }

    /// Whether the value with this id lacks something that was taken out.
    pub(super) fn lacks_something(&self, id: usize) -> bool {
        if self.id == id {
            return self.is_incomplete;
        }
        match &self.content {
            Content::Scalar { .. } => false,
            Content::Sequence(items) => items.iter().any(|it| it.lacks_something(id)),
            Content::Mapping(entries) => entries.iter().any(|(_, it)| it.lacks_something(id)),
        }
    }

    fn len(&self) -> usize {
        match &self.content {
            Content::Scalar { .. } => 0,
            Content::Sequence(items) => items.len(),
            Content::Mapping(entries) => entries.len(),
        }
    }
}

struct Reading<'a> {
    parser: Parser<'a, granit_parser::StrInput<'a>>,
    count: usize,
    faults: &'a mut Vec<Fault>,
}

impl<'a> Reading<'a> {
    /// The next event, and where it begins. Comments are none.
    fn next(&mut self) -> Result<(Event<'a>, Position), Fault> {
        loop {
            let Some(next) = self.parser.next() else {
                return Ok((Event::StreamEnd, Position::START));
            };
            let (event, span) =
                next.map_err(|error| Fault::new(Position::of(error.marker()), syntax(&error)))?;
            if !matches!(event, Event::Comment(..)) {
                return Ok((event, Position::of(&span.start)));
            }
        }
    }

    fn node(&mut self, event: Event<'a>, at: Position, depth: usize) -> Result<Node, Fault> {
        if depth > DEEPEST {
            return Err(Fault::new(at, "too many levels"));
        }
        self.count += 1;
        let id = self.count;
        if event.tag().is_some() {
            return Err(Fault::new(at, "tags are not supported in a policy"));
        }
        let content = match event {
            Event::Scalar(text, style, ..) => {
                Content::Scalar { text: text.into_owned(), plain: style == ScalarStyle::Plain }
            }
            Event::SequenceStart(..) => {
                let mut items = Vec::new();
                loop {
                    match self.next()? {
                        (Event::SequenceEnd, _) => break Content::Sequence(items),
                        (event, at) => items.push(self.node(event, at, depth + 1)?),
                    }
                }
            }
            Event::MappingStart(..) => self.mapping(depth)?,
            Event::Alias(_) => {
                return Err(Fault::new(at, "aliases are not supported in a policy"));
            }
            _ => return Err(Fault::new(at, "expected a value")),
        };
        Ok(Node { id, at, content, is_incomplete: false })
    }

    fn mapping(&mut self, depth: usize) -> Result<Content, Fault> {
        let mut entries: Vec<(Node, Node)> = Vec::new();
        loop {
            let (event, at) = self.next()?;
            if matches!(event, Event::MappingEnd) {
                return Ok(Content::Mapping(entries));
            }
            let key = self.node(event, at, depth + 1)?;
            let (event, at) = self.next()?;
            let value = self.node(event, at, depth + 1)?;
            let Some(name) = key.text() else {
                return Err(Fault::new(key.at, "a key must be a text"));
            };
            match entries.iter().find(|(known, _)| known.text() == Some(name)) {
                Some((known, _)) => self.faults.push(Fault::new(
                    key.at,
                    format!("the key {name:?} is given twice, first on line {}", known.at.line),
                )),
                None => entries.push((key, value)),
            }
        }
    }
}

/// What is wrong with the syntax, in one line.
fn syntax(error: &granit_parser::ScanError) -> String {
    let info = error.info();
    format!("not valid YAML: {}", info.lines().next().unwrap_or_default())
}
