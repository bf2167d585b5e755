//! Whether sidecar containers serve a driver.

use std::collections::BTreeSet;

use super::{ControllerSearch, is_registered};
use crate::facts::driver_names::{mentions, named_driver, words};
use crate::model::{ControllerRole, SidecarContainer, Sidecars, Text};

impl ControllerSearch<'_, '_> {
    /// Whether these sidecars have the role and mention the driver.
    pub(super) fn serves(&self, sidecars: &Sidecars) -> bool {
        sidecars.containers.iter().any(|it| it.plays(self.role))
            && (matches!(
                self.role,
                ControllerRole::ControllerManager | ControllerRole::Snapshotter
            ) || sidecars.mentions.iter().any(|text| mentions(text, self.driver)))
    }

    /// Whether these sidecars may have the role for the driver: they mention it, or their driver is
    /// unknown. Each of them serves one driver, so that if more sidecars run than drivers are
    /// mentioned, one may belong to this driver. Any word that is the name of a registered driver
    /// counts as a mention.
    pub(super) fn may_serve(&self, sidecars: &Sidecars) -> bool {
        let plays = |container: &&SidecarContainer| container.may_play(self.role);
        let running = sidecars.containers.iter().filter(plays).count();
        if running == 0 {
            return false;
        }
        let mut named: BTreeSet<_> =
            sidecars.mentions.iter().filter_map(|it| named_driver(it)).collect();
        let registered = |word: &&str| word.contains('.') && is_registered(self.cx, word);
        named.extend(sidecars.mentions.iter().flat_map(|it| words(it)).filter(registered));
        let of_all =
            matches!(self.role, ControllerRole::ControllerManager | ControllerRole::Snapshotter);
        let mentioned = || sidecars.mentions.iter().any(|text| mentions(text, self.driver));
        running > named.len() || of_all || mentioned()
    }

    /// Whether the role's containers among these sidecars wait for a Lease before they work. `None`
    /// if a variable decides it.
    pub(super) fn elects_leader(&self, sidecars: &Sidecars) -> Option<bool> {
        let containers = sidecars.containers.iter().filter(|it| it.plays(self.role));
        let mut elects = Some(false);
        for container in containers {
            match leader_election(self.role, &container.args) {
                Some(false) => {}
                // One that works without a Lease may serve another driver than one that waits.
                other => elects = elects.and(other),
            }
        }
        elects
    }
}

/// Whether arguments switch leader election on: the sidecars are published with it switched off,
/// kube-controller-manager with it switched on. `None` if a variable decides it.
fn leader_election(role: ControllerRole, args: &[Text]) -> Option<bool> {
    let mut on = Some(role == ControllerRole::ControllerManager);
    for arg in args {
        let flag = arg.trim_start_matches('-');
        let (name, value) = flag.split_once('=').unwrap_or((flag, "true"));
        if matches!(name, "leader-election" | "enable-leader-election" | "leader-elect") {
            on = match &*value.to_ascii_lowercase() {
                "true" | "t" | "1" => Some(true),
                "false" | "f" | "0" => Some(false),
                _ => None,
            };
        }
    }
    on
}
