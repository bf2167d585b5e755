//! Translation of the messages of parsers into the words of Kubernetes, with the path of the field.

use std::io;

use serde_json::error::Category;

/// Greatest length of a text from the dump that is quoted in full.
const LONGEST_QUOTE: usize = 60;

/// Describes which field of an object in JSON is not what Kubernetes expects there.
pub fn explain(body: &str, error: &serde_json::Error) -> String {
    match error.classify() {
        Category::Syntax | Category::Eof | Category::Io => {
            format!("is not valid JSON: {}", syntax(error))
        }
        Category::Data => {
            let (field, reason) = misfit_at(body, error);
            if field.is_empty() { reason } else { format!("{field} {reason}") }
        }
    }
}

/// Returns the path of the value in JSON which is not what is expected.
pub fn path_of_misfit(body: &str, error: &serde_json::Error) -> Vec<FieldStep> {
    path_at(body, error.line(), error.column())
}

/// Returns the field of an object in JSON which is not what is expected, and how it differs.
pub(super) fn misfit_at(body: &str, error: &serde_json::Error) -> (String, String) {
    (shown(&path_of_misfit(body, error)), misfit(error))
}

/// Describes how a value differs from what is expected, in words that follow the name of its field.
pub(super) fn misfit(error: &serde_json::Error) -> String {
    let text = without_place(error);
    let told =
        |text: &str| text.split_once(", expected ").map(|(a, b)| (a.to_owned(), b.to_owned()));
    let rest = ["invalid type: ", "invalid value: "].iter().find_map(|it| text.strip_prefix(it));
    if let Some((found, wanted)) = rest.and_then(told) {
        return format!("is {}, not {}", found_value(&found), wanted_value(&wanted));
    }
    if let Some(name) = text.strip_prefix("missing field ") {
        return format!("has no {}", name.trim_matches('`'));
    }
    if text.starts_with("duplicate field ") {
        return "occurs twice".to_owned();
    }
    if let Some((word, known)) = text.strip_prefix("unknown variant ").and_then(told) {
        let known = known.trim_start_matches("one of ").replace('`', "");
        return format!("is {}, not one of {known}", word.trim_matches('`'));
    }
    format!("cannot be read: {text}")
}

/// Describes the fault of a text that is no JSON.
pub(super) fn syntax(error: &serde_json::Error) -> String {
    let text = without_place(error);
    match &*text {
        "expected ident" => "neither true, false nor null".to_owned(),
        "expected value" => "a value is missing".to_owned(),
        "key must be a string" => "expected a name in quotes".to_owned(),
        "recursion limit exceeded" => "it is nested too deeply".to_owned(),
        _ if text.starts_with("control character ") => {
            "a line break or another control character within a text".to_owned()
        }
        _ => text,
    }
}

/// Describes why bytes could not be read. The texts are those of flate2 and tar.
pub(super) fn unreadable(error: &io::Error) -> String {
    let text = error.to_string();
    let plain = match &*text {
        "incomplete deflate stream" | "unexpected end of file" | "failed to read entire block" => {
            "it is truncated"
        }
        "corrupt gzip stream does not have a matching checksum" => {
            "it is damaged, its checksum does not match"
        }
        "archive header checksum mismatch" => {
            "the archive is damaged, the checksum of a file's header does not match"
        }
        "invalid gzip header" | "corrupt deflate stream" | "deflate decompression error" => {
            "the gzip data is damaged"
        }
        _ => return text,
    };
    plain.to_owned()
}

/// Describes something that is no object, in words that follow its name.
pub(super) fn not_an_object(found: &str) -> String {
    format!("is {found}, not an object")
}

/// Returns the name of the type of a JSON value that begins with this byte.
pub(super) fn begins(byte: u8) -> &'static str {
    match byte {
        b'"' => "a text",
        b'[' => "a list",
        b'{' => "an object",
        b'n' => "null",
        b't' | b'f' => "a boolean",
        _ => "a number",
    }
}

/// Returns the fault without the position, which is relative to a slice that the reader does not know.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rfind(" at line ").map_or(text.as_str(), |end| &text[..end]).to_owned()
}

/// Translates serde's `string "x"`.
fn found_value(found: &str) -> String {
    let (what, value) = found.split_once(' ').unwrap_or((found, ""));
    let value = value.trim_start_matches("point ").trim_matches('`');
    match what {
        "string" | "character" if value.len() <= LONGEST_QUOTE => format!("the text {value}"),
        "string" | "character" => "a text".to_owned(),
        "integer" | "floating" => format!("the number {value}"),
        "boolean" => value.to_owned(),
        "null" | "unit" | "Option" => "null".to_owned(),
        "sequence" => "a list".to_owned(),
        "map" => "an object".to_owned(),
        _ => "something else".to_owned(),
    }
}

/// Translates serde's `struct ObjectReference`.
fn wanted_value(wanted: &str) -> String {
    let plain = wanted.strip_prefix("a ").or(wanted.strip_prefix("an ")).unwrap_or(wanted);
    match plain.split(' ').next().unwrap_or_default() {
        "struct" | "map" | "object" => "an object".to_owned(),
        "sequence" | "list" | "tuple" | "array" => "a list".to_owned(),
        "string" | "str" | "text" => "a text".to_owned(),
        "boolean" | "bool" => "true or false".to_owned(),
        "f32" | "f64" => "a number".to_owned(),
        "i64" | "isize" => "a whole number".to_owned(),
        "u64" | "usize" => "a whole number from 0".to_owned(),
        "i8" | "i16" | "i32" => format!("a whole number of {} bits", &plain[1..]),
        "u8" | "u16" | "u32" => format!("a whole number from 0 of {} bits", &plain[1..]),
        // An enum of ours; which words it has does not help.
        "variant" | "enum" => "one of the known words".to_owned(),
        _ => wanted.to_owned(),
    }
}

