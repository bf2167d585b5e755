//! What keeps the house in order: the walls that a workspace would have, as tests.

mod absence;
mod clock;
mod circles;
mod names;
mod picture;
mod platform;
mod source;

use std::collections::BTreeSet;

use source::Source;

use crate::support::{files, read, root};

/// Where nothing happens but thinking.
const PURE: [&str; 6] = ["model", "cluster", "facts", "remedies", "rules", "plan"];
/// Lines of a file, its tests apart.
const LONG: usize = 600;

fn sources(folders: &[&str]) -> Vec<Source> {
    let root = root();
    let mut sources = Vec::new();
    for folder in folders {
        for path in files(&root.join(folder), ".rs") {
            let name = path.strip_prefix(&root).expect("because it was found there");
            sources.push(Source::new(&name.to_string_lossy(), &read(&path)));
        }
    }
    assert!(!sources.is_empty());
    without_test_files(sources)
}

/// Takes out the files that only tests are compiled with, whatever they are called.
fn without_test_files(mut sources: Vec<Source>) -> Vec<Source> {
    let tests: BTreeSet<_> = sources.iter().flat_map(Source::test_modules).collect();
    sources.retain(|source| !tests.iter().any(|test| source.module().starts_with(test)));
    sources
}

/// The module list of the crate, in its order.
fn stages(lib: &str) -> Vec<String> {
    lib.lines()
        .filter_map(|line| {
            let line = line.strip_prefix("pub(crate) ").or_else(|| line.strip_prefix("pub "))?;
            line.strip_prefix("mod ")?.strip_suffix(';')
        })
        .map(str::to_owned)
        .collect()
}

fn imports_from_beneath(stages: &[String], sources: &[Source]) -> Vec<String> {
    let place = |name: &str| stages.iter().position(|stage| stage == name);
    let mut wrong = Vec::new();
    for source in sources {
        let Some(own) = place(&source.stage()) else { continue };
        for path in source.paths().iter().filter(|path| path[0] == "crate") {
            let beneath = path.get(1).and_then(|name| place(name)).is_some_and(|it| it > own);
            if beneath {
                wrong.push(format!("{}: {}", source.path, path.join("::")));
            }
        }
    }
    wrong
}

/// What in `rules` are no rules: what judges all of them, and what tells of one object.
const NO_RULES: [&str; 6] = ["assess", "causes", "explain", "finding", "mod", "retention"];

/// The kind of object whose rules are in a file.
fn rule_group(source: &Source) -> Option<&str> {
    let rest = source.path.strip_prefix("src/rules/")?;
    let group = rest.split('/').next()?.trim_end_matches(".rs");
    (!NO_RULES.contains(&group) && !rest.ends_with("/mod.rs")).then_some(group)
}

fn rules_that_import_rules(sources: &[Source]) -> Vec<String> {
    let groups: BTreeSet<_> = sources.iter().filter_map(rule_group).collect();
    let mut wrong = Vec::new();
    for source in sources.iter().filter(|source| rule_group(source).is_some()) {
        for path in source.paths() {
            let other = path.starts_with(&["crate".to_owned(), "rules".to_owned()])
                && path.get(2).is_some_and(|name| groups.contains(&**name))
                && !path[1..].starts_with(&source.module());
            if other {
                wrong.push(format!("{}: {}", source.path, path.join("::")));
            }
        }
    }
    wrong
}

fn impure(sources: &[Source]) -> Vec<String> {
    const FORBIDDEN: [&str; 8] = [
        "std::time::SystemTime",
        "std::time::Instant",
        "std::fs",
        "std::net",
        "std::process",
        "std::thread",
        "std::env",
        "tokio",
    ];
    let mut wrong = Vec::new();
    for source in sources.iter().filter(|source| PURE.contains(&&*source.stage())) {
        for path in source.paths() {
            let path = path.join("::");
            let hit =
                FORBIDDEN.iter().any(|it| path == **it || path.starts_with(&format!("{it}::")));
            let clock = ["Utc::now", "Local::now"].iter().any(|it| path.ends_with(it));
            if hit || clock {
                wrong.push(format!("{}: {path}", source.path));
            }
        }
        if words(&source.code).any(|word| matches!(word, "async" | "await")) {
            wrong.push(format!("{}: async", source.path));
        }
    }
    wrong
}

fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !c.is_alphanumeric() && c != '_')
}

/// Files that may post: the reviews, and the check that it is nothing else; messages to a webhook,
/// which never go to an API server.
const POSTS: [&str; 3] =
    ["src/client/api_request.rs", "src/client/reader.rs", "src/watch/report/webhook.rs"];

