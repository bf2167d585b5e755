//! The record of controllers without any trace, on which the state "absent" rests.
//!
//! A reinstallation looks like an uninstallation for a while: only a second run, long enough after
//! the first, may conclude that a driver is absent (semantics#controller-state).

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::model::{ControllerRole, Sighting, Text, Time, format_time, parse_time};

/// Version of the format of the file.
const VERSION: u32 = 1;
const FILE: &str = "sightings.json";

/// Reason why the record cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SightingsError {
    /// The file cannot be read or written.
    #[error("failed to {verb} {path}")]
    Io { verb: &'static str, path: PathBuf, source: io::Error },
    /// The file cannot be parsed as a record of this version.
    #[error("{path} is not a record of this version: {reason}")]
    Format { path: PathBuf, reason: String },
}

#[derive(Serialize, Deserialize)]
struct SightingsFile {
    version: u32,
    sightings: Vec<SightingEntry>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SightingEntry {
    role: String,
    driver: String,
    absent_since: String,
}

/// Reads the sightings that earlier runs recorded about a cluster; empty when there is no record yet.
///
/// # Errors
/// When there is a record that cannot be used.
pub fn read(folder: &Path) -> Result<Vec<Sighting>, SightingsError> {
    let path = folder.join(FILE);
    let text = match fs::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(SightingsError::Io { verb: "read", path, source }),
    };
    let format = |reason: String| SightingsError::Format { path: path.clone(), reason };
    let file: SightingsFile =
        serde_json::from_slice(&text).map_err(|error| format(error.to_string()))?;
    if file.version != VERSION {
        return Err(format(format!("version {}", file.version)));
    }
    let sighting = |line: SightingEntry| {
        let roles = ControllerRole::ALL;
        let role = roles.into_iter().find(|role| role.name() == line.role);
        let since = parse_time(&line.absent_since).ok().flatten();
        match (role, since) {
            (Some(role), Some(absent_since)) => {
                Ok(Sighting { role, driver: line.driver.into(), absent_since })
            }
            _ => Err(format(format!("{} {} {}", line.role, line.driver, line.absent_since))),
        }
    };
    file.sightings.into_iter().map(sighting).collect()
}

/// Updates a record: a controller of which no trace was found keeps its first sighting, or gets one
/// now; one of which a trace was found loses it. `found` lists both: role, driver, whether no trace
/// was found.
pub fn update(
    known: Vec<Sighting>,
    found: &[(ControllerRole, Text, bool)],
    now: Time,
) -> Vec<Sighting> {
    let mut next: Vec<_> = known
        .into_iter()
        .filter(|sighting| {
            !found.iter().any(|(role, driver, absent)| {
                *role == sighting.role && *driver == sighting.driver && !absent
            })
        })
        .map(|mut sighting| {
            // A time in the future proves nothing about the past.
            sighting.absent_since = sighting.absent_since.min(now);
            sighting
        })
        .collect();
    for (role, driver, absent) in found {
        let recorded = next.iter().any(|it| it.role == *role && it.driver == *driver);
        if *absent && !recorded {
            next.push(Sighting { role: *role, driver: driver.clone(), absent_since: now });
        }
    }
    next.sort_by(|a, b| (a.role, &a.driver).cmp(&(b.role, &b.driver)));
    next
}

/// Updates the record as [`update`] does, with what was `found` by a run that held the `known`
/// sightings, and returns those that it holds then.
///
/// Other runs may have written the record since this one read it. What they took back counts no
/// more, and of two times the later one counts; what they found of other controllers stays.
///
/// # Errors
/// When it cannot be read, which leaves it as it is, or cannot be written.
pub fn record(
    folder: &Path,
    mut known: Vec<Sighting>,
    found: &[(ControllerRole, Text, bool)],
    now: Time,
) -> Result<Vec<Sighting>, SightingsError> {
    let recorded = read(folder)?;
    let of = |sightings: &[Sighting], role: ControllerRole, driver: &Text| {
        sightings.iter().find(|it| it.role == role && it.driver == *driver).cloned()
    };
    known.retain_mut(|sighting| {
        let other = of(&recorded, sighting.role, &sighting.driver);
        other.is_some_and(|other| {
            sighting.absent_since = sighting.absent_since.max(other.absent_since);
            true
        })
    });
    let next = update(known, found, now);
    let is_found = |it: &Sighting| {
        found.iter().any(|(role, driver, _)| *role == it.role && *driver == it.driver)
    };
    let mut lines = next.clone();
    lines.extend(
        recorded.into_iter().filter(|it| !is_found(it) && of(&next, it.role, &it.driver).is_none()),
    );
    lines.sort_by(|a, b| (a.role, &a.driver).cmp(&(b.role, &b.driver)));
    write(folder, &lines)?;
    Ok(next)
}

