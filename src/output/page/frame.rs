//! The document around a page: its head, a content security policy that allows its own style and script and nothing
//! else, and how text gets into it.

use std::{
    fmt::{self, Write as _},
    io::{self, Write},
};

use k8s_openapi::ByteString;
use sha2::{Digest as _, Sha256};

use crate::output::lines::readable;

const FRAME: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");

/// Writes a document with its head and its policy. Without a script it allows none.
///
/// # Errors
/// When writing fails.
pub(super) fn document(
    out: &mut dyn Write,
    title: &str,
    script: Option<&str>,
    body: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let (before, after) = FRAME.split_once("{{body}}").unwrap_or((FRAME, ""));
    let script_source = script.map_or_else(|| "'none'".to_owned(), source);
    let before = before
        .replace("{{script-source}}", &script_source)
        .replace("{{style-source}}", &source(STYLE))
        .replace("{{style}}", STYLE)
        // Last, for it is not ours: what it contains is replaced by nothing.
        .replace("{{title}}", &Escaped(title).to_string());
    out.write_all(before.as_bytes())?;
    body(out)?;
    if let Some(script) = script {
        writeln!(out, "<script>{script}</script>")?;
    }
    out.write_all(after.as_bytes())
}

/// Returns the source that allows one inline script or style: its hash.
fn source(text: &str) -> String {
    let digest = ByteString(Sha256::digest(text.as_bytes()).to_vec());
    // The base64 of a crate that is here anyway.
    let digest = serde_json::to_value(digest).unwrap_or_default();
    format!("'sha256-{}'", digest.as_str().unwrap_or_default())
}

/// A text from any origin as HTML, in content as in a quoted attribute: what people read, without control and bidi
/// characters.
pub(super) struct Escaped<'t>(pub &'t str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for letter in readable(self.0).chars() {
            match letter {
                '&' => formatter.write_str("&amp;")?,
                '<' => formatter.write_str("&lt;")?,
                '>' => formatter.write_str("&gt;")?,
                '"' => formatter.write_str("&quot;")?,
                '\'' => formatter.write_str("&#39;")?,
                other => formatter.write_char(other)?,
            }
        }
        Ok(())
    }
}

/// Writer of JSON in an element, which no text in it can end. These letters only stand in strings.
pub(super) struct Island<'o>(pub &'o mut dyn Write);

impl Write for Island<'_> {
    fn write(&mut self, json: &[u8]) -> io::Result<usize> {
        for part in json.split_inclusive(|it| matches!(it, b'<' | b'>' | b'&')) {
            match part.split_last() {
                Some((letter @ (b'<' | b'>' | b'&'), before)) => {
                    self.0.write_all(before)?;
                    write!(self.0, "\\u{letter:04x}")?;
                }
                _ => self.0.write_all(part)?,
            }
        }
        Ok(json.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn printed(script: Option<&str>, title: &str) -> String {
        let mut out = Vec::new();
        document(&mut out, title, script, |_| Ok(())).expect("nothing fails to write into memory");
        String::from_utf8(out).expect("it is text")
    }

    #[test]
    fn the_policy_allows_the_script_and_the_style_that_are_there() {
        // `printf 'let a;' | openssl dgst -sha256 -binary | base64`
        let page = printed(Some("let a;"), "");
        assert!(
            page.contains("script-src 'sha256-81WALLbUROF1pWdYjuQYKuIcGgY/+TqVJr8UsV6Tkvo='"),
            "{page}"
        );
        assert!(page.contains("<script>let a;</script>\n</body>"), "{page}");
        assert!(printed(None, "").contains("script-src 'none'"));
        assert!(
            page.contains(&format!("style-src {}", source(STYLE)))
                && page.contains(&format!("<style>{STYLE}</style>"))
        );
        assert!(!page.contains("unsafe") && !page.contains("{{"), "{page}");
    }

    #[test]
    fn a_title_is_a_text() {
        let page = printed(None, "</title><script>{{style}}{{body}}");
        assert!(
            page.contains("<title>&lt;/title&gt;&lt;script&gt;{{style}}{{body}}</title>"),
            "{page}"
        );
    }

    proptest! {
        #[test]
        fn no_text_is_more_than_text(text in ".*") {
            let html = Escaped(&text).to_string();
            let is_clean = !html.contains(['<', '>', '"', '\'', '\u{202e}', '\u{0}']);
            prop_assert!(is_clean);
            let back = html.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&#39;", "'").replace("&amp;", "&");
            prop_assert_eq!(back, readable(&text));
        }

        #[test]
        fn an_island_is_the_same_json(text in any::<String>(), at in any::<prop::sample::Index>()) {
            let json = serde_json::to_vec(&[&text]).expect("it is JSON");
            let mut island = Vec::new();
            // In two writes, wherever the second begins.
            let (first, second) = json.split_at(at.index(json.len()));
            let mut out = Island(&mut island);
            out.write_all(first).and_then(|()| out.write_all(second)).expect("nothing fails to write into memory");
            prop_assert!(!island.iter().any(|it| b"<>&".contains(it)));
            let back: Vec<String> = serde_json::from_slice(&island).expect("it is JSON");
            prop_assert_eq!(&back[0], &text);
        }
    }
}
