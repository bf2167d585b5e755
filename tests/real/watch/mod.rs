//! `audit --watch` and `watch`: what is told of findings adds up to what an audit says, whatever happens to the cluster and to the
//! way there.

mod acting;
mod acting_rights;
mod alerts;
mod chaos;
mod cutter;
mod disturbed;
mod election;
mod installed;
mod policy;
mod reporting;
mod reports;
mod stalled;
mod told;
mod watcher;

use watcher::Watcher;

use crate::support::{PersistentVolume, Scenario};

/// What has volumes count as kept for too long at once.
const ARGS: [&str; 2] = ["--older-than", "1s"];
const PAST: &str = "pv-released-past-threshold";

/// Makes a volume that is Released and kept, and returns its name.
fn released(on: &Scenario, name: &str) -> String {
    let name = on.named(name);
    let left = PersistentVolume::csi(&name, "none.example", &name).left_by(&on.name, "gone");
    on.create(&left.0);
    on.wait_phase(&format!("pv/{name}"), "Released");
    format!("pv/{name}")
}
