//! `audit --watch` and `watch`: what is told of findings adds up to what an audit says, whatever happens to the cluster and to the
//! way there.

mod acting;
mod acting_ends;
mod acting_killed;
mod acting_paused;
mod acting_rights;
mod alerts;
mod chaos;
mod chart;
mod cutter;
mod dashboard;
mod disturbed;
mod election;
mod installed;
mod interleaved;
mod nightly;
mod open_reports;
mod policy;
mod reporting;
mod reports;
mod stalled;
mod told;
mod watcher;

use watcher::Watcher;

use crate::support::{Cluster, PersistentVolume, Scenario};

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

/// Gives a user the roles of this name that `rbac watch` prints: in the cluster, and where announcements are recorded.
fn bind(cluster: &Cluster, name: &str, user: &str) {
    cluster.kubectl(&["create", "clusterrolebinding", name, "--clusterrole", name, "--user", user]);
    let records = format!("{name}-records");
    let bind = ["create", "rolebinding", &records, "--role", &records, "--user", user];
    cluster.kubectl(&[&bind[..], &["-n", "kube-system"]].concat());
}
