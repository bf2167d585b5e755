//! Pages that are written from the command line itself: `docs/commands`, and man pages.
//!
//! `UPDATE=1 cargo test --test it pages` rewrites the former; `MAN_DIR=FOLDER cargo test --test it pages`
//! writes the latter into a folder, for a release.

use std::{collections::BTreeSet, env, fmt::Write as _, fs, path::PathBuf};

use clap::{Arg, Command};

use crate::support::{commands, expect_file, files, root, updating};

const FOLDER: &str = "docs/commands";
/// The heading of flags that have none.
const OPTIONS: &str = "Options";

/// The program, with what clap fills in when it parses.
fn program() -> Command {
    let mut program = kubectl_storage::cli::command("kubectl-storage");
    program.build();
    program
}

/// Subcommands that are listed.
fn listed(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|it| !it.is_hide_set() && it.get_name() != "help")
}

/// Text that stands in a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "\\<").replace('\n', " ")
}

/// How a flag or an argument is typed.
fn typed(arg: &Arg) -> String {
    let names: Vec<_> = arg.get_value_names().unwrap_or_default().iter().collect();
    if arg.is_positional() {
        return names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" ");
    }
    let short = arg.get_short().map(|it| format!("-{it}"));
    let long = arg.get_long().map(|it| format!("--{it}"));
    let mut typed = short.into_iter().chain(long).collect::<Vec<_>>().join(", ");
    let takes = arg.get_num_args().is_some_and(|it| it.takes_values());
    for name in names.iter().filter(|_| takes) {
        let _ = write!(typed, " {name}");
    }
    format!("`{}`", typed.replace('|', "\\|"))
}

/// What a flag does, its default, and which values it takes.
fn meaning(arg: &Arg) -> String {
    let help = arg.get_long_help().or_else(|| arg.get_help());
    let mut meaning = help.map(|help| cell(&help.to_string())).unwrap_or_default();
    let takes = arg.get_num_args().is_some_and(|it| it.takes_values());
    let defaults: Vec<_> = arg.get_default_values().iter().map(|it| it.to_string_lossy()).collect();
    if takes && !defaults.is_empty() && !arg.is_hide_default_value_set() {
        let _ = write!(meaning, " (default `{}`)", defaults.join(","));
    }
    let values = arg.get_possible_values();
    let values: Vec<_> = values.iter().filter(|it| !it.is_hide_set()).collect();
    if takes && !values.is_empty() && values.len() < 20 && !arg.is_hide_possible_values_set() {
        let names: Vec<_> = values.iter().map(|it| format!("`{}`", it.get_name())).collect();
        let _ = write!(meaning, ": {}", names.join(", "));
    }
    meaning
}

/// One table for each heading of the help, in its order.
fn tables(page: &mut String, command: &Command, wanted: &dyn Fn(&Arg) -> bool) {
    let own = |arg: &&Arg| !["help", "version"].contains(&arg.get_id().as_str());
    let args: Vec<_> = command.get_arguments().filter(own).filter(|it| wanted(it)).collect();
    let heading = |arg: &Arg| arg.get_help_heading().unwrap_or(OPTIONS).to_owned();
    let mut seen = BTreeSet::new();
    for title in args.iter().map(|it| heading(it)).filter(|it| seen.insert(it.clone())) {
        let _ = writeln!(page, "**{title}**\n\n| | |\n| --- | --- |");
        for arg in args.iter().filter(|it| heading(it) == title) {
            let _ = writeln!(page, "| {} | {} |", typed(arg), meaning(arg));
        }
        page.push('\n');
    }
}

/// A command, and its subcommands beneath it.
fn section(page: &mut String, command: &Command, level: usize) {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
    let about = command.get_long_about().or_else(|| command.get_about());
    let about = about.map(ToString::to_string).unwrap_or_default();
    let usage = command.clone().render_usage().to_string();
    let usage = usage.strip_prefix("Usage: ").unwrap_or(&usage);
    let _ = writeln!(page, "{} {name}\n\n{about}.\n", "#".repeat(level));
    let _ = writeln!(page, "```\n{usage}\n```\n");
    tables(page, command, &|arg| !arg.is_global_set() && !arg.is_hide_set());
    if let Some(examples) = command.get_after_help() {
        let examples = examples.to_string();
        let examples = examples.trim_start_matches("Examples:").trim_start_matches('\n');
        let lines: Vec<_> =
            examples.lines().map(|it| it.strip_prefix("  ").unwrap_or(it)).collect();
        let _ = writeln!(page, "**Examples**\n\n```sh\n{}\n```\n", lines.join("\n"));
    }
    for command in listed(command) {
        section(page, command, level + 1);
    }
}

#[test]
fn each_command_has_its_page() {
    const WRITTEN: &str =
        "Written by `UPDATE=1 cargo test --test it pages` from what `--help` says.";
    let program = program();
    let mut index = format!("# Commands\n\n{WRITTEN}\n\n| | |\n| --- | --- |\n");
    let mut pages = BTreeSet::from([root().join(FOLDER).join("README.md")]);
    for command in listed(&program) {
        let (name, about) = (command.get_name(), command.get_about());
        let about = about.map(ToString::to_string).unwrap_or_default();
        let _ = writeln!(index, "| [{name}]({name}.md) | {} |", cell(&about));
        let mut page = String::new();
        section(&mut page, command, 1);
        let _ = writeln!(
            page,
            "Every command also takes [flags that say how to reach the cluster](README.md#every-command).\n\n{WRITTEN}"
        );
        let path = root().join(FOLDER).join(format!("{name}.md"));
        expect_file(&path, &page);
        pages.insert(path);
    }
    // Those that each command's own help leaves out are hidden there.
    index.push_str("\n## Every command\n\n");
    tables(&mut index, &program, &Arg::is_global_set);
    expect_file(&root().join(FOLDER).join("README.md"), &format!("{}\n", index.trim_end()));
    let stale: Vec<_> = files(&root().join(FOLDER), ".md");
    let stale: Vec<_> = stale.into_iter().filter(|path| !pages.contains(path)).collect();
    for path in stale.iter().filter(|_| updating()) {
        fs::remove_file(path).expect("the page of a command that is no more can be removed");
    }
    assert!(stale.is_empty() || updating(), "pages of no command: {stale:?}");
}

#[test]
fn man_pages_can_be_written() {
    let place = tempfile::tempdir().expect("a temporary folder");
    let folder = env::var_os("MAN_DIR").map_or_else(|| place.path().to_owned(), PathBuf::from);
    fs::create_dir_all(&folder).expect("the folder can be created");
    // Files and titles have no space.
    let program = kubectl_storage::cli::command("kubectl-storage").display_name("kubectl-storage");
    clap_mangen::generate_to(program, &folder).expect("man pages can be written");
    for words in commands() {
        let name = [&["kubectl-storage".to_owned()], &*words].concat().join("-");
        let page = fs::read_to_string(folder.join(format!("{name}.1")));
        let page = page.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(page.contains(".SH SYNOPSIS"), "{name}: {page}");
    }
    let gc = fs::read_to_string(folder.join("kubectl-storage-gc.1")).expect("the page of gc");
    assert!(gc.contains("older\\-than") && gc.contains("Examples"), "{gc}");
}
