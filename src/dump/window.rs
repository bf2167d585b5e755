//! Buffer over a stream of unknown length, in which the parsers work.

use std::io::{self, Read};

use memchr::memmem;

use super::flaw::Flaw;
use super::wording;

/// Limits of what is kept in memory. Tests make both small, so that every seam is met.
#[derive(Debug, Clone, Copy)]
pub(super) struct WindowLimits {
    /// Number of bytes that are read at once.
    pub(super) chunk: usize,
    /// Whether items that kubectl has indented are cut out without being checked.
    pub(super) skim: bool,
    /// Size of the largest JSON object.
    pub(super) json: usize,
    /// Size of the largest YAML document or item. An object in etcd has at most a few MiB, and the YAML parser needs a
    /// dozen times the text.
    pub(super) yaml: usize,
}

impl Default for WindowLimits {
    fn default() -> Self {
        Self { chunk: 256 << 10, skim: false, json: 64 << 20, yaml: 16 << 20 }
    }
}

/// Position in a file: a line and a byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Position {
    /// The line, counted from 1; 0 means the whole file.
    pub(super) line: u64,
    /// The offset of the byte, counted from 0.
    pub(super) offset: u64,
}

impl Position {
    /// Position of the file as a whole.
    pub(super) const FILE: Self = Self { line: 0, offset: 0 };
}

/// Reason for which reading a file does not go on.
#[derive(Debug)]
pub(super) enum Halt {
    /// The sink wants no more.
    Asked,
    /// The file cannot be read further, because of this flaw.
    Flaw(Flaw, Position),
}

/// Result of asking for more bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Filled {
    More,
    End,
}

/// The bytes between the parser's position and the end of what was read.
pub(super) struct Window<'r> {
    source: &'r mut dyn Read,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    most: usize,
    ended: bool,
    failure: Option<String>,
    here: Position,
}

impl<'r> Window<'r> {
    pub(super) fn new(source: &'r mut dyn Read, chunk: usize, most: usize) -> Self {
        Self {
            source,
            buffer: vec![0; chunk.max(1)],
            start: 0,
            end: 0,
            most: most.max(chunk),
            ended: false,
            failure: None,
            here: Position { line: 1, offset: 0 },
        }
    }

    /// Returns what has been read and not consumed.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Returns whether no further bytes follow these.
    pub(super) fn ended(&self) -> bool {
        self.ended
    }

    /// Returns the position at which the window begins.
    pub(super) fn here(&self) -> Position {
        self.here
    }

    /// Returns the position of the byte at `at`.
    pub(super) fn place(&self, at: usize) -> Position {
        let passed = &self.bytes()[..at.min(self.end - self.start)];
        Position {
            line: self.here.line + newlines(passed),
            offset: self.here.offset + passed.len() as u64,
        }
    }

    /// Moves the beginning of the window.
    pub(super) fn consume(&mut self, length: usize) {
        self.here = self.place(length);
        self.start = (self.start + length).min(self.end);
    }

