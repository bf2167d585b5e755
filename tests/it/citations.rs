//! Every id that code, tests and documents cite is defined in `docs/semantics`, once.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use kubectl_storage::rules::{REGISTRY, USAGE};

use crate::support::{files, read, root};

/// Where the definitions are.
const PAGES: &str = "docs/semantics";
/// Where citations are looked for.
const FOLDERS: [&str; 4] = ["src", "tests", "benches", "docs"];
/// What the files with citations are called at their end; the testbed's scripts have no suffix.
const SUFFIXES: [&str; 8] =
    [".rs", ".go", ".md", ".yaml", ".bash", "testbed/build", "testbed/check", "testbed/up"];
/// Documents that are not part of the repository.
const ELSEWHERE: [&str; 7] =
    ["SEMANTICS", "DESIGN", "DEPENDENCIES", "PEERS", "STYLE", "WORDS", "TESTBED"];
/// This file holds samples of ids that are defined nowhere.
const SAMPLES: &str = "tests/it/citations.rs";

/// A file, by its path in the package.
struct Document {
    path: String,
    text: String,
}

/// An id where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    path: String,
    line: usize,
    id: String,
}

impl Place {
    fn describe(&self) -> String {
        format!("{}:{}: {}", self.path, self.line, self.id)
    }
}

fn documents(folder: &str, suffixes: &[&str]) -> Vec<Document> {
    let root = root();
    let found = suffixes.iter().flat_map(|suffix| files(&root.join(folder), suffix));
    let document = |path: PathBuf| {
        let name = path.strip_prefix(&root).expect("because it was found there");
        Document { path: name.to_string_lossy().into_owned(), text: read(&path) }
    };
    found.map(document).filter(|it| it.path != SAMPLES).collect()
}

fn pages() -> Vec<Document> {
    let pages = documents(PAGES, &[".md"]);
    assert!(pages.len() > 5, "the pages are elsewhere");
    pages
}

fn at(document: &Document, line: usize, id: String) -> Place {
    Place { path: document.path.clone(), line: line + 1, id }
}

/// Returns everything that a document cites.
fn citations(document: &Document) -> Vec<Place> {
    let mut found = Vec::new();
    // Fixtures are data: a uid may look like anything.
    let is_data = Path::new(&document.path).extension().is_some_and(|it| it == "yaml");
    for (line, text) in document.text.lines().enumerate() {
        let comment = comment_from(&document.path, text);
        let from = if is_data { comment } else { 0 };
        found.extend(ids(text, from, comment).into_iter().map(|id| at(document, line, id)));
    }
    found
}

/// Where the comment of a line begins; its end if it has none.
fn comment_from(path: &str, line: &str) -> usize {
    let (mark, before): (&str, fn(char) -> bool) = match path.rsplit_once('.') {
        Some((_, "md")) => return 0,
        Some((_, "rs" | "go")) => ("//", |c| c != ':'),
        _ => ("#", char::is_whitespace),
    };
    let begins = |(place, _): &(usize, &str)| line[..*place].chars().next_back().is_none_or(before);
    line.match_indices(mark).find(begins).map_or(line.len(), |(place, _)| place)
}

/// Returns the ids in a line from a place on; letters that are only ids in comments count from
/// another place on.
fn ids(line: &str, from: usize, comment: usize) -> Vec<String> {
    let mut found = Vec::new();
    let mut before = None;
    for (place, c) in line.char_indices() {
        let inside = before.is_some_and(|it: char| it.is_alphanumeric() || "_/+=.".contains(it));
        if place >= from && !inside {
            found.extend(id(&line[place..], place >= comment));
        }
        before = Some(c);
    }
    found
}

