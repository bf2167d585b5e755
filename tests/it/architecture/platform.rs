//! That operating systems differ in one file.

use super::{Source, assert_none, sources};

/// The one that asks which system it runs on.
const PLATFORM: &str = "src/platform.rs";

/// Files that ask which system they run on, or call one of them. Conditions may be nested: `cfg(all(unix, …))`.
fn questions(sources: &[Source]) -> Vec<String> {
    const SYSTEMS: [&str; 4] = ["unix", "windows", "target_os", "target_family"];
    const CALLS: [&str; 5] =
        ["std::os::", "tokio::signal::", "rustix::", "libc::", "windows_sys::"];
    let mut wrong = Vec::new();
    for source in sources.iter().filter(|source| source.path != PLATFORM) {
        let conditions = source.code.match_indices("cfg").filter_map(|(at, _)| {
            let condition = source.code[at + 3..].trim_start_matches(['!', '_', 'a', 't', 'r']);
            condition.strip_prefix('(')?.split([']', ';', '{']).next()
        });
        let asks = conditions.filter(|it| super::words(it).any(|word| SYSTEMS.contains(&word)));
        wrong.extend(asks.map(|condition| format!("{}: cfg({condition}", source.path)));
        let calls = source.paths().into_iter().map(|path| format!("{}::", path.join("::")));
        let calls = calls.filter(|path| {
            CALLS.iter().any(|it| path.starts_with(it)) && path != "tokio::signal::ctrl_c::"
        });
        wrong.extend(calls.map(|path| format!("{}: {path}", source.path)));
    }
    wrong
}

#[test]
fn systems_differ_in_one_file() {
    assert_none(&questions(&sources(&["src"])), "ask `platform`");
}

#[test]
fn another_question_is_seen() {
    for (text, hits) in [
        ("#[cfg(unix)]\nfn f() {}", 1),
        ("#[cfg(not(windows))]\nfn f() {}", 1),
        ("#[cfg_attr(all(test, target_os = \"macos\"), ignore)]\nfn f() {}", 1),
        ("if cfg!(windows) { f() }", 1),
        ("use std::os::unix::fs::PermissionsExt as _;", 1),
        ("std::os::windows::fs::symlink_file(a, b)", 1),
        ("use tokio::signal::{self, unix::SignalKind};", 2),
        ("tokio::signal::ctrl_c().await", 0),
        ("anstyle_query::windows::enable_ansi_colors()", 0),
        ("#[cfg(test)]\nmod tests { #[cfg(unix)] fn f() {} }", 0),
        ("// cfg(unix)\nfn f(unix: bool) {}", 0),
    ] {
        let found = questions(&[Source::new("src/cli/a.rs", text)]);
        assert_eq!(found.len(), hits, "{text}: {found:?}");
        assert!(questions(&[Source::new(PLATFORM, text)]).is_empty(), "{text}");
    }
}
