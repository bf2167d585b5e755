//! `ValueScan`: finds the end of a JSON value without parsing it.

/// Scans one JSON value in chunks of any size.
#[derive(Debug, Clone, Default)]
pub(super) struct ValueScan {
    depth: u32,
    quoted: bool,
    escaped: bool,
    /// Inside a number, `true`, `false` or `null` at depth zero, which ends before the next
    /// delimiter.
    bare: bool,
}

impl ValueScan {
    /// Scans the next bytes of the value; returns how many of them belong to it if it has ended.
    ///
    /// Invalid JSON is left to the parser: this only has to find the end of a valid value.
    pub(super) fn end(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        while at < bytes.len() {
            if self.quoted {
                at += self.quoted_run(&bytes[at..]);
                if !self.quoted && self.depth == 0 {
                    return Some(at);
                }
                continue;
            }
            let byte = bytes[at];
            if self.bare && matches!(byte, b',' | b']' | b'}' | b' ' | b'\t' | b'\r' | b'\n') {
                return Some(at);
            }
            at += 1;
            match byte {
                b'"' => self.quoted = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return Some(at);
                    }
                }
                b' ' | b'\t' | b'\r' | b'\n' => {}
                _ if self.depth == 0 => self.bare = true,
                _ => {}
            }
        }
        None
    }

    /// Scans the rest of a string; returns how many bytes were used.
    fn quoted_run(&mut self, bytes: &[u8]) -> usize {
        let mut at = 0;
        while at < bytes.len() {
            if self.escaped {
                self.escaped = false;
                at += 1;
                continue;
            }
            let Some(step) = bytes[at..].iter().position(|&byte| byte == b'"' || byte == b'\\')
            else {
                return bytes.len();
            };
            at += step + 1;
            if bytes[at - 1] == b'"' {
                self.quoted = false;
                return at;
            }
            self.escaped = true;
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::ValueScan;

    #[test]
    fn ends_where_the_parser_ends() {
        for (text, end) in [
            (r#"{"a":"}\"]"} ,"#, Some(12)),
            ("[[],{}],", Some(7)),
            (r#""a\\","#, Some(5)),
            ("12,", Some(2)),
            ("null}", Some(4)),
            ("true", None),
            (r#"{"a":"#, None),
            (r#""open"#, None),
        ] {
            assert_eq!(ValueScan::default().end(text.as_bytes()), end, "{text}");
            let mut bytewise = ValueScan::default();
            let found =
                text.bytes().enumerate().find_map(|(at, byte)| Some(at + bytewise.end(&[byte])?));
            assert_eq!(found, end, "{text}, byte by byte");
        }
    }
}
