//! One cluster for the scenarios of drivers that people run.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::{Cluster, GcePd, LocalPath, Options};

/// A cluster in which all of them are installed.
pub(crate) struct RealDrivers {
    pub(crate) cluster: Cluster,
    pub(crate) gce_pd: GcePd,
    pub(crate) local_path: LocalPath,
}

/// Nobody else asks for this, so the servers of this cluster served no other one.
const OWN: &str = "--max-mutating-requests-inflight=202";

/// The cluster that these scenarios share. It is stopped when none of them is under way, which is after the last.
pub(crate) fn real_drivers() -> Arc<RealDrivers> {
    static CURRENT: Mutex<Weak<RealDrivers>> = Mutex::new(Weak::new());
    let mut current = CURRENT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(running) = current.upgrade() {
        return running;
    }
    let options = Options { server_args: &[OWN], ..Options::COMPLETE };
    let cluster = Cluster::start(options).of_many();
    let gce_pd = GcePd::start(&cluster);
    let local_path = LocalPath::start(&cluster);
    let started = Arc::new(RealDrivers { cluster, gce_pd, local_path });
    *current = Arc::downgrade(&started);
    started
}
