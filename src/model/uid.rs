//! Object uids in sixteen bytes.

use std::fmt;

/// `metadata.uid`: nearly always a UUID, but the API only promises a string.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Uid {
    /// A UUID in its canonical, lower-case, hyphenated form.
    Uuid([u8; 16]),
    /// Anything else, as received.
    Other(Box<str>),
}

impl Uid {
    /// Parses a uid; `None` when it is empty, which means that there is none.
    pub fn parse(text: &str) -> Option<Self> {
        if text.is_empty() {
            return None;
        }
        if let Ok(uuid) = uuid::Uuid::try_parse(text) {
            // Only the canonical form survives the way there and back.
            let mut canonical = [0; uuid::fmt::Hyphenated::LENGTH];
            if uuid.hyphenated().encode_lower(&mut canonical) == text {
                return Some(Self::Uuid(uuid.into_bytes()));
            }
        }
        Some(Self::Other(text.into()))
    }
}

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uuid(bytes) => uuid::Uuid::from_bytes(*bytes).hyphenated().fmt(f),
            Self::Other(text) => f.write_str(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_uid_prints_as_it_was_read() {
        for text in [
            "0d9e5b6c-6d0b-4f0e-9d6c-0c6b6c1f9a11",
            "0D9E5B6C-6D0B-4F0E-9D6C-0C6B6C1F9A11",
            "0d9e5b6c6d0b4f0e9d6c0c6b6c1f9a11",
            "not-a-uuid",
        ] {
            assert_eq!(Uid::parse(text).map(|uid| uid.to_string()).as_deref(), Some(text));
        }
        assert_eq!(Uid::parse(""), None);
    }
}
