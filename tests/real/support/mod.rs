//! What scenarios are written with: clusters, drivers, kubectl, the tool, and patience.

mod admin;
mod alone;
mod api;
mod audit_log;
mod cluster;
mod dice;
mod driver;
mod faults;
mod gce_pd;
mod guard;
mod hands;
pub(crate) mod history;
mod kubectl;
mod local_path;
mod objects;
mod patience;
mod random;
mod real_drivers;
mod record;
mod report;
mod run;
mod scenario;
mod testbed;

pub(crate) use admin::{Admin, Told};
pub(crate) use alone::{ADDRESS, alone};
pub(crate) use api::request;
pub(crate) use audit_log::{Mark, Write};
pub(crate) use cluster::{Cluster, Options, STILL, kubeconfig_in, shared};
pub(crate) use dice::Dice;
pub(crate) use driver::{Driver, DriverOptions};
pub(crate) use faults::{Fault, Held, Proxy, Request};
pub(crate) use gce_pd::GcePd;
pub(crate) use hands::{mark, send};
pub(crate) use local_path::LocalPath;
pub(crate) use objects::{HOST_PATHS, PersistentVolume, claim, host_folder, host_path_class, pod};
pub(crate) use patience::{eventually, happens, never, say};
pub(crate) use random::{Bounds, Cases, Tally};
pub(crate) use real_drivers::{RealDrivers, real_drivers};
pub(crate) use report::{Finding, Report};
pub(crate) use run::{AtTerminal, Explained, Outcome, Run, Running};
pub(crate) use scenario::Scenario;

/// The path of one of the testbed's programs.
pub(crate) fn program(name: &str) -> std::path::PathBuf {
    testbed::testbed().program(name)
}
