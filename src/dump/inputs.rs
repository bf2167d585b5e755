//! Opens files, folders and standard input, one after the other, and tells by the paths of files
//! which layout of known tools they have.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::{fs, io};

use chrono::{DateTime, Utc};

use super::delivery::PieceSink;
use super::flaw::{DumpError, Flaw};
use super::packing::{Packing, Unpacker};
use super::piece::{FileLayout, FileScope, FileSummary};
use super::window::{Halt, WindowLimits};
use super::{Input, wording};

/// Reads all inputs.
pub(super) fn read<'s>(
    inputs: &[Input],
    stdin: &mut dyn Read,
    sink: &'s mut PieceSink<'s>,
    limits: WindowLimits,
) -> Result<Vec<FileSummary>, DumpError> {
    if inputs.iter().filter(|input| **input == Input::Stdin).count() > 1 {
        return Err(DumpError::StdinTwice);
    }
    let mut unwrap = Unpacker { sink, summaries: Vec::new(), limits };
    for input in inputs {
        let before = unwrap.summaries.len();
        let end = match input {
            Input::Stdin => unwrap.stream("stdin", stdin, Packing::default()),
            Input::Path(path) => path_input(&mut unwrap, path)?,
        };
        settle_layouts(&mut unwrap.summaries[before..]);
        if end.is_err() {
            break;
        }
    }
    Ok(unwrap.summaries)
}

/// Reads what was asked for by name. The inner error is that of the sink.
fn path_input(unwrap: &mut Unpacker, path: &Path) -> Result<Result<(), Halt>, DumpError> {
    let failed = |source| DumpError::Open { path: path.to_owned(), source };
    if fs::metadata(path).map_err(failed)?.is_dir() {
        let before = unwrap.summaries.len();
        let entries = entries(path).map_err(failed)?;
        return Ok(folder(unwrap, entries).and_then(|()| {
            let nothing = unwrap.summaries.len() == before;
            if nothing { unwrap.refuse(&name(path), Flaw::NothingInside) } else { Ok(()) }
        }));
    }
    // Not only regular files: `-f <(kubectl get … -o json)` is a pipe.
    let mut file = File::open(path).map_err(failed)?;
    Ok(unwrap.stream(&name(path), &mut file, Packing::default()))
}

/// Reads what was found. What cannot be opened is not seen, and no reason to stop.
fn folder(unwrap: &mut Unpacker, entries: Vec<(PathBuf, fs::FileType)>) -> Result<(), Halt> {
    for (path, kind) in entries {
        let shown = name(&path);
        if kind.is_dir() {
            match self::entries(&path) {
                Ok(entries) => folder(unwrap, entries)?,
                Err(error) => unwrap.refuse(&shown, unreadable(&error))?,
            }
            continue;
        }
        if !holds_objects(&shown) && !is_timestamp(&shown) {
            continue;
        }
        // Links to files are followed, links to folders are not: they can go in circles.
        match fs::metadata(&path).and_then(|target| Ok((target, File::open(&path)?))) {
            Ok((target, mut file)) if target.is_file() => {
                unwrap.stream(&shown, &mut file, Packing::found())?;
            }
            Ok(_) => {}
            Err(error) => unwrap.refuse(&shown, unreadable(&error))?,
        }
    }
    Ok(())
}

/// Returns what is in a folder, by name. Hidden entries are left out: a folder that is mounted from
/// a `ConfigMap` shows its files once, and once more beneath `..data`.
fn entries(path: &Path) -> io::Result<Vec<(PathBuf, fs::FileType)>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if !entry.file_name().as_encoded_bytes().starts_with(b".") {
            entries.push((entry.path(), entry.file_type()?));
        }
    }
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(entries)
}

fn unreadable(error: &io::Error) -> Flaw {
    Flaw::Unreadable { offset: 0, reason: wording::unreadable(error) }
}