fn writes(sources: &[Source]) -> Vec<String> {
    const FORBIDDEN: [&str; 14] = [
        "Method::PUT",
        "Method::PATCH",
        "Method::DELETE",
        "Method::from_bytes",
        "Request::put",
        "Request::post",
        "Request::patch",
        "Request::delete",
        "Api::",
        "PatchParams",
        "DeleteParams",
        ".patch(",
        ".delete(",
        ".replace_status(",
    ];
    let mut wrong = Vec::new();
    for source in sources.iter().filter(|source| source.stage() != "apply") {
        let found = FORBIDDEN.iter().filter(|word| source.code.contains(**word));
        wrong.extend(found.map(|word| format!("{}: {word}", source.path)));
        // What opens a file is told what to do; what creates an object is given it. Journals and
        // `platform` create folders, and have no client.
        let creates = source.code.replace(".create(true)", "").contains(".create(")
            && !matches!(&*source.stage(), "journal" | "platform");
        let posts = source.code.contains("Method::POST") && !POSTS.contains(&&*source.path);
        let writer = words(&source.code).any(|word| word == "Writer");
        for (hit, what) in [(creates, ".create("), (posts, "Method::POST"), (writer, "Writer")] {
            if hit {
                wrong.push(format!("{}: {what}", source.path));
            }
        }
    }
    wrong
}

fn too_long(sources: &[Source]) -> Vec<String> {
    let long = sources.iter().filter(|source| source.lines > LONG);
    long.map(|it| format!("{}: {} lines, at most {LONG}", it.path, it.lines)).collect()
}

fn shapeless(sources: &[Source]) -> Vec<String> {
    const NAMES: [&str; 6] = ["util", "helper", "manager", "common", "misc", "imp.rs"];
    let file = |source: &Source| source.path.clone();
    let hit = |path: &String| NAMES.iter().any(|name| path.contains(name));
    sources.iter().map(file).filter(hit).collect()
}

fn leftovers(sources: &[Source]) -> Vec<String> {
    const FORBIDDEN: [&str; 7] =
        ["todo!", "unimplemented!", "dbg!", "#[ignore", "#[allow(", "#![allow(", ".unwrap()"];
    let mut wrong = Vec::new();
    for source in sources {
        // Tests are held to it as well; those of the extended suite say so.
        let text = source.text.replace("#[cfg(test)]", "");
        let text = text.replace("#[ignore = \"extended suite: ", "#[extended = \"");
        let whole = Source::new("whole.rs", &text);
        let found = FORBIDDEN.iter().filter(|word| whole.code.contains(**word));
        wrong.extend(found.map(|word| format!("{}: {word}", source.path)));
    }
    wrong
}

fn machine_paths(texts: &[(String, String)]) -> Vec<String> {
    let mut wrong = Vec::new();
    for (path, text) in texts {
        for folder in ["work", "root"] {
            let name = format!("/{folder}");
            let word =
                |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || "_-.{}*".contains(c));
            let hit = text.match_indices(&name).any(|(at, _)| {
                !word(text[..at].chars().next_back())
                    && !word(text[at + name.len()..].chars().next())
            });
            if hit {
                wrong.push(format!("{path}: {name}"));
            }
        }
    }
    wrong
}

/// Every text file that is published.
fn published() -> Vec<(String, String)> {
    let root = root();
    let mut texts = Vec::new();
    for entry in std::fs::read_dir(&root).expect("the package") {
        let path = entry.expect("because the folder was just read").path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = name.unwrap_or_default();
        if matches!(&*name, "target" | ".git") {
            continue;
        }
        let found = if path.is_dir() { files(&path, "") } else { vec![path] };
        for path in found {
            let name = path.strip_prefix(&root).expect("because it was found there");
            if let Ok(text) = std::fs::read_to_string(&path) {
                texts.push((name.display().to_string(), text));
            }
        }
    }
    texts
}

#[track_caller]
fn assert_none(wrong: &[String], why: &str) {
    assert!(wrong.is_empty(), "{why}:\n  {}", wrong.join("\n  "));
}

#[test]
fn modules_import_only_from_those_above_them() {
    let lib = read(&root().join("src/lib.rs"));
    let stages = stages(&lib);
    assert_eq!(stages.len(), 20, "{stages:?}");
    let wrong = imports_from_beneath(&stages, &sources(&["src"]));
    assert_none(&wrong, "imported from beneath: it lives in the wrong place");
}

#[test]
fn rules_do_not_import_rules() {
    let wrong = rules_that_import_rules(&sources(&["src"]));
    assert_none(&wrong, "what two rules share is a fact");
}

#[test]
fn thinking_touches_nothing() {
    assert_none(&impure(&sources(&["src"])), "no clock, no I/O and no async there");
}

#[test]
fn only_apply_writes() {
    assert_none(&writes(&sources(&["src"])), "only `apply` may write to a cluster");
}

#[test]
fn files_can_be_read_at_a_sitting() {
    assert_none(&too_long(&sources(&["src", "tests"])), "too long");
    assert_none(&shapeless(&sources(&["src", "tests"])), "a name that says nothing");
}

#[test]
fn nothing_is_left_over() {
    assert_none(&leftovers(&sources(&["src", "tests"])), "left over");
    assert_none(&machine_paths(&published()), "only on the machine where it was written");
}