/// Step on the way to a value in JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldStep {
    /// A member of an object.
    Key(String),
    /// An element of a list, from 0.
    Index(usize),
}

/// Returns the path of the value at which the parser stopped: one that ends there, or begins.
///
/// Line and column are serde's: from 1, and the bytes of that line which it had taken.
fn path_at(body: &str, line: usize, column: usize) -> Vec<FieldStep> {
    let before: usize = body.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let stop = before + column;
    let bytes = body.as_bytes();
    let mut path = Vec::new();
    let mut wants_key = false;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let begins = at;
        at += 1;
        match byte {
            b'{' | b'[' if begins >= stop => break,
            b'{' => {
                path.push(FieldStep::Key(String::new()));
                wants_key = true;
            }
            b'[' => path.push(FieldStep::Index(0)),
            b'}' | b']' => {
                path.pop();
                if at >= stop {
                    break;
                }
            }
            b':' => wants_key = false,
            b',' => match path.last_mut() {
                Some(FieldStep::Index(index)) => *index += 1,
                Some(FieldStep::Key(_)) | None => wants_key = true,
            },
            b'"' => {
                at = end_of_text(bytes, at);
                match path.last_mut() {
                    Some(FieldStep::Key(key)) if wants_key => {
                        *key = serde_json::from_str(&body[begins..at]).unwrap_or_default();
                    }
                    _ if at >= stop => break,
                    _ => {}
                }
            }
            byte if byte.is_ascii_whitespace() => {}
            _ => {
                let ends =
                    |byte: &u8| matches!(byte, b',' | b'}' | b']') || byte.is_ascii_whitespace();
                at = bytes[at..].iter().position(ends).map_or(bytes.len(), |end| at + end);
                if at >= stop {
                    break;
                }
            }
        }
    }
    path
}

/// Returns the end of a text of which the quote before `at` is the beginning.
fn end_of_text(bytes: &[u8], mut at: usize) -> usize {
    while let Some(byte) = bytes.get(at) {
        at += if *byte == b'\\' { 2 } else { 1 };
        if *byte == b'"' {
            break;
        }
    }
    at.min(bytes.len())
}

/// Returns a path as text: `spec.accessModes[1]`, `metadata.annotations["example.com/text"]`.
fn shown(path: &[FieldStep]) -> String {
    let mut text = String::new();
    for step in path {
        match step {
            FieldStep::Index(index) => text.extend(["[", &index.to_string(), "]"]),
            FieldStep::Key(key)
                if key.chars().all(|c| c.is_ascii_alphanumeric()) && !key.is_empty() =>
            {
                if !text.is_empty() {
                    text.push('.');
                }
                text.push_str(key);
            }
            FieldStep::Key(key) => {
                let key: String = key.chars().take(LONGEST_QUOTE).collect();
                text.extend(["[", &format!("{key:?}"), "]"]);
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::explain;

    #[derive(Debug, Default, Deserialize)]
    #[serde(default, rename_all = "camelCase")]
    struct Thing {
        metadata: ThingMetadata,
        replicas: i32,
        items: Vec<ThingMetadata>,
    }

    #[derive(Debug, Default, Deserialize)]
    #[serde(default)]
    struct ThingMetadata {
        name: String,
        labels: BTreeMap<String, String>,
        done: Option<bool>,
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only decoded")]
    struct Strict {
        role: String,
    }

    #[test]
    fn what_does_not_fit_is_told_by_its_field() {
        for (body, told) in [
            (r#"{"metadata": "x"}"#, r#"metadata is the text "x", not an object"#),
            (r#"{"metadata": 5}"#, "metadata is the number 5, not an object"),
            (r#"{"metadata": null}"#, "metadata is null, not an object"),
            (r#"{"replicas": "3"}"#, r#"replicas is the text "3", not a whole number of 32 bits"#),
            (r#"{"replicas": 1.5}"#, "replicas is the number 1.5, not a whole number of 32 bits"),
            (
                r#"{"replicas": 99999999999, "metadata": {}}"#,
                "replicas is the number 99999999999, not a whole number of 32 bits",
            ),
            (r#"{"replicas": {"a": 1}}"#, "replicas is an object, not a whole number of 32 bits"),
            (r#"{"a": [{}], "items": {}}"#, "items is an object, not a list"),
            (
                "{\"items\": [\n {\"name\": \"a\\\"}\"},\n {\"name\": [\"b\"]}]}",
                "items[1].name is a list, not a text",
            ),
            (
                r#"{"metadata": {"labels": {"a": "b", "example.com/x": true}}}"#,
                r#"metadata.labels["example.com/x"] is true, not a text"#,
            ),
            (
                r#"{"metadata": {"done": "no"}, "replicas": 1}"#,
                r#"metadata.done is the text "no", not true or false"#,
            ),
            ("{\"a\": tru}", "is not valid JSON: neither true, false nor null"),
            ("[", "is not valid JSON: EOF while parsing a list"),
        ] {
            let error = serde_json::from_str::<Thing>(body).expect_err(body);
            assert_eq!(explain(body, &error), told, "{body}: {error}");
        }
        let long = format!(r#"{{"metadata": "{}"}}"#, "x".repeat(100));
        let error = serde_json::from_str::<Thing>(&long).expect_err(&long);
        assert_eq!(explain(&long, &error), "metadata is a text, not an object");
        let error = serde_json::from_str::<Strict>("{}").expect_err("because it is empty");
        assert_eq!(explain("{}", &error), "has no role");
    }
}
