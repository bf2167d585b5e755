//! The dumps of one cluster that are kept in a folder: each is named by the cluster's UID and the time, and the oldest
//! are removed.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use chrono::{NaiveDateTime, TimeDelta, Utc};

use crate::{
    cli::{
        Failure,
        args::ConnectionArgs,
        collect::{self, dump_failure},
    },
    client::{self, Reader},
    dump::{DumpError, is_dump},
    model::Time,
};

/// The time in the name of a dump, in UTC: names sort as the times do.
const TIME: &str = "%Y%m%dT%H%M%SZ";
/// Time after which the unfinished file of a run that was killed is removed.
const UNFINISHED: TimeDelta = TimeDelta::days(1);

/// Dumps of one cluster in a folder.
#[derive(Debug)]
pub(super) struct KeptDumps {
    folder: PathBuf,
    /// UID of the cluster.
    uid: String,
    now: Time,
}

impl KeptDumps {
    /// Makes the folder ready for another dump of the cluster.
    ///
    /// # Errors
    /// When the cluster does not tell its UID, or the folder cannot be made.
    pub(super) async fn open(folder: &Path, connection: &ConnectionArgs) -> Result<Self, Failure> {
        if folder.as_os_str() == "-" || folder.is_file() {
            return Err(
                Failure::usage("--keep requires a folder").hint(Some("dump --keep 7 dumps/"))
            );
        }
        let connected = collect::connect(connection, None).await?;
        let uid = client::cluster_uid(&Reader::new(&connected)).await.map_err(|error| {
            let hint = error.hint();
            Failure::error(error).hint(hint)
        })?;
        let is_plain = |it: &char| it.is_ascii_alphanumeric() || *it == '-';
        let uid = uid.filter(|it| !it.is_empty() && it.chars().all(|c| is_plain(&c)));
        let uid = uid.ok_or_else(|| {
            Failure::error(anyhow::anyhow!(
                "--keep names dumps by the UID of namespace kube-system, which could not be read"
            ))
        })?;
        let create = fs::create_dir_all(folder);
        create.map_err(|source| failed(folder, source))?;
        Ok(Self { folder: folder.to_owned(), uid, now: Utc::now() })
    }

    /// Returns the file of the new dump.
    pub(super) fn file(&self) -> PathBuf {
        self.folder.join(self.name(&self.now))
    }

    fn name(&self, time: &Time) -> String {
        format!("dump-{}-{}.json.gz", self.uid, time.format(TIME))
    }

    /// Returns the time in a name, if that is exactly the name of a dump of this cluster.
    fn time(&self, name: &str) -> Option<Time> {
        let (_, time) = name.strip_suffix(".json.gz")?.rsplit_once('-')?;
        let time = NaiveDateTime::parse_from_str(time, TIME).ok()?.and_utc();
        (self.name(&time) == name).then_some(time)
    }

    /// Returns the time in the name of a dump of this cluster that was not finished: `.NAME.PROCESS-NUMBER.part`.
    fn unfinished(&self, name: &str) -> Option<Time> {
        let (name, process) = name.strip_prefix('.')?.strip_suffix(".part")?.rsplit_once('.')?;
        let (process, number) = process.split_once('-')?;
        let is_number = |it: &str| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit());
        (is_number(process) && is_number(number)).then(|| self.time(name)).flatten()
    }

    /// Removes all dumps of this cluster but the last `keep`, of which the new one is one, and what killed runs have
    /// left. Returns the number of dumps that were removed.
    ///
    /// # Errors
    /// When the folder cannot be read, or a file cannot be removed.
    pub(super) fn remove_older(&self, keep: usize) -> Result<usize, Failure> {
        let read = || fs::read_dir(&self.folder)?.collect::<io::Result<Vec<_>>>();
        let mut dumps = Vec::new();
        for entry in read().map_err(|source| failed(&self.folder, source))? {
            let (path, name) = (entry.path(), entry.file_name());
            let is_file = entry.file_type().is_ok_and(|it| it.is_file());
            let Some(name) = name.to_str().filter(|_| is_file) else { continue };
            match (self.time(name), self.unfinished(name)) {
                (Some(time), _) if time != self.new_time() && is_dump(&path) => {
                    dumps.push((time, path));
                }
                (_, Some(time)) if time < self.now - UNFINISHED => remove(&path)?,
                _ => {}
            }
        }
        dumps.sort_unstable();
        let older = dumps.len().saturating_sub(keep.saturating_sub(1));
        dumps.iter().take(older).try_for_each(|(_, path)| remove(path))?;
        Ok(older)
    }

    /// The time of the new dump, as its name has it.
    fn new_time(&self) -> Time {
        self.time(&self.name(&self.now)).unwrap_or(self.now)
    }
}