/// Replaces the record atomically.
///
/// # Errors
/// When it cannot be written.
pub fn write(folder: &Path, sightings: &[Sighting]) -> Result<(), SightingsError> {
    let path = folder.join(FILE);
    let failed = |source| SightingsError::Io { verb: "write", path: path.clone(), source };
    crate::platform::create_private_folder(folder).map_err(failed)?;
    let lines = sightings.iter().map(|sighting| SightingEntry {
        role: sighting.role.name().to_owned(),
        driver: sighting.driver.to_string(),
        absent_since: format_time(&sighting.absent_since),
    });
    let file = SightingsFile { version: VERSION, sightings: lines.collect() };
    let text = serde_json::to_vec_pretty(&file).map_err(|error| failed(error.into()))?;
    let temporary = folder.join(format!(".{FILE}.{}", std::process::id()));
    let mut out = super::create_private_file(&temporary).map_err(failed)?;
    let written = out.write_all(&text).and_then(|()| out.sync_all());
    written.and_then(|()| fs::rename(&temporary, &path)).map_err(|source| {
        let _ = fs::remove_file(&temporary);
        failed(source)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Time {
        Time::from_timestamp(1_700_000_000 + seconds, 0).expect("because it is in range")
    }

    fn sighting(driver: &str, seconds: i64) -> Sighting {
        Sighting {
            role: ControllerRole::Provisioner,
            driver: driver.into(),
            absent_since: at(seconds),
        }
    }

    #[test]
    fn only_the_first_sighting_counts_and_any_trace_ends_it() {
        let known = vec![sighting("back", 0), sighting("gone", 10), sighting("other", 20)];
        let found = [
            (ControllerRole::Provisioner, "back".into(), false),
            (ControllerRole::Provisioner, "gone".into(), true),
            (ControllerRole::Provisioner, "new".into(), true),
            (ControllerRole::Attacher, "gone".into(), false),
        ];
        let next = update(known, &found, at(100));
        assert_eq!(next, [sighting("gone", 10), sighting("new", 100), sighting("other", 20)]);
    }

    #[test]
    fn a_record_comes_back_as_it_was_written_and_never_from_the_future() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(read(folder.path()).expect("no record is no error"), []);
        let record = vec![sighting("gone", 10)];
        write(&folder.path().join("new"), &record).expect("written");
        assert_eq!(read(&folder.path().join("new")).expect("readable"), record);
        assert_eq!(update(vec![sighting("x", 500)], &[], at(100)), [sighting("x", 100)]);
    }

    #[test]
    fn what_other_runs_recorded_meanwhile_is_not_overwritten() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        // Others took "back" back, saw "later" again for a while, and found "theirs" and "new".
        let others = [
            sighting("later", 50),
            sighting("new", 60),
            sighting("stays", 0),
            sighting("theirs", 70),
        ];
        write(folder, &others).expect("written");
        let known = ["back", "gone", "later", "stays"].map(|driver| sighting(driver, 0)).to_vec();
        let found = [
            (ControllerRole::Provisioner, "back".into(), true),
            (ControllerRole::Provisioner, "gone".into(), false),
            (ControllerRole::Provisioner, "new".into(), true),
            (ControllerRole::Attacher, "theirs".into(), false),
        ];
        let next = record(folder, known, &found, at(100)).expect("written");
        // Whoever just found an absence for the first time may have seen the controller until now.
        let mut expected = vec![
            sighting("back", 100),
            sighting("later", 50),
            sighting("new", 100),
            sighting("stays", 0),
        ];
        assert_eq!(next, expected);
        expected.push(sighting("theirs", 70));
        assert_eq!(read(folder).expect("readable"), expected);
        // What cannot be read is not replaced.
        fs::write(folder.join(FILE), "{").expect("written");
        record(folder, next, &found, at(200)).expect_err("it is not a record");
        assert_eq!(fs::read(folder.join(FILE)).expect("readable"), b"{");
    }

    #[test]
    fn a_record_of_another_version_is_refused_not_overwritten_in_silence() {
        let folder = tempfile::tempdir().expect("a folder");
        for text in ["{", "{\"version\":2,\"sightings\":[]}", "[]"] {
            fs::write(folder.path().join(FILE), text).expect("written");
            assert!(matches!(read(folder.path()), Err(SightingsError::Format { .. })), "{text}");
        }
    }
}
