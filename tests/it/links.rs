//! Links, and what pages call files of the project: each leads somewhere.

use std::{
    collections::BTreeMap,
    fs,
    path::{Component, Path, PathBuf},
    sync::LazyLock,
};

use regex::Regex;

use crate::support::{files, read, root};

static LABELLED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\[([^\]]*)\]\([^)]*\)").expect("a pattern"));
static NAMED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"<a (?:id|name)="([^"]+)""#).expect("a pattern"));
static LINK: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"\]\(([^)\s]+)\)|(?:src|srcset|href)="([^"]+)""#).expect("a pattern")
});

/// Every page that people read.
fn pages() -> Vec<PathBuf> {
    let root = root();
    let papers = ["README.md", "CHANGELOG.md", "SECURITY.md", "CONTRIBUTING.md"];
    let mut pages: Vec<_> = papers.iter().map(|it| root.join(it)).collect();
    for folder in ["docs", "tests", "deploy", ".github"] {
        pages.extend(files(&root.join(folder), ".md"));
    }
    assert!(pages.len() > 40, "{pages:?}");
    pages
}

/// A page without what stands in blocks of code.
fn prose(page: &str) -> String {
    let mut inside = false;
    let mut prose = String::new();
    for line in page.lines() {
        let fence = line.trim_start().starts_with("```");
        inside ^= fence;
        if !inside && !fence {
            prose.extend([line, "\n"]);
        }
    }
    prose
}

/// The anchors of the headings of a page, as forges make them.
fn anchors(page: &str) -> Vec<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let heading = |line: &str| {
        let text =
            line.trim_start_matches('#').strip_prefix(' ').filter(|_| line.starts_with('#'))?;
        let text = LABELLED.replace_all(text, "$1");
        let kept = text.trim().to_lowercase();
        let kept = kept.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        let slug = kept.collect::<String>().replace(' ', "-");
        let count = seen.entry(slug.clone()).and_modify(|it| *it += 1).or_insert(0);
        Some(if *count == 0 { slug } else { format!("{slug}-{count}") })
    };
    let mut found: Vec<_> = prose(page).lines().filter_map(heading).collect();
    found.extend(NAMED.captures_iter(page).map(|it| it[1].to_owned()));
    found
}

/// What a link to the repository names in it. Pages of the site link so to what is not part of the site.
fn in_repository(target: &str) -> Option<String> {
    let rest = target.strip_prefix(env!("CARGO_PKG_REPOSITORY"))?;
    let path = rest.strip_prefix("/blob/main/").or_else(|| rest.strip_prefix("/tree/main/"))?;
    Some(root().join(path).to_string_lossy().into_owned())
}

/// Where the links and pictures of a page lead, those to other machines apart.
pub(crate) fn targets(page: &str) -> Vec<String> {
    let prose = prose(page);
    let target = |it: regex::Captures| {
        let target = it.get(1).or_else(|| it.get(2))?.as_str();
        Some(in_repository(target).unwrap_or_else(|| target.to_owned()))
    };
    let found = LINK.captures_iter(&prose).filter_map(target);
    found.filter(|it| !it.contains("://") && !it.starts_with("mailto:")).collect()
}

/// Why a link of a page leads nowhere.
fn broken(path: &Path, target: &str) -> Option<String> {
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let mut to = path.to_owned();
    if !file.is_empty() {
        to = path.parent().expect("because a page is in a folder").join(file);
    }
    let mut clean = PathBuf::new();
    for part in to.components() {
        match part {
            Component::ParentDir => drop(clean.pop()),
            other => clean.push(other),
        }
    }
    let name = path.strip_prefix(root()).unwrap_or(path).display();
    if !clean.exists() {
        return Some(format!("{name}: {target} does not exist"));
    }
    let missing = !anchor.is_empty() && !anchors(&read(&clean)).iter().any(|it| it == anchor);
    missing.then(|| format!("{name}: {target}: no such heading"))
}

#[test]
fn every_link_leads_somewhere() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for path in pages() {
        for target in targets(&read(&path)) {
            count += 1;
            wrong.extend(broken(&path, &target));
        }
    }
    assert!(count > 100, "only {count} links were found");
    assert!(wrong.is_empty(), "broken links:\n  {}", wrong.join("\n  "));
}

