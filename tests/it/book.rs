//! The site is made of `docs` by mdbook (`release/site`): its table of contents is that of the index, and has every page.

use std::{collections::BTreeSet, fmt::Write as _, path::Path};

use crate::{
    links::targets,
    support::{expect_file, files, read, root},
};

/// The first heading of a page.
fn title(page: &Path) -> String {
    let text = read(page);
    let heading = text.lines().find_map(|it| it.strip_prefix("# "));
    heading.unwrap_or_else(|| panic!("{} has no heading", page.display())).replace('`', "")
}

/// The table of contents: each door of the index is a part, each of its pages a chapter, and what is in the folder of a
/// page stands beneath it.
fn summary() -> String {
    let docs = root().join("docs");
    let index = docs.join("README.md");
    let mut summary = format!("# Summary\n\n[{}](README.md)\n", title(&index));
    for line in read(&index).lines() {
        if let Some(door) = line.strip_prefix("## ") {
            let _ = writeln!(summary, "\n# {door}\n");
        }
        let Some((label, _)) = line.strip_prefix("- [").and_then(|it| it.split_once(']')) else {
            continue;
        };
        let target = targets(line).into_iter().next().unwrap_or_default();
        let page = Path::new(&target);
        if page.is_absolute() || page.extension().is_none_or(|it| it != "md") {
            continue;
        }
        let _ = writeln!(summary, "- [{label}]({target})");
        let Some((folder, "README.md")) = target.split_once('/') else { continue };
        for page in files(&docs.join(folder), ".md") {
            let name = page.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if name != "README.md" {
                let _ = writeln!(summary, "  - [{}]({folder}/{name})", title(&page));
            }
        }
    }
    summary
}

#[test]
fn the_table_of_contents_is_that_of_the_index_and_has_every_page() {
    let summary = summary();
    expect_file(&root().join("docs/SUMMARY.md"), &summary);
    let docs = root().join("docs");
    let listed = targets(&summary);
    let each: BTreeSet<_> = listed.iter().map(|it| docs.join(it)).collect();
    assert_eq!(each.len(), listed.len(), "a page is listed twice: {listed:?}");
    let pages = files(&docs, ".md").into_iter().filter(|it| !it.ends_with("SUMMARY.md"));
    assert_eq!(pages.collect::<BTreeSet<_>>(), each);
}

/// What leads out of `docs` would lead nowhere on the site.
#[test]
fn no_page_of_the_site_links_to_a_file_beside_it() {
    let docs = root().join("docs");
    let mut wrong = Vec::new();
    for page in files(&docs, ".md") {
        let folder = page.parent().expect("because a page is in a folder");
        for target in targets(&read(&page)) {
            let file = target.split('#').next().unwrap_or_default();
            let depth = folder.strip_prefix(&docs).expect("it is in it").components().count();
            let is_there =
                file.is_empty() || target.starts_with('/') || folder.join(file).is_file();
            if file.matches("../").count() > depth || !is_there {
                wrong.push(format!("{}: {target}", page.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "link to it in the repository:\n  {}", wrong.join("\n  "));
}

#[test]
fn the_book_is_made_of_these_pages() {
    let book = read(&root().join("book.toml"));
    for line in ["src = \"docs\"", "build-dir = \"target/site\"", "create-missing = false"] {
        assert!(book.lines().any(|it| it == line), "{line}");
    }
    let repository = format!("git-repository-url = \"{}\"", env!("CARGO_PKG_REPOSITORY"));
    assert!(book.contains(&repository), "{repository}");
}
