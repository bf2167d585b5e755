//! Where a line of a journal is, as notes name it.

use std::fmt;

/// Where a line is: in the file, or in a segment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct LinePlace {
    /// The number of the line, from 1.
    pub(super) number: usize,
    /// The number of the segment.
    pub(super) segment: Option<u32>,
}

impl fmt::Display for LinePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}", self.number)?;
        match self.segment {
            Some(segment) => write!(f, " of segment {segment}"),
            None => Ok(()),
        }
    }
}

impl LinePlace {
    /// What holds the line.
    pub(super) const fn medium(&self) -> &'static str {
        match self.segment {
            Some(_) => "ConfigMap",
            None => "file",
        }
    }

    /// How a line comes to be cut off: a `ConfigMap` is written whole or not at all.
    pub(super) const fn cut_by(&self) -> &'static str {
        match self.segment {
            Some(_) => "the ConfigMap was edited",
            None => "a run was killed while writing it",
        }
    }
}