/// Removes a file that may be gone already.
fn remove(path: &Path) -> Result<(), Failure> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(failed(path, source)),
        _ => Ok(()),
    }
}

fn failed(path: &Path, source: io::Error) -> Failure {
    dump_failure(DumpError::Write { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::dump::{DumpWriter, Replace};

    const UID: &str = "8c37f023-6291-5aa1-a8d8-82e583590304";

    fn kept(folder: &Path) -> KeptDumps {
        let now = crate::model::parse_time("2026-11-08T01:17:05.5Z").expect("a time");
        let now = now.expect("there is one");
        KeptDumps { folder: folder.to_owned(), uid: UID.to_owned(), now }
    }

    fn save(folder: &Path, name: &str) {
        let header = serde_json::json!({});
        let writer = DumpWriter::create(&folder.join(name), Replace::Dumps, &header);
        writer.expect("it is writable").finish().expect("it is writable");
    }

    fn files(folder: &Path) -> BTreeSet<String> {
        let entries = fs::read_dir(folder).expect("it is a folder").flatten();
        entries.map(|it| it.file_name().to_string_lossy().into_owned()).collect()
    }

    fn name(day: u32) -> String {
        format!("dump-{UID}-202611{day:02}T011705Z.json.gz")
    }

    #[test]
    fn only_the_oldest_dumps_of_the_cluster_are_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        let kept = kept(folder.path());
        assert_eq!(kept.file(), at(&name(8)));
        for day in 1..=8 {
            save(folder.path(), &name(day));
        }
        // Of another cluster, by other names, and what only looks like one.
        let others = [
            "dump-00000000-0000-4000-8000-000000000001-20260101T000000Z.json.gz".to_owned(),
            format!("x{}", name(1)),
            format!("{}.bak", name(1)),
            format!("dump-{UID}-20261301T011705Z.json.gz"),
            format!("dump-{UID}-2026111T011705Z.json.gz"),
            format!("dump-{UID}-20261101T011705Z.json"),
            format!("dump-{UID}-{UID}-20261101T011705Z.json.gz"),
            "today.json.gz".to_owned(),
        ];
        for name in &others {
            save(folder.path(), name);
        }
        let no_dump = format!("dump-{UID}-20260101T000000Z.json.gz");
        fs::write(at(&no_dump), "mine").expect("it is writable");
        let is_folder = format!("dump-{UID}-20260102T000000Z.json.gz");
        fs::create_dir(at(&is_folder)).expect("it is writable");
        assert_eq!(kept.remove_older(3).ok(), Some(5));
        let own = (6..=8).map(name);
        let expected: BTreeSet<_> = own.chain(others).chain([no_dump, is_folder]).collect();
        assert_eq!(files(folder.path()), expected);
        assert_eq!(kept.remove_older(3).ok(), Some(0));
        assert_eq!(kept.remove_older(1).ok(), Some(2));
        assert!(files(folder.path()).contains(&name(8)));
    }

    /// A clock that was set back makes the new one the oldest by name.
    #[test]
    fn the_new_dump_is_never_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let kept = kept(folder.path());
        for day in 8..=12 {
            save(folder.path(), &name(day));
        }
        assert_eq!(kept.remove_older(2).ok(), Some(3));
        assert_eq!(files(folder.path()), BTreeSet::from([name(8), name(12)]));
    }

    #[test]
    fn what_killed_runs_left_is_removed_after_a_day() {
        let folder = tempfile::tempdir().expect("a folder");
        let part = |name: &str, end: &str| format!(".{name}.{end}");
        let old = part(&name(6), "1-0.part");
        let others = [
            // It may be that of a run that has not ended.
            part(&name(8), "1-0.part"),
            part(&name(6), "1-x.part"),
            part(&name(6), "part"),
            part("today.json.gz", "1-0.part"),
        ];
        for name in others.iter().chain([&old]) {
            fs::write(folder.path().join(name), "half").expect("it is writable");
        }
        assert_eq!(kept(folder.path()).remove_older(1).ok(), Some(0));
        assert_eq!(files(folder.path()), others.into_iter().collect());
    }
}