#[test]
fn a_broken_link_is_seen() {
    let page = "[a](b.md#c) <img src=\"d.svg\"> [e](https://f)\n```\n[g](h.md)\n```\n[i](#j)";
    assert_eq!(targets(page), ["b.md#c", "d.svg", "#j"]);
    assert_eq!(anchors("# A `b`, c!\n## D\n## D\n<a id=\"e\"></a>"), ["a-b-c", "d", "d-1", "e"]);
    let readme = root().join("README.md");
    assert!(broken(&readme, "docs/nowhere.md").is_some());
    assert!(broken(&readme, "docs/gc.md#nowhere").is_some());
    assert!(broken(&readme, "docs/gc.md").is_none());
    let of_repository = |file: &str| {
        let page = format!("[a]({}/blob/main/{file})", env!("CARGO_PKG_REPOSITORY"));
        targets(&page).iter().filter_map(|it| broken(&readme, it)).count()
    };
    assert_eq!((of_repository("docs/gc.md"), of_repository("docs/nowhere.md")), (0, 1));
}

/// Each page of `docs` stands under a door of its index.
#[test]
fn the_index_lists_every_page() {
    let folder = root().join("docs");
    let index = read(&folder.join("README.md"));
    let listed = targets(&index);
    let entries = fs::read_dir(&folder).expect("docs");
    let mut missing = Vec::new();
    for entry in entries {
        let path = entry.expect("because the folder was just read").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // `book.rs` holds the summary.
        let is_index = name == "README.md" || name == "SUMMARY.md";
        let is_page = path.extension().is_some_and(|it| it == "md") && !is_index;
        if is_page && !listed.iter().any(|it| it.split('#').next() == Some(&name)) {
            missing.push(name);
        }
    }
    assert!(missing.is_empty(), "docs/README.md does not list {missing:?}");
}

/// Pages that code, comments and texts of the program name.
#[test]
fn pages_that_code_names_exist() {
    let page = Regex::new(r"\bdocs/[a-z0-9/-]+\.(?:md|svg|json)").expect("a pattern");
    let mut wrong = Vec::new();
    // Families of drivers and citations name pages of other projects.
    let others = ["src/drivers/families", "tests/it/citations.rs", "tests/it/links.rs"];
    for folder in ["src", "tests", "benches", "deploy"] {
        for path in files(&root().join(folder), "") {
            if others.iter().any(|other| path.starts_with(root().join(other))) {
                continue;
            }
            let Ok(text) = fs::read_to_string(&path) else { continue };
            let gone = page.find_iter(&text).filter(|it| !root().join(it.as_str()).exists());
            wrong.extend(gone.map(|it| format!("{}: {}", path.display(), it.as_str())));
        }
    }
    assert!(wrong.is_empty(), "named, but not there:\n  {}", wrong.join("\n  "));
}

/// What a page calls a file or a folder of the project: from its root, or from `src`.
fn named_files(page: &str) -> Vec<&str> {
    let quoted = page.split('`').skip(1).step_by(2);
    let is_path = |word: &&str| {
        let made_up = ['<', '{', '*', '…', ' ', '~', '$'];
        let file = [".rs", ".md", ".yaml", ".toml"].iter().any(|end| word.ends_with(end));
        word.contains('/') && !word.contains(made_up) && (file || word.starts_with("src/"))
    };
    quoted.filter(is_path).collect()
}

#[test]
fn development_names_files_that_exist() {
    let page = read(&root().join("docs/development.md"));
    let named = named_files(&page);
    assert!(named.len() > 15, "{named:?}");
    let is_there =
        |path: &&str| root().join(path).exists() || root().join("src").join(path).exists();
    let missing: Vec<_> = named.into_iter().filter(|path| !is_there(path)).collect();
    assert!(missing.is_empty(), "docs/development.md names what does not exist: {missing:?}");
    assert_eq!(named_files("`src/a` and `b/c.rs`, `<id>/d.rs`, `e.rs`"), ["src/a", "b/c.rs"]);
}
