//! That a 404 proves something only where an API server has written it, and said of what.

use super::{Source, assert_none, sources, words};

/// Files that read the code of an answer: what counts as absence is decided in the first three, for
/// reads and for writes; the others do not talk to an API server.
const READERS: [&str; 5] = [
    "src/client/decoding.rs",
    "src/client/reader.rs",
    "src/client/read_error.rs",
    "src/apply/writer.rs",
    "src/watch/report/server.rs",
];

/// Other ways to read a 404 than `is_absence_of` and `is_not_served`.
fn readings(sources: &[Source]) -> Vec<String> {
    let mut wrong = Vec::new();
    for source in sources.iter().filter(|source| !READERS.contains(&&*source.path)) {
        let found = words(&source.code).filter(|word| {
            matches!(*word, "404" | "NOT_FOUND" | "is_not_found" | "is_client_error")
        });
        wrong.extend(found.map(|word| format!("{}: {word}", source.path)));
        // A range that contains it.
        let ranges = source.code.match_indices("..=").filter_map(|(at, _)| {
            let digits = |text: &str| text.parse::<u16>().ok();
            let (before, after) =
                (source.code.get(at.checked_sub(3)?..at)?, &source.code[at + 3..]);
            Some((digits(before)?, digits(after.get(..3)?)?))
        });
        let around = ranges.filter(|(first, last)| (first..=last).contains(&&404));
        wrong.extend(around.map(|(first, last)| format!("{}: {first}..={last}", source.path)));
        if source.code.contains("NotFound { object") {
            wrong.push(format!("{}: NotFound", source.path));
        }
    }
    wrong
}

#[test]
fn only_an_api_servers_own_404_is_absence() {
    assert_none(&readings(&sources(&["src"])), "use is_absence_of or is_not_served");
}

#[test]
fn another_reading_of_a_404_is_seen() {
    for (text, hits) in [
        ("match error { WriteError::Rejected { code: 404, .. } => {} }", 1),
        ("if error.code() == Some(404) {}", 1),
        ("status == StatusCode::NOT_FOUND", 1),
        ("matches!(error.code(), Some(403..=405))", 1),
        ("matches!(error.code(), Some(500..=599))", 0),
        ("matches!(error, ReadError::NotFound { object: Some(_), .. })", 1),
        ("Err(error) if error.is_absence_of(name) => Ok(None)", 0),
        ("error.kind() == io::ErrorKind::NotFound", 0),
        ("[\"not found\", \"404\"].contains(error)", 0),
    ] {
        assert_eq!(readings(&[Source::new("src/sources/a.rs", text)]).len(), hits, "{text}");
        assert!(readings(&[Source::new("src/apply/writer.rs", text)]).is_empty(), "{text}");
    }
}