/// Returns a path as it is shown and matched: with `/` on every system.
pub(super) fn name(path: &Path) -> String {
    let shown = path.display().to_string();
    let shown = if cfg!(windows) { shown.replace('\\', "/") } else { shown };
    shown.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// Returns whether a file that nobody named is worth opening. Logs, pages and notes are not.
///
/// Archives are not either: a must-gather holds archives of older looks at the same cluster,
/// and objects of two times must not be mixed.
pub(super) fn holds_objects(path: &str) -> bool {
    let name = path.rsplit(['/', '\\', '!']).next().unwrap_or(path).to_ascii_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    let kind = Path::new(name).extension().and_then(|kind| kind.to_str());
    !name.starts_with('.') && matches!(kind, Some("json" | "yaml" | "yml" | "ndjson" | "jsonl"))
}

/// Returns whether this is where a must-gather notes when it was taken.
pub(super) fn is_timestamp(path: &str) -> bool {
    path.rsplit(['/', '\\', '!']).next() == Some("timestamp")
}

/// Returns when a must-gather was taken.
///
/// It notes two times as Go prints them, the begin and the end of the gathering. Taken is the
/// earliest: a later one would make everything seem older than it was when it was looked at, and
/// old is what is acted upon. That an object may then seem to come from the future is harmless.
pub(super) fn parse_timestamp(text: &str) -> Option<DateTime<Utc>> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let times: Option<Vec<_>> = lines.map(go_time).collect();
    times?.into_iter().min()
}

/// Parses `2024-05-02 10:11:12.123456789 +0200 CEST m=+0.214463842`.
fn go_time(line: &str) -> Option<DateTime<Utc>> {
    let mut words = line.split_whitespace();
    let (date, time, offset) = (words.next()?, words.next()?, words.next()?);
    let time = format!("{date} {time} {offset}");
    let time = DateTime::parse_from_str(&time, "%Y-%m-%d %H:%M:%S%.f %z").ok()?;
    Some(time.to_utc())
}

/// Says of each file of one input who laid it out, and of which part of the cluster it speaks.
pub(super) fn settle_layouts(files: &mut [FileSummary]) {
    // `kubectl cluster-info dump` writes `<folder>/<namespace>/replication-controllers.json`. No
    // other tool writes this kind with a hyphen, and it does so for every namespace.
    let roots: Vec<String> = files
        .iter()
        .filter_map(|file| file.path.strip_suffix("/replication-controllers.json"))
        .map(|folder| match folder.rfind(['/', '!']) {
            Some(end) => folder[..=end].to_owned(),
            None => String::new(),
        })
        .collect();
    for file in files {
        if let Some(inside) = roots.iter().find_map(|root| file.path.strip_prefix(root.as_str())) {
            file.layout = FileLayout::ClusterInfoDump;
            file.scope = match inside.split('/').collect::<Vec<_>>()[..] {
                [_] => FileScope::Cluster,
                [namespace, _] => FileScope::Namespace(namespace.to_owned()),
                _ => FileScope::Unknown,
            };
        } else if let Some(scope) = gathered(&file.path) {
            file.layout = FileLayout::Gathered;
            file.scope = scope;
        } else if is_timestamp(&file.path) {
            file.layout = FileLayout::Gathered;
        }
    }
}

/// Returns the scope that a path stands for, of a must-gather or of crust-gather
/// (`cluster-scoped-resources/GROUP/…`, `cluster/GROUP-VERSION/KIND/…`, `namespaces/NAMESPACE/GROUP/…`),
/// of a support bundle of Troubleshoot (`cluster-resources/pvs.json`,
/// `cluster-resources/pods/NAMESPACE.json`) or of Sonobuoy (`resources/cluster/…`,
/// `resources/ns/NAMESPACE/…`).
fn gathered(path: &str) -> Option<FileScope> {
    let parts: Vec<&str> = path.split(['/', '\\', '!']).collect();
    parts.iter().enumerate().find_map(|(at, part)| match (*part, &parts[at + 1..]) {
        ("cluster-scoped-resources", [_, _, ..])
        | ("cluster", [_, _, _])
        | ("cluster-resources", [_])
        | ("resources", ["cluster", _]) => Some(FileScope::Cluster),
        // In the first two the object of the namespace itself is there too.
        ("namespaces", [namespace, _, ..]) | ("resources", ["ns", namespace, _]) => {
            Some(FileScope::Namespace((*namespace).to_owned()))
        }
        // Of custom resources there are more folders, one in another.
        ("cluster-resources", [_, file]) => {
            Some(FileScope::Namespace(file.split('.').next().unwrap_or_default().to_owned()))
        }
        _ => None,
    })
}
