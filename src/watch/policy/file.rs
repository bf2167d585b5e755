//! File of a policy, which may change while it is in force.
//!
//! It is read by its path every few seconds and compared by its content: a pod that mounts a
//! `ConfigMap` sees the link `..data` set to another folder, of which a watch of the file knows
//! nothing, and network file systems tell nothing at all.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::{PolicyError, WatchPolicy};

/// Source of a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PolicySource {
    /// Standard input, once.
    Stdin,
    /// A file, read again when it changes.
    File(PathBuf),
}

/// Largest number of bytes that are read: what a `ConfigMap` can hold.
const LARGEST: u64 = 1 << 20;

impl PolicySource {
    /// Returns the source for `-`, or a path.
    pub(crate) fn parse(path: &Path) -> Self {
        match path.as_os_str() == "-" {
            true => Self::Stdin,
            false => Self::File(path.to_owned()),
        }
    }

    /// Returns the path, or what stands for it in messages.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Stdin => "stdin".to_owned(),
            Self::File(path) => path.display().to_string(),
        }
    }

    fn read(&self) -> Result<Vec<u8>, PolicyError> {
        let read = |from: &mut dyn Read| {
            let mut content = Vec::new();
            from.take(LARGEST + 1).read_to_end(&mut content)?;
            match content.len() as u64 > LARGEST {
                true => Err(io::Error::other("larger than 1 MiB")),
                false => Ok(content),
            }
        };
        let content = match self {
            Self::Stdin => read(&mut io::stdin().lock()),
            Self::File(path) => File::open(path).and_then(|mut file| read(&mut file)),
        };
        content.map_err(|error| PolicyError::Unreadable {
            path: self.name().into(),
            detail: error.to_string(),
        })
    }
}

/// A policy in force, with the last state of its file.
#[derive(Debug)]
pub(crate) struct PolicyFile {
    source: PolicySource,
    seen: Result<Vec<u8>, PolicyError>,
    in_force: WatchPolicy,
}

/// Change of the file since it was last looked at.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Reloaded {
    /// The file is the same, or holds the same policy.
    Same,
    /// The file holds another policy, which is in force now.
    New(Box<WatchPolicy>),
    /// The file holds the policy in force again, after something else.
    Restored,
    /// The file is not accepted; the policy in force stays.
    Refused(PolicyError),
}

impl PolicyFile {
    /// Opens a policy.
    ///
    /// # Errors
    /// When it cannot be read, or is not accepted.
    pub(crate) fn open(source: PolicySource) -> Result<Self, PolicyError> {
        let content = source.read()?;
        let in_force = parse(&source, &content)?;
        Ok(Self { source, seen: Ok(content), in_force })
    }

    /// Returns the policy in force.
    pub(crate) fn policy(&self) -> &WatchPolicy {
        &self.in_force
    }

    /// Returns the source of the policy.
    pub(crate) fn source(&self) -> &PolicySource {
        &self.source
    }

    /// Returns the text that was last read from the file.
    pub(crate) fn text(&self) -> String {
        self.seen.as_ref().map(|it| String::from_utf8_lossy(it)).unwrap_or_default().into_owned()
    }

    /// Returns file, line and column of a namespace of the scope; without one, of the selector.
    pub(crate) fn place(&self, namespace: Option<&str>) -> String {
        let name = self.source.name();
        match WatchPolicy::place(&self.text(), namespace) {
            Some((line, column)) => format!("{name}:{line}:{column}"),
            None => name,
        }
    }

    /// Checks whether the file has changed. Each state is told once.
    pub(crate) fn reload(&mut self) -> Reloaded {
        if self.source == PolicySource::Stdin {
            return Reloaded::Same;
        }
        let now = self.source.read();
        if now == self.seen {
            return Reloaded::Same;
        }
        let parsed =
            now.as_ref().map_err(PolicyError::clone).and_then(|it| parse(&self.source, it));
        let was_accepted = self.seen.as_ref().is_ok_and(|it| parse(&self.source, it).is_ok());
        self.seen = now;
        match parsed {
            Ok(policy) if policy == self.in_force && was_accepted => Reloaded::Same,
            Ok(policy) if policy == self.in_force => Reloaded::Restored,
            Ok(policy) => {
                self.in_force = policy.clone();
                Reloaded::New(Box::new(policy))
            }
            Err(error) => Reloaded::Refused(error),
        }
    }
}

fn parse(source: &PolicySource, content: &[u8]) -> Result<WatchPolicy, PolicyError> {
    let name = source.name();
    match std::str::from_utf8(content) {
        Ok(text) => WatchPolicy::parse(&name, text),
        Err(_) => Err(PolicyError::Refused(vec![format!("{name}: not UTF-8")])),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const HEAD: &str = "apiVersion: storage.kubectl.dev/v1alpha1\nkind: WatchPolicy\n";

    #[test]
    fn each_state_of_the_file_is_told_once() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("policy.yaml");
        let write = |rest: &str| fs::write(&path, format!("{HEAD}{rest}")).expect("it is ours");
        write("");
        let mut file = PolicyFile::open(PolicySource::parse(&path)).expect("a policy");
        assert_eq!(file.reload(), Reloaded::Same);
        write("# a comment\n");
        assert_eq!(file.reload(), Reloaded::Same);
        write("rules: {off: [pv-failed]}");
        let Reloaded::New(policy) = file.reload() else { panic!("it is another policy") };
        assert_eq!(policy.settings().scope.ignored.len(), 1);
        assert_eq!(file.reload(), Reloaded::Same);
        write("rules: {of: []}");
        assert!(matches!(file.reload(), Reloaded::Refused(PolicyError::Refused(_))));
        assert_eq!(file.reload(), Reloaded::Same);
        assert_eq!(*file.policy(), *policy);
        fs::remove_file(&path).expect("it is there");
        assert!(matches!(file.reload(), Reloaded::Refused(PolicyError::Unreadable { .. })));
        assert_eq!(file.reload(), Reloaded::Same);
        write("rules: {off: [pv-failed]}");
        assert_eq!(file.reload(), Reloaded::Restored);
        assert_eq!(file.reload(), Reloaded::Same);
    }

    #[test]
    fn what_is_no_file_of_ours_is_not_read() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let large = folder.path().join("large");
        fs::write(&large, vec![b'#'; 2 << 20]).expect("it is ours");
        let binary = folder.path().join("binary");
        fs::write(&binary, [0xff, 0xfe, 0]).expect("it is ours");
        for (path, why) in [
            (large, "larger than 1 MiB"),
            (binary, "not UTF-8"),
            (folder.path().to_owned(), "directory"),
        ] {
            let error = PolicyFile::open(PolicySource::parse(&path)).expect_err(why);
            assert!(error.to_string().contains(why), "{error}");
        }
    }
}
