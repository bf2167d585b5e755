//! One name, one thing: a reader who meets a type's name knows which type it is.

use std::collections::BTreeMap;

use super::{assert_none, source::Source, sources, words};

/// Of a hundred types, at most so many may share their name with another.
const MOST: usize = 10;
/// Public shapes carry the names of what they show.
const MIRRORS: &str = "src/output/wire.rs";
const DECLARES: [&str; 5] = ["struct", "enum", "trait", "union", "type"];
/// Names that every file has without an import, or that mean one thing to every reader.
const PRELUDE: [&str; 12] = [
    "Box", "Clone", "Default", "Err", "From", "Into", "Iterator", "Option", "Result", "Some",
    "String", "Vec",
];

/// Types by name, with the files that declare them. A type that a trait or an implementation
/// names is not a type of its own.
fn declared(sources: &[Source]) -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for source in sources.iter().filter(|source| source.path != MIRRORS) {
        for line in source.code.lines() {
            let mut words = words(line).filter(|word| !word.is_empty());
            let first = match words.next() {
                // What follows says how far it is visible.
                Some("pub") => words.find(|word| DECLARES.contains(word)),
                other => other,
            };
            let Some(keyword) = first.filter(|word| DECLARES.contains(word)) else { continue };
            let Some(name) = words.next() else { continue };
            let alias = keyword == "type" && line.starts_with(' ');
            if !alias && name.starts_with(|c: char| c.is_ascii_uppercase()) {
                found.entry(name.to_owned()).or_default().push(source.path.clone());
            }
        }
    }
    found
}

/// How many types there are, how many of them share their name, and those, most shared first.
fn shared(declared: &BTreeMap<String, Vec<String>>) -> (usize, usize, Vec<String>) {
    let all = declared.values().map(Vec::len).sum();
    let mut shared: Vec<_> = declared.iter().filter(|(_, files)| files.len() > 1).collect();
    shared.sort_by_key(|(_, files)| std::cmp::Reverse(files.len()));
    let count = shared.iter().map(|(_, files)| files.len()).sum();
    (
        all,
        count,
        shared.iter().map(|(name, files)| format!("{name}: {}", files.join(", "))).collect(),
    )
}

#[test]
fn a_name_stands_for_one_type() {
    let declared = declared(&sources(&["src"]));
    let (all, count, names) = shared(&declared);
    assert!(all > 500, "only {all} types were found");
    assert!(
        count * 100 <= all * MOST,
        "{count} of {all} types share their name with another:\n  {}",
        names.join("\n  ")
    );
    let hidden = PRELUDE.into_iter().filter(|name| declared.contains_key(*name));
    assert_none(&hidden.map(str::to_owned).collect::<Vec<_>>(), "hides a name of the prelude");
}

#[test]
fn a_name_that_stands_for_two_types_is_seen() {
    let sources = [
        Source::new("src/a.rs", "pub(in crate::a) struct Line;\nenum Held { A }\ntype X = u8;"),
        Source::new("src/b.rs", "    struct Line<'a> { a: &'a str }\ntype Held<'a> = &'a str;"),
        Source::new("src/c.rs", "impl Iterator for Y {\n    type X = u8;\n}\nfn structure() {}"),
        Source::new("src/d.rs", "#[cfg(test)]\nmod tests {\n    struct Line;\n}\n// struct Held;"),
        Source::new(MIRRORS, "pub struct Line;"),
    ];
    let (all, count, names) = shared(&declared(&sources));
    assert_eq!((all, count), (5, 4));
    assert_eq!(names, ["Held: src/a.rs, src/b.rs", "Line: src/a.rs, src/b.rs"]);
}