/// Parses the id that a text begins with.
fn id(text: &str, in_comment: bool) -> Option<String> {
    if let Some(rest) = text.strip_prefix("d_") {
        let number = digits(rest);
        let is_test = (2..=3).contains(&number.len()) && rest[number.len()..].starts_with('_');
        return is_test.then(|| format!("D-{number}"));
    }
    if let Some(rest) = text.strip_prefix("semantics#") {
        let name = run(rest, |c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
        return Some(format!("semantics#{}", name.trim_end_matches('-')));
    }
    let mut characters = text.chars();
    let (letter, dashed) = (characters.next()?, characters.next()? == '-');
    let rest = text.get(if dashed { 2 } else { 1 }..)?;
    let length = match (letter, dashed) {
        ('F', false) | ('D', true) => numbered(rest, 2, 3)?,
        ('T', false) if in_comment => numbered(rest, 1, 2)?,
        ('M', false) if in_comment => numbered(rest, 1, 1)?,
        ('R', true) => {
            let area = run(rest, |c| c.is_ascii_uppercase() || c.is_ascii_digit());
            let number = rest[area.len()..].strip_prefix('-').filter(|_| area.len() > 2)?;
            area.len() + 1 + numbered(number, 1, 2)?
        }
        ('P', true) => {
            let words = run(rest, |c| c.is_ascii_uppercase() || c == '-').trim_end_matches('-');
            ends(&rest[words.len()..]).filter(|()| words.len() > 2).map(|()| words.len())?
        }
        _ => return None,
    };
    Some(text[..text.len() - rest.len() + length].to_owned())
}

fn run(text: &str, part: impl Fn(char) -> bool) -> &str {
    &text[..text.find(|c| !part(c)).unwrap_or(text.len())]
}

fn digits(text: &str) -> &str {
    run(text, |c| c.is_ascii_digit())
}

/// Returns the length of a number of so many digits; the letter of one of its parts may follow.
fn numbered(text: &str, shortest: usize, longest: usize) -> Option<usize> {
    let number = digits(text).len();
    let rest = &text[number..];
    let part = rest.strip_prefix(|c: char| c.is_ascii_lowercase()).unwrap_or(rest);
    let fits = (shortest..=longest).contains(&number);
    ends(part).filter(|()| fits).map(|()| number)
}

fn ends(rest: &str) -> Option<()> {
    (!rest.starts_with(|c: char| c.is_alphanumeric() || c == '_')).then_some(())
}

/// Returns everything that a page defines: ids in bold type at the beginning of a line, and its
/// headings.
fn definitions(page: &Document) -> Vec<Place> {
    let mut found = Vec::new();
    for (line, text) in page.text.lines().enumerate() {
        let bold = text.strip_prefix("**").and_then(|rest| rest.split_once("**"));
        let defined =
            bold.map(|(name, _)| name).filter(|name| id(name, true).as_deref() == Some(name));
        let heading = text.starts_with('#').then(|| anchor(text.trim_start_matches('#').trim()));
        found.extend(defined.map(|it| at(page, line, it.to_owned())));
        found.extend(heading.map(|it| at(page, line, format!("semantics#{it}"))));
    }
    found
}

/// The anchor that a heading gets.
fn anchor(heading: &str) -> String {
    let lower = heading.to_lowercase().replace(' ', "-");
    lower.chars().filter(|c| c.is_alphanumeric() || *c == '-').collect()
}

fn undefined(cited: &[Place], defined: &[Place]) -> Vec<String> {
    let known: BTreeSet<_> = defined.iter().map(|it| &it.id).collect();
    cited.iter().filter(|it| !known.contains(&it.id)).map(Place::describe).collect()
}

fn defined_again(defined: &[Place]) -> Vec<String> {
    let mut known = BTreeSet::new();
    defined.iter().filter(|it| !known.insert(&it.id)).map(Place::describe).collect()
}

#[test]
fn what_is_cited_is_defined() {
    let cited: Vec<_> = FOLDERS
        .iter()
        .flat_map(|folder| documents(folder, &SUFFIXES))
        .flat_map(|document| citations(&document))
        .collect();
    let defined: Vec<_> = pages().iter().flat_map(definitions).collect();
    let of_code = cited.iter().filter(|it| !it.path.starts_with("docs/")).count();
    assert!(of_code > 200, "only {of_code} citations were found outside of docs");
    let wrong = undefined(&cited, &defined);
    assert!(wrong.is_empty(), "{PAGES} does not define what is cited in\n{}", wrong.join("\n"));
}

#[test]
fn what_is_defined_is_defined_once() {
    let defined: Vec<_> = pages().iter().flat_map(definitions).collect();
    assert!(defined.len() > 150, "only {} definitions were found", defined.len());
    let wrong = defined_again(&defined);
    assert!(wrong.is_empty(), "defined before:\n{}", wrong.join("\n"));
}

/// The documents that the comments of a file cite, and that whoever reads it does not have.
fn citations_of_elsewhere(document: &Document) -> Vec<Place> {
    let mut found = Vec::new();
    for (line, text) in document.text.lines().enumerate() {
        let comment = &text[comment_from(&document.path, text)..];
        let words = comment.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let elsewhere = words.filter(|word| ELSEWHERE.contains(word));
        found.extend(elsewhere.map(|word| at(document, line, word.to_owned())));
    }
    found
}

#[test]
fn no_document_is_cited_that_is_not_here() {
    let documents = FOLDERS.iter().flat_map(|folder| documents(folder, &SUFFIXES));
    let cited = documents.flat_map(|document| citations_of_elsewhere(&document));
    let wrong: Vec<_> = cited.map(|it| it.describe()).collect();
    assert!(wrong.is_empty(), "not in the repository:\n{}", wrong.join("\n"));
    let sample = document("src/any.rs", "const STYLE: u8 = 0; // see DESIGN 9, REDESIGN\n");
    let found: Vec<_> = citations_of_elsewhere(&sample).iter().map(Place::describe).collect();
    assert_eq!(found, ["src/any.rs:1: DESIGN"]);
}

/// The targets of a page's links, with their lines.
fn links(page: &Document) -> Vec<Place> {
    let of = |(line, text): (usize, &str)| {
        let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
        targets.map(|(target, _)| at(page, line, target.to_owned())).collect::<Vec<_>>()
    };
    page.text.lines().enumerate().flat_map(of).collect()
}

#[test]
fn links_between_the_pages_lead_somewhere() {
    let pages = pages();
    let mut targets: BTreeSet<String> = BTreeSet::new();
    for page in &pages {
        let name = page.path.trim_start_matches(PAGES).trim_start_matches('/');
        targets.insert(name.to_owned());
        for heading in definitions(page) {
            targets.extend(heading.id.strip_prefix("semantics").map(|it| format!("{name}{it}")));
        }
    }
    let mut seen = 0;
    for page in &pages {
        let name = page.path.trim_start_matches(PAGES).trim_start_matches('/');
        for link in links(page).iter().filter(|it| !it.id.contains("//")) {
            seen += 1;
            let own = link.id.starts_with('#').then(|| format!("{name}{}", link.id));
            let target = own.unwrap_or_else(|| link.id.clone());
            let leads = match target.strip_prefix("../") {
                Some(outside) => root().join("docs").join(outside).is_file(),
                None => targets.contains(&target),
            };
            assert!(leads, "{}", link.describe());
        }
    }
    assert!(seen > 20, "only {seen} links were found");
}

/// The words in backticks that follow an id in bold type, by that id.
fn named(pages: &[Document]) -> BTreeMap<String, String> {
    let mut named = BTreeMap::new();
    for line in pages.iter().flat_map(|page| page.text.lines()) {
        let Some((id, rest)) = line.strip_prefix("**").and_then(|it| it.split_once("** `")) else {
            continue;
        };
        if let Some((name, _)) = rest.split_once('`') {
            named.insert(id.to_owned(), name.to_owned());
        }
    }
    named
}

#[test]
fn every_finding_has_its_number_and_its_name() {
    let named = named(&pages());
    let findings: Vec<_> = named.iter().filter(|(id, _)| id.starts_with('F')).collect();
    let defined: BTreeSet<&str> = findings.iter().map(|(_, name)| &***name).collect();
    assert_eq!(defined.len(), findings.len(), "two numbers have the same name");
    let rules = REGISTRY.iter().chain(USAGE);
    let rules: BTreeSet<&str> = rules.map(|rule| rule.id).collect();
    let odd: Vec<_> = defined.symmetric_difference(&rules).collect();
    assert!(odd.is_empty(), "either not a rule, or not in {PAGES}/findings.md: {odd:?}");
}

fn document(path: &str, text: &str) -> Document {
    Document { path: path.to_owned(), text: text.to_owned() }
}

fn cited(path: &str, text: &str) -> Vec<String> {
    citations(&document(path, text)).into_iter().map(|it| it.id).collect()
}

#[test]
fn citations_are_found_in_every_form() {
    for (text, found) in [
        ("// (F98, R-2644-98; P-NEVER-SENT)", &["F98", "R-2644-98", "P-NEVER-SENT"][..]),
        ("//! F97: text", &["F97"]),
        ("/// F95-F96 and R-PVCP-98e, T98.", &["F95", "F96", "R-PVCP-98", "T98"]),
        ("(\"F98 live\", kept), // M9", &["F98", "M9"]),
        ("Self::Depends => \"R-1847-98\",", &["R-1847-98"]),
        ("fn d_98_a_volume() {", &["D-98"]),
        ("// (D-98 to D-99, D-198)", &["D-98", "D-99", "D-198"]),
        ("// as semantics#no-such-heading.", &["semantics#no-such-heading"]),
    ] {
        assert_eq!(cited("src/any.rs", text), found, "{text}");
    }
    assert_eq!(cited("tests/rules/a/found.yaml", "# by a::d_98_b: F98"), ["D-98", "F98"]);
    assert_eq!(cited("docs/any.md", "(F98) T98"), ["F98", "T98"]);
    assert_eq!(cited("tests/testbed/build", "x=1 # F98"), ["F98"]);
}

#[test]
fn what_only_looks_like_a_citation_is_none() {
    for text in [
        "let token = \"T98\"; // https://example.com/F98",
        "// 3F98 F9 F9876 F98_ XF98 a/F98 D-9 R-26 R-X-1 P-NO P-Nothing id_98_a d_9_a F98ab",
        "const M9: &str = \"f98\";",
        "PATH-ONLY, KEP-2644, RFC-3339, 13-98",
    ] {
        assert_eq!(cited("src/any.rs", text), Vec::<String>::new(), "{text}");
    }
    assert!(cited("tests/rules/a/found.yaml", "  uid: F98 # F98").len() == 1);
    assert!(cited("tests/rules/a/found.yaml", "  name: F98#F98").is_empty());
}

#[test]
fn definitions_are_ids_in_bold_type_at_the_beginning_and_headings() {
    let text =
        "# One page\n**F98** text **F97**\n**Not an id.** F96\n## What, and why\n - **F95**\n";
    let defined = definitions(&document("docs/any.md", text));
    let ids: Vec<_> = defined.iter().map(|it| (it.line, &*it.id)).collect();
    assert_eq!(ids, [(1, "semantics#one-page"), (2, "F98"), (4, "semantics#what-and-why")]);
}

#[test]
fn what_is_missing_or_twice_is_told_with_its_place() {
    let pages = [document("docs/a.md", "**F98**\n"), document("docs/b.md", "\n**F98**\n**F97**\n")];
    let defined: Vec<_> = pages.iter().flat_map(definitions).collect();
    assert_eq!(defined_again(&defined), ["docs/b.md:2: F98"]);
    let code = citations(&document("src/any.rs", "// F98\n\nfn d_98_x() {} // F96\n"));
    assert_eq!(undefined(&code, &defined), ["src/any.rs:3: D-98", "src/any.rs:3: F96"]);
}
