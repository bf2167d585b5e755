//! Sentences that readers stumbled over, which must not come back.

use std::fs;

use crate::support::{files, root};

/// What the program, its comments and its pages once said.
const STUMBLED_OVER: [&str; 20] = [
    "everything that there is",
    "judged as of one time",
    "until this is said once",
    "count for nothing",
    "counts for nothing",
    "that nobody looks at",
    "does not revert it; the backend volume may be",
    "can destroy the data of all",
    "so that their claims are what it says",
    "have claims follow",
    "a reinstall may be in progress",
    "registration and latest acts",
    "exists: it was not asked",
    "whether it exists was not asked",
    "ages are counted to",
    "of it is not ready",
    "younger of the remaining times",
    "make sure that its controller is running",
    "as long as no controller can have acted",
    "findings follows from another",
];

/// Words that name no actor, in pages: a controller, a client or a person has a name.
const NAMELESS: [&str; 5] = ["nobody", "somebody", "whoever", "anybody", "everybody"];

/// Where a text says one of these, upper or lower case, broken between lines or not.
fn said(path: &str, text: &str, phrases: &[&str]) -> Vec<String> {
    let text = text.replace("\\\n", " ").replace("///", " ").replace("//!", " ");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    let found = phrases.iter().filter(|it| text.contains(**it));
    found.map(|it| format!("{path}: {it}")).collect()
}

fn wrong(folders: &[&str], phrases: &[&str]) -> Vec<String> {
    let root = root();
    let papers = ["README.md", "CHANGELOG.md", "SECURITY.md", "CONTRIBUTING.md"];
    let mut paths: Vec<_> = papers.iter().map(|it| root.join(it)).collect();
    paths.extend(folders.iter().flat_map(|folder| files(&root.join(folder), "")));
    assert!(paths.len() > 20, "{paths:?}");
    let said = |path: &std::path::PathBuf| {
        let text = fs::read_to_string(path).unwrap_or_default();
        said(&path.strip_prefix(&root).unwrap_or(path).display().to_string(), &text, phrases)
    };
    paths.iter().flat_map(said).collect()
}

#[test]
fn what_readers_stumbled_over_is_gone() {
    let found = wrong(&["src", "docs", "tests/cli", "deploy"], &STUMBLED_OVER);
    assert!(found.is_empty(), "find a plainer sentence:\n  {}", found.join("\n  "));
}

#[test]
fn pages_name_who_acts() {
    let found = wrong(&["docs"], &NAMELESS);
    assert!(found.is_empty(), "name the actor:\n  {}", found.join("\n  "));
}

#[test]
fn a_phrase_is_seen() {
    let broken = "/// Everything that\n/// there is:\n";
    assert_eq!(said("a", broken, &STUMBLED_OVER), ["a: everything that there is"]);
    assert_eq!(said("a", "it \\\n     counts for nothing", &STUMBLED_OVER).len(), 1);
    assert_eq!(said("a", "the controller", &NAMELESS), [""; 0]);
}
