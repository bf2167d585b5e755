//! Opening of files, folders and standard input, one after the other.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::delivery::PieceSink;
use super::flaw::{DumpError, Flaw};
use super::packing::{Packing, Unpacker};
use super::piece::FileSummary;
use super::window::{Halt, WindowLimits};
use super::{Input, packing, wording};
use crate::platform::with_slashes;

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
        packing::settle_layouts(&mut unwrap.summaries[before..]);
        if end.is_err() {
            break;
        }
    }
    Ok(unwrap.summaries)
}

/// Reads a file or folder that was asked for by name. The inner error is that of the sink.
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

/// Reads the entries of a folder. What cannot be opened is not seen, and no reason to stop.
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
        if !packing::holds_objects(&shown) && !packing::is_timestamp(&shown) {
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

/// Returns the entries of a folder, by name. Hidden entries are left out: a folder that is mounted from a `ConfigMap`
/// shows its files once, and once more beneath `..data`.
pub(crate) fn entries(path: &Path) -> io::Result<Vec<(PathBuf, fs::FileType)>> {
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
    with_slashes(path)
        .chars()
        .map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c })
        .collect()
}
