//! What is said of those who should remove a finalizer, and the flags that say it.

use std::fmt::Write as _;

use crate::cluster::Cx;
use crate::facts;
use crate::model::{Metadata, Text};

/// Adds the danger flags that a proposal relies on to the command that does it, as they were given;
/// of the drivers that are said to be absent, only the one that matters, where it is known.
pub(super) fn add_flags(
    cx: &Cx,
    command: &mut String,
    relies_on: &[&'static str],
    absent: Option<&Text>,
) {
    let settings = cx.settings();
    for flag in relies_on {
        let values: Vec<&str> = match *flag {
            "--driver-absent" => {
                let all = settings.absent_drivers.iter();
                all.filter(|it| absent.is_none_or(|only| only == *it)).map(|it| &**it).collect()
            }
            "--remove-finalizer" => settings.remove_finalizer.iter().map(|it| &**it).collect(),
            _ => {
                let _ = write!(command, " {flag}");
                continue;
            }
        };
        for value in values {
            let _ = write!(command, " {flag} {value}");
        }
    }
}

/// Who should remove a finalizer that is nobody's who is known.
pub(super) fn whoever_set(metadata: &Metadata, finalizer: &str) -> String {
    let managers = facts::managers_of(metadata, finalizer);
    let set_by = match managers.is_empty() {
        true => String::new(),
        false => format!(" (managedFields name {})", managers.join(", ")),
    };
    format!("whoever set it{set_by} should remove it, and nothing tells whether they are there")
}
