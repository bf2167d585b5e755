//! Options that an admin chooses when the guard is installed, as each of its objects records them.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::{Value, json};

use crate::model::{PROGRAM, is_program_name, program};

/// Default group that passes the guard, for `--as-group`.
pub const BREAK_GLASS: &str = "storage.kubectl.dev:break-glass";

/// Version of the rules; a newer one is installed over an older one.
const VERSION: u64 = 2;
/// Longest name of a user or group that is accepted.
const LONGEST: usize = 253;

/// Choice whether a rule refuses, or only warns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum GuardMode {
    /// The request is refused.
    Deny,
    /// The request is carried out, and the client prints a warning.
    Warn,
}

impl GuardMode {
    /// Returns the word for the mode, in flags and annotations.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Warn => "warn",
        }
    }
}

impl fmt::Display for GuardMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Options of the guard, as an admin chose them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuardOptions {
    /// Whether the cluster-wide rules, about volumes and `VolumeAttachments`, refuse.
    pub volumes: GuardMode,
    /// The group that passes every rule.
    pub break_glass: String,
    /// Service accounts that do not pass, by namespace and name.
    pub denied_accounts: BTreeSet<(String, String)>,
    /// Users that pass although their names do not begin with `system:`: controllers of managed
    /// control planes.
    pub passed_users: BTreeSet<String>,
    /// The name under which messages offer the commands of the program.
    pub program: String,
}

impl Default for GuardOptions {
    fn default() -> Self {
        Self {
            volumes: GuardMode::Warn,
            break_glass: BREAK_GLASS.to_owned(),
            denied_accounts: BTreeSet::new(),
            passed_users: BTreeSet::new(),
            program: PROGRAM.to_owned(),
        }
    }
}

/// Reason why options cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OptionsError {
    /// A name that no user or group can have.
    #[error("{0:?} is not a valid name of a user or group")]
    Name(String),
    /// A group that many requests have.
    #[error(
        "group {0} cannot be the break-glass group: requests of many users and controllers have it"
    )]
    CommonGroup(String),
    /// A name under which the program cannot be called.
    #[error("{0:?} is not a valid name of the program")]
    Program(String),
    /// A user whom the guard is for.
    #[error("user {0} cannot pass the guard: it is a person's")]
    Person(String),
}

impl GuardOptions {
    /// Returns the options with messages that offer commands under the name by which this process was called. Only an
    /// installation asks for that: all others, under whatever name, find the guard as it was installed.
    #[must_use]
    pub fn in_own_name(self) -> Self {
        Self { program: program().to_owned(), ..self }
    }

    /// Checks that all names, from a command line or from an annotation, are valid and pass no more than they say.
    ///
    /// # Errors
    /// When one would pass more than it says, or cannot be a name.
    pub fn check(&self) -> Result<(), OptionsError> {
        let named = self.passed_users.iter().chain([&self.break_glass]);
        let accounts = self.denied_accounts.iter().flat_map(|(namespace, name)| [namespace, name]);
        for name in named.chain(accounts) {
            let printable = name.chars().all(|c| c.is_ascii_graphic() && c != '\'' && c != '\\');
            if name.is_empty() || name.len() > LONGEST || !printable {
                return Err(OptionsError::Name(name.clone()));
            }
        }
        if !is_program_name(&self.program) {
            return Err(OptionsError::Program(self.program.clone()));
        }
        if self.break_glass.starts_with("system:") {
            return Err(OptionsError::CommonGroup(self.break_glass.clone()));
        }
        match self.passed_users.iter().find(|it| PEOPLE.contains(&&***it)) {
            Some(person) => Err(OptionsError::Person(person.clone())),
            None => Ok(()),
        }
    }

    /// Returns the text of the annotation that records the options.
    pub(super) fn annotation(&self) -> String {
        let accounts = self.denied_accounts.iter();
        let accounts: Vec<_> =
            accounts.map(|(namespace, name)| format!("{namespace}/{name}")).collect();
        let mut options = json!({
            "version": VERSION,
            "volumes": self.volumes.name(),
            "breakGlass": self.break_glass,
            "deniedAccounts": accounts,
            "passedUsers": self.passed_users,
        });
        if self.program != PROGRAM {
            options["program"] = json!(self.program);
        }
        options.to_string()
    }

    /// Reads options from the annotation; `None` where it is not readable: then the object differs from every guard.
    pub fn of_annotation(text: &str) -> Option<Self> {
        let read: Value = serde_json::from_str(text).ok()?;
        let texts = |field: &str| -> Option<Vec<String>> {
            read[field].as_array()?.iter().map(|it| Some(it.as_str()?.to_owned())).collect()
        };
        let volumes = match read["volumes"].as_str()? {
            "deny" => GuardMode::Deny,
            "warn" => GuardMode::Warn,
            _ => return None,
        };
        let account = |it: String| {
            let (namespace, name) = it.split_once('/')?;
            Some((namespace.to_owned(), name.to_owned()))
        };
        let options = Self {
            volumes,
            break_glass: read["breakGlass"].as_str()?.to_owned(),
            denied_accounts: texts("deniedAccounts")?
                .into_iter()
                .map(account)
                .collect::<Option<_>>()?,
            passed_users: texts("passedUsers")?.into_iter().collect(),
            program: match &read["program"] {
                Value::Null => PROGRAM.to_owned(),
                name => name.as_str()?.to_owned(),
            },
        };
        options.check().is_ok().then_some(options)
    }
}

/// Users whose names begin with `system:` although they are people.
pub(super) const PEOPLE: [&str; 2] = ["system:admin", "system:anonymous"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_annotation_is_read_as_it_was_written() {
        let mut options = GuardOptions { volumes: GuardMode::Deny, ..GuardOptions::default() };
        options.denied_accounts.insert(("ci".to_owned(), "deployer".to_owned()));
        options.passed_users.insert("eks:addon-manager".to_owned());
        assert!(
            !options.annotation().contains("program"),
            "guards that are installed are as they were"
        );
        assert_eq!(GuardOptions::of_annotation(&options.annotation()), Some(options.clone()));
        options.program = "kubectl volume-doctor".to_owned();
        let annotation = options.annotation();
        assert_eq!(GuardOptions::of_annotation(&annotation), Some(options));
        let wrong = annotation.replace("volume-doctor", "a; b");
        let no_text = annotation.replace(r#""kubectl volume-doctor""#, "1");
        for text in ["", "{}", "[]", r#"{"version":1,"volumes":"Deny"}"#, &wrong, &no_text] {
            assert_eq!(GuardOptions::of_annotation(text), None, "{text}");
        }
    }

    #[test]
    fn no_option_disarms_the_guard() {
        let group =
            |name: &str| GuardOptions { break_glass: name.to_owned(), ..GuardOptions::default() };
        assert!(group("on-call").check().is_ok());
        for name in ["system:authenticated", "system:masters", "", "a'b", "a\\b", "a b", "a\nb"] {
            assert!(group(name).check().is_err(), "{name:?}");
        }
        let user = |name: &str| GuardOptions {
            passed_users: [name.to_owned()].into(),
            ..GuardOptions::default()
        };
        assert!(user("arn:aws:sts::1:assumed-role/cluster/i-1").check().is_ok());
        assert!(user("system:admin").check().is_err());
    }
}
