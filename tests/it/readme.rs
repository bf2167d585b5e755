//! The screen that README shows is what really appears in a terminal of 80 columns.

use std::{fs, process::Command};

use crate::support::{README, binary, root};
use crate::terminal::Terminal;

const BEGIN: &str = "<!-- screen -->\n";
const END: &str = "<!-- /screen -->";
/// Lines of the screen that README shows before it says that there are more.
const SHOWN: usize = 24;

/// Runs the audit of the shipped dump as a user would, in a terminal.
fn screen() -> String {
    let mut command = Command::new(binary());
    command.args(["audit", "-f", "examples/leaky-cluster.json.gz"]).current_dir(root());
    command.env("NO_COLOR", "1").env("TERM", "xterm");
    let (screen, code) = Terminal::sized(command, 80).finish();
    assert_eq!(code, Some(0), "{screen}");
    screen
}

#[test]
fn shows_what_really_appears() {
    let screen = screen();
    for line in screen.lines() {
        assert!(line.chars().count() <= 80, "wider than 80 columns: {line}");
    }
    let lines: Vec<_> = screen.lines().collect();
    // Not in the middle of a finding: those begin at the margin.
    let cut =
        (SHOWN..lines.len()).find(|index| !lines[*index].starts_with(' ')).expect("more lines");
    let summary = lines.iter().rposition(|line| line.contains(" critical, ")).expect("a summary");
    let shown =
        format!("```\n{}\n…\n{}\n```\n", lines[..cut].join("\n"), lines[summary..].join("\n"));
    let _held = README.lock();
    let path = root().join("README.md");
    let readme = fs::read_to_string(&path).expect("README.md");
    let (before, rest) = readme.split_once(BEGIN).expect("the mark of the screen");
    let (_, after) = rest.split_once(END).expect("the end of the screen");
    let expected = format!("{before}{BEGIN}{shown}{END}{after}");
    if readme == expected {
        return;
    }
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, expected).expect("README.md can be written");
        return;
    }
    panic!(
        "README.md shows another screen; UPDATE=1 cargo test --test it readme renews it\n{shown}"
    );
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
    let page = fs::read_to_string(root().join("docs/development.md")).expect("the page");
    let named = named_files(&page);
    assert!(named.len() > 15, "{named:?}");
    let is_there =
        |path: &&str| root().join(path).exists() || root().join("src").join(path).exists();
    let missing: Vec<_> = named.into_iter().filter(|path| !is_there(path)).collect();
    assert!(missing.is_empty(), "docs/development.md names what does not exist: {missing:?}");
    assert_eq!(named_files("`src/a` and `b/c.rs`, `<id>/d.rs`, `e.rs`"), ["src/a", "b/c.rs"]);
}