    /// Reads until the buffer is full, doubling it first if it is. Filling it to the brim keeps
    /// the work linear: an object that does not fit is parsed again only when twice as much is there.
    pub(super) fn fill(&mut self) -> Result<Filled, Halt> {
        if self.ended {
            return Ok(Filled::End);
        }
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.end == self.buffer.len() {
            if self.end >= self.most {
                return Err(Halt::Flaw(Flaw::TooLarge { limit: self.most }, self.here));
            }
            self.buffer.resize((self.end * 2).min(self.most), 0);
        }
        let before = self.end;
        while self.end < self.buffer.len() {
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.ended = true,
                Ok(n) => self.end = (self.end + n).min(self.buffer.len()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    self.ended = true;
                    self.failure = Some(wording::unreadable(&error));
                }
            }
            if self.ended {
                break;
            }
        }
        Ok(if self.end > before { Filled::More } else { Filled::End })
    }

    /// Returns why the bytes ended before their time, if they did.
    pub(super) fn failure(&self) -> Option<Halt> {
        let reason = self.failure.clone()?;
        let place = self.place(self.end - self.start);
        Some(Halt::Flaw(Flaw::Unreadable { offset: place.offset, reason }, place))
    }

    /// Returns the halt for an end that comes within `what`.
    pub(super) fn cut(&self, what: &'static str) -> Halt {
        self.failure().unwrap_or_else(|| {
            let place = self.place(self.end - self.start);
            Halt::Flaw(Flaw::Truncated { offset: place.offset, what }, place)
        })
    }

    /// Returns the byte at `at`, reading on if need be; nothing at the end.
    pub(super) fn byte(&mut self, at: usize) -> Result<Option<u8>, Halt> {
        while self.bytes().len() <= at {
            if self.fill()? == Filled::End {
                return Ok(None);
            }
        }
        Ok(self.bytes().get(at).copied())
    }

    /// Returns the end of the line that begins at `at`, its line break included, and whether it
    /// has one; nothing at the end.
    pub(super) fn line(&mut self, at: usize) -> Result<Option<(usize, bool)>, Halt> {
        let mut from = at;
        loop {
            let bytes = self.bytes();
            if let Some(found) =
                bytes.get(from..).unwrap_or_default().iter().position(|b| *b == b'\n')
            {
                return Ok(Some((from + found + 1, true)));
            }
            from = bytes.len().max(at);
            if self.fill()? == Filled::End {
                let length = self.bytes().len();
                return Ok((length > at).then_some((length, false)));
            }
        }
    }

    /// Returns whether the window begins with these bytes.
    pub(super) fn starts_with(&mut self, start: &[u8]) -> Result<bool, Halt> {
        while self.bytes().len() < start.len() {
            if self.fill()? == Filled::End {
                return Ok(false);
            }
        }
        Ok(self.bytes().starts_with(start))
    }

    /// Returns where these bytes begin, if they come before the end of the file.
    pub(super) fn find(&mut self, wanted: &memmem::Finder) -> Result<Option<usize>, Halt> {
        let mut from = 0;
        loop {
            if let Some(found) = wanted.find(&self.bytes()[from..]) {
                return Ok(Some(from + found));
            }
            from = self.bytes().len().saturating_sub(wanted.needle().len());
            if self.fill()? == Filled::End {
                return Ok(None);
            }
        }
    }

    /// Passes over the container logs that `kubectl cluster-info dump` writes between its lists, and
    /// returns whether there were any at the beginning of the window.
    ///
    /// They end only with the line that belongs to the one they began with: what a container
    /// prints must not pass for objects of the cluster.
    pub(super) fn skip_logs(&mut self) -> Result<bool, Halt> {
        const BEGIN: &[u8] = b"==== START logs for container ";
        let Some((end, _)) = self.line(0)? else { return Ok(false) };
        let Some(of) = self.bytes()[..end].strip_prefix(BEGIN) else { return Ok(false) };
        let last = [b"==== END logs for container ".as_slice(), of.trim_ascii_end()].concat();
        self.consume(end);
        while let Some((end, _)) = self.log_line()? {
            let found = self.bytes()[..end].trim_ascii_end() == last;
            self.consume(end);
            if found {
                return Ok(true);
            }
        }
        Err(self.cut("the logs of a container"))
    }

    /// Like [`line`](Self::line), except that a line may be longer than anything that is kept.
    fn log_line(&mut self) -> Result<Option<(usize, bool)>, Halt> {
        loop {
            match self.line(0) {
                Err(Halt::Flaw(Flaw::TooLarge { .. }, _)) => self.consume(self.end - self.start),
                line => return line,
            }
        }
    }
}

/// Counts line breaks.
pub(super) fn newlines(bytes: &[u8]) -> u64 {
    // Eight bits at a time, so that the compiler can make vectors of it: on files with long lines
    // this runs over every byte.
    bytes
        .chunks(255)
        .map(|chunk| u64::from(chunk.iter().map(|byte| u8::from(*byte == b'\n')).sum::<u8>()))
        .sum()
}