#[test]
fn a_breach_of_the_order_is_seen() {
    let stages = stages("//! `pub mod x;`\npub mod model;\npub(crate) mod rules;\npub mod cli;\n");
    assert_eq!(stages, ["model", "rules", "cli"]);
    for (path, text, hits) in [
        ("src/model/a.rs", "use crate::rules::Rule;", 1),
        ("src/model/a.rs", "fn f() { use crate::{model::A, cli::{b, c}}; }", 2),
        ("src/rules/mod.rs", "fn f() -> super::cli::Exit { todo() }", 1),
        ("src/rules/a/b.rs", "use super::super::super::cli;", 1),
        ("src/rules/a.rs", "use crate::model::A; use super::model::B;", 0),
        ("src/cli/a.rs", "use crate::model::A;", 0),
        ("src/model/a.rs", "#[cfg(test)] mod tests { use crate::rules::Rule; }", 0),
    ] {
        let wrong = imports_from_beneath(&stages, &[Source::new(path, text)]);
        assert_eq!(wrong.len(), hits, "{text}: {wrong:?}");
    }
}

#[test]
fn a_rule_that_imports_a_rule_is_seen() {
    let other = "src/rules/claim/binding.rs";
    for (text, hits) in [
        ("use super::failed;", 1),
        ("use crate::rules::claim::binding::LOST;", 1),
        ("use crate::rules::{Rule, volume::failed::judge};", 1),
        ("use crate::rules::{Rule, judged::time}; fn f() { self::g() }", 0),
    ] {
        let sources = [Source::new("src/rules/volume/a.rs", text), Source::new(other, "")];
        assert_eq!(rules_that_import_rules(&sources).len(), hits, "{text}");
    }
}

#[test]
fn a_rule_that_touches_the_world_is_seen() {
    for (text, hits) in [
        ("use std::time::{Duration, Instant};", 1),
        ("use std::{fs::read, time::SystemTime};", 2),
        ("fn f() { chrono::Utc::now(); }", 1),
        ("use chrono::Utc; fn f() { Utc::now(); }", 1),
        ("async fn f() {}", 1),
        ("use tokio::sync::mpsc;", 1),
        ("use std::time::Duration; fn asynchronous() { other::fs::read() }", 0),
    ] {
        assert_eq!(impure(&[Source::new("src/facts/a.rs", text)]).len(), hits, "{text}");
        assert!(impure(&[Source::new("src/sources/a.rs", text)]).is_empty(), "{text}");
    }
}

#[test]
fn a_write_is_seen() {
    for (text, hits) in [
        ("Request::builder().method(Method::PATCH)", 1),
        ("let pods: Api<Pod> = Api::namespaced(client, \"a\"); pods.delete(name, &x)", 2),
        ("volumes.create(&PostParams::default(), &volume)", 1),
        ("client.method(Method::POST)", 1),
        ("use crate::apply::Writer;", 1),
        ("File::options().create(true).open(path); DumpWriter::create(x)", 0),
    ] {
        assert_eq!(writes(&[Source::new("src/sources/a.rs", text)]).len(), hits, "{text}");
        assert!(writes(&[Source::new("src/apply/a.rs", text)]).is_empty(), "{text}");
    }
}

#[test]
fn what_is_too_long_or_left_over_is_seen() {
    let lines = |count: usize| "x();\n".repeat(count);
    for (count, hits) in [(LONG, 0), (LONG + 1, 1)] {
        let source = Source::new("src/cli/a.rs", &lines(count));
        assert_eq!(too_long(&[source]).len(), hits, "{count}");
    }
    let tested = format!("{}#[cfg(test)]\nmod tests {{\n{}}}\n", lines(LONG), lines(9));
    assert_eq!(too_long(&[Source::new("src/cli/a.rs", &tested)]), [""; 0]);
    let apart = [
        Source::new("src/cli/a.rs", "#[cfg(test)]\nmod table;\n#[cfg(test)]\nmod tests {}\nmod b;"),
        Source::new("src/cli/a/table.rs", &lines(LONG + 1)),
        Source::new("src/cli/a/b.rs", &lines(LONG + 1)),
    ];
    let left: Vec<_> = without_test_files(apart.into()).into_iter().map(|it| it.path).collect();
    assert_eq!(left, ["src/cli/a.rs", "src/cli/a/b.rs"]);
    assert_eq!(shapeless(&[Source::new("src/cli/utils.rs", "")]).len(), 1);
    for text in ["fn f() { todo!() }", "#[allow(dead_code)]", "#[cfg(test)] mod t { dbg!(1); }"] {
        assert_eq!(leftovers(&[Source::new("src/a.rs", text)]).len(), 1, "{text}");
    }
    for (text, hits) in [
        (format!("cd /{}/main", "work"), 1),
        (format!("path /{}", "root"), 1),
        ("apps/workload or k8s.io/rootless".to_owned(), 0),
    ] {
        assert_eq!(machine_paths(&[("README.md".to_owned(), text.clone())]).len(), hits, "{text}");
    }
}
