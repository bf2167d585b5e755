//! Released volumes in store, so that no scenario has to wait until its own are old enough.

use std::fs;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::Duration;

use serde_json::json;

use crate::support::{Cluster, Driver, DriverOptions, Options, PersistentVolume, eventually};

/// A cluster with drivers whose volumes are there to be reclaimed.
pub(super) struct Pool {
    pub(super) cluster: Cluster,
    drivers: Vec<Driver>,
    size: usize,
    taken: AtomicUsize,
}

/// How many volumes the scenarios on the shared cluster take, and a few more.
const SHARED: usize = 132;

/// The cluster that most scenarios of this folder share. It goes with the testbed.
pub(super) fn shared() -> &'static Pool {
    static POOL: LazyLock<Pool> = LazyLock::new(|| Pool::start(3, SHARED));
    &POOL
}

impl Pool {
    /// Starts a cluster, drivers, and volumes, which are shared out among the drivers in blocks.
    pub(super) fn start(drivers: usize, size: usize) -> Self {
        let cluster = Cluster::start(Options {
            kwok: true,
            nodes: 1,
            scheduler: true,
            ..Options::CONTROLLERS
        });
        let names = (1..=drivers).map(|number| format!("writing-{number}.csi.example"));
        let drivers: Vec<_> =
            names.map(|it| cluster.start_driver(&it, &DriverOptions::default())).collect();
        let pool = Self { cluster, drivers, size, taken: AtomicUsize::new(0) };
        let volumes: Vec<_> = (0..size).map(|place| pool.volume(place).0).collect();
        let list = json!({"apiVersion": "v1", "kind": "List", "items": volumes});
        let create = ["create", "-f", "-", "--field-manager=scenario"];
        let made = pool.cluster.try_kubectl(&create, &list.to_string());
        made.expect("because the administrator may create volumes");
        eventually("all volumes are Released", || pool.released() == size);
        sleep(Duration::from_millis(2100)); // longer than `--older-than 1s` asks for
        pool
    }

    fn driver(&self, place: usize) -> &Driver {
        &self.drivers[place * self.drivers.len() / self.size]
    }

    /// A volume as a provisioner would have left it, whose claim is gone.
    fn volume(&self, place: usize) -> PersistentVolume {
        let driver = self.driver(place);
        let name = name(place);
        driver.make(&name);
        fs::write(driver.folder(&name).join("data"), "a database").expect("because it is ours");
        PersistentVolume::csi(&name, &driver.name, &name)
            .left_by("left", &name)
            .provisioned_by(&driver.name)
            .class(&driver.class_retain)
    }

    fn released(&self) -> usize {
        let all = self.cluster.list("", "pv").into_iter();
        all.filter(|it| it["status"]["phase"] == "Released").count()
    }

    /// Takes some volumes of one driver, which nobody else gets.
    pub(super) fn take(&self, count: usize) -> (&Driver, Vec<String>) {
        loop {
            let first = self.taken.fetch_add(count, Ordering::Relaxed);
            let last = first + count - 1;
            assert!(last < self.size, "the pool is empty: make it larger");
            let (driver, other) = (self.driver(first), self.driver(last));
            // A block that two drivers share is nobody's.
            if driver.name == other.name {
                return (driver, (first..=last).map(name).collect());
            }
        }
    }
}

fn name(place: usize) -> String {
    format!("left-{place:03}")
}
