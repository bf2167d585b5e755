//! Who should remove a finalizer, whether they are there, and how that is known.

use std::fmt::Write as _;

use crate::cluster::{Cx, Seen, Unseen};
use crate::facts;
use crate::model::{ControllerState, Liveness, Metadata, Role, Text};

/// The controller that should remove a finalizer.
#[derive(Debug)]
pub(super) struct Remover {
    /// What it is called, such as `csi-provisioner of disk.example.com`.
    who: String,
    /// What `--driver-absent` calls it.
    name: Text,
    state: ControllerState,
}

impl Remover {
    pub(super) fn controller_manager(cx: &Cx) -> Self {
        let name = Role::ControllerManager.name();
        Self { who: name.to_owned(), name: name.into(), state: facts::controller_manager(cx) }
    }

    pub(super) fn provisioner(cx: &Cx, driver: &Text) -> Self {
        Self {
            who: format!("csi-provisioner of {driver}"),
            name: Text::clone(driver),
            state: facts::provisioner(cx, driver),
        }
    }

    pub(super) fn snapshot_controller(cx: &Cx) -> Self {
        let name = facts::SNAPSHOT_CONTROLLER;
        Self { who: name.to_owned(), name: name.into(), state: facts::snapshotter(cx) }
    }

    pub(super) fn attacher(cx: &Cx, driver: &Text) -> Self {
        Self {
            who: format!("external-attacher of {driver}"),
            name: Text::clone(driver),
            state: facts::attacher(cx, driver),
        }
    }

    pub(super) const fn liveness(&self) -> Liveness {
        self.state.liveness
    }

    /// Nothing that was not seen is why it is unknown.
    ///
    /// # Errors
    /// When something is.
    pub(super) fn was_seen(&self) -> Seen<()> {
        match (self.state.liveness, &self.state.unseen) {
            (Liveness::Unknown, Some((kind, reason))) => {
                Err(Unseen { kind: *kind, namespace: None, reason: reason.clone() })
            }
            (Liveness::Unknown, None) | (Liveness::Alive | Liveness::Absent, _) => Ok(()),
        }
    }

    /// Whether what was not seen leaves open that it is absent.
    pub(super) fn is_absent(&self, cx: &Cx) -> Seen<bool> {
        facts::is_absent(cx, &self.state, &self.name)
    }

    /// Whether it counts as absent on the user's word.
    pub(super) fn is_absent_by_word(&self, cx: &Cx) -> bool {
        self.state.liveness == Liveness::Absent && cx.settings().absent_drivers.contains(&self.name)
    }

    /// Who it is, whether it is there, and by which evidence; without times, which move.
    pub(super) fn describe(&self) -> String {
        let Self { who, state, .. } = self;
        match state.liveness {
            Liveness::Alive => format!("{who} is alive ({})", state.because),
            Liveness::Absent => format!("{who} is absent ({})", state.because),
            Liveness::Unknown => {
                let unseen = state.unseen.as_ref().map(|(_, reason)| reason.as_str());
                let because = unseen.unwrap_or(&state.because);
                format!("whether {who} is there is unknown ({because})")
            }
        }
    }

    /// The flag that says that it is gone.
    pub(super) fn absent_flag(&self) -> String {
        format!("--driver-absent {}", self.name)
    }
}

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
