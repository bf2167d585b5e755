//! The picture of the house: which module imports which.

use std::{collections::BTreeSet, fmt::Write as _};

use super::{Source, read, root, sources, stages};
use crate::support::expect_file;

const BEGIN: &str = "```mermaid\n";
const END: &str = "```\n";

/// An arrow from each module to those that it imports, but for those that its other arrows lead to.
fn picture(stages: &[String], sources: &[Source]) -> String {
    let place = |name: &str| stages.iter().position(|stage| stage == name);
    let mut imports = vec![BTreeSet::new(); stages.len()];
    for source in sources {
        let Some(own) = place(&source.stage()) else { continue };
        let paths = source.paths();
        let named = paths.iter().filter(|path| path[0] == "crate").filter_map(|path| path.get(1));
        imports[own].extend(named.filter_map(|name| place(name)).filter(|it| *it != own));
    }
    let mut reached: Vec<BTreeSet<usize>> = Vec::new();
    let mut picture = "graph TD\n".to_owned();
    for (own, direct) in imports.iter().enumerate() {
        let detours: BTreeSet<_> =
            direct.iter().filter_map(|it| reached.get(*it)).flatten().copied().collect();
        for other in direct.difference(&detours) {
            let _ = writeln!(picture, "  {} --> {}", stages[own], stages[*other]);
        }
        reached.push(detours.union(direct).copied().collect());
    }
    picture
}

#[test]
fn the_picture_of_the_house_is_that_of_its_imports() {
    let page = root().join("docs/architecture.md");
    let text = read(&page);
    let (before, rest) = text.split_once(BEGIN).expect("the page has a picture");
    let (_, after) = rest.split_once(END).expect("its picture ends");
    let picture = picture(&stages(&read(&root().join("src/lib.rs"))), &sources(&["src"]));
    expect_file(&page, &format!("{before}{BEGIN}{picture}{END}{after}"));
}

#[test]
fn an_arrow_that_others_lead_to_is_left_out() {
    let stages = ["model", "facts", "rules"].map(str::to_owned);
    let sources = [
        Source::new("src/facts/a.rs", "use crate::model::A;"),
        Source::new("src/rules/a.rs", "use crate::{facts::B, model::A};"),
    ];
    assert_eq!(picture(&stages, &sources), "graph TD\n  facts --> model\n  rules --> facts\n");
}
