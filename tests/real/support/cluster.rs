//! Clusters: one that most scenarios share, and others with flags of their own.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, OnceLock};

use kube::config::Kubeconfig;
use serde_json::{Value, json};

use super::api::Api;
use super::driver::{Driver, DriverOptions};
use super::testbed::testbed;

/// What a cluster is made of; the default is an API server and nothing else.
#[derive(Clone, Copy, Default)]
pub(crate) struct Options<'a> {
    /// `KUBERNETES_VERSION` when empty, else `1.36.3`.
    pub(crate) version: &'a str,
    pub(crate) controllers: bool,
    pub(crate) scheduler: bool,
    pub(crate) kwok: bool,
    pub(crate) nodes: u32,
    pub(crate) server_args: &'a [&'a str],
    pub(crate) controller_args: &'a [&'a str],
    /// Objects by their keys in etcd beneath `/registry`, written before the API server looks.
    pub(crate) seed: &'a [(String, Value)],
}

impl Options<'_> {
    /// All controllers, and three nodes on which pods run.
    pub(crate) const COMPLETE: Self = Self {
        version: "",
        controllers: true,
        scheduler: true,
        kwok: true,
        nodes: 3,
        server_args: &[],
        controller_args: &[],
        seed: &[],
    };

    /// The API server and the controller manager.
    pub(crate) const CONTROLLERS: Self =
        Self { scheduler: false, kwok: false, nodes: 0, ..Self::COMPLETE };
}

/// A running cluster; it is stopped when the test is done with it.
pub(crate) struct Cluster {
    name: String,
    /// What the supervisor said about it.
    reply: Value,
    api: Api,
    kubectl_cache: tempfile::TempDir,
    driver: OnceLock<Driver>,
    unattached: OnceLock<Driver>,
    shared: bool,
}

static SHARED: LazyLock<Cluster> = LazyLock::new(|| {
    let cluster = Cluster::start(Options::COMPLETE).of_many();
    cluster.install_snapshot_api();
    cluster
});

/// An API server without controllers, of scenarios in which nothing may change by itself. Whoever has the tool write
/// there does it in a name of their own.
pub(crate) static STILL: LazyLock<Cluster> = LazyLock::new(|| Cluster::start(Options::default()));

/// The cluster of scenarios that need no more than their own namespace. It has the CRDs of the snapshot API.
pub(crate) fn shared() -> &'static Cluster {
    &SHARED
}

impl Cluster {
    pub(crate) fn start(options: Options) -> Self {
        let mut request = json!({
            "kcm": options.controllers,
            "scheduler": options.scheduler,
            "kwok": options.kwok,
            "nodes": options.nodes,
            "apiserver_args": options.server_args,
            "kcm_args": options.controller_args,
        });
        let wanted = std::env::var("KUBERNETES_VERSION").unwrap_or_default();
        let version = if options.version.is_empty() { &*wanted } else { options.version };
        if !version.is_empty() {
            request["version"] = json!(version);
        }
        let seed = seed_file(options.seed);
        if !options.seed.is_empty() {
            request["etcd_seed"] = json!(seed.path());
        }
        let reply = testbed().request("cluster.start", request);
        let kubeconfig = reply["kubeconfig"].as_str().expect("because every cluster has one");
        let cluster = Self {
            name: reply["cluster"].as_str().expect("because the supervisor names it").to_owned(),
            api: Api::of(Path::new(kubeconfig)),
            reply,
            kubectl_cache: tempfile::tempdir().expect("because the temporary folder is writable"),
            driver: OnceLock::new(),
            unattached: OnceLock::new(),
            shared: false,
        };
        super::guard::install(&cluster);
        cluster
    }

    /// Installs the CRDs of the snapshot API, and no controllers.
    pub(crate) fn install_snapshot_api(&self) {
        testbed().request("snapshots.install", json!({"cluster": self.name}));
    }

    /// Says that many scenarios use it: each cleans up behind itself.
    pub(crate) fn of_many(mut self) -> Self {
        self.shared = true;
        self
    }

    /// What the supervisor calls it.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The administrator's way to it.
    pub(super) fn api(&self) -> &Api {
        &self.api
    }

    /// Whether other scenarios use it too.
    pub(super) fn is_shared(&self) -> bool {
        self.shared
    }

    /// The URL of the API server.
    pub(crate) fn server(&self) -> &str {
        self.field("server")
    }

    /// The certificate authority of the API server.
    pub(crate) fn authority(&self) -> &Path {
        Path::new(self.field("ca"))
    }

    /// The kubeconfig of the administrator.
    pub(crate) fn kubeconfig(&self) -> &Path {
        Path::new(self.field("kubeconfig"))
    }

    /// The kubeconfig of a user who has no rights until somebody grants them.
    pub(crate) fn kubeconfig_of(&self, user: &str) -> PathBuf {
        let path = self.reply["users"][user].as_str();
        PathBuf::from(path.unwrap_or_else(|| panic!("the testbed has no user {user:?}")))
    }

    pub(crate) fn audit_log_file(&self) -> &Path {
        Path::new(self.field("audit_log"))
    }

    pub(super) fn kubectl_cache(&self) -> &Path {
        self.kubectl_cache.path()
    }

    fn field(&self, name: &str) -> &str {
        self.reply[name].as_str().unwrap_or_else(|| panic!("the supervisor says no {name:?}"))
    }

    /// The driver of scenarios that only use one.
    pub(crate) fn driver(&self) -> &Driver {
        self.driver
            .get_or_init(|| self.start_driver("shared.csi.example", &DriverOptions::default()))
    }

    /// A driver that attaches nothing: its volumes are deleted as soon as their claims are, whoever
    /// has mounted them.
    pub(crate) fn driver_without_attachments(&self) -> &Driver {
        let options = DriverOptions { attach: false, ..DriverOptions::default() };
        self.unattached.get_or_init(|| self.start_driver("mounts.csi.example", &options))
    }

    /// Installs a CSI driver and starts its processes, which end when the driver is dropped.
    pub(crate) fn start_driver(&self, name: &str, options: &DriverOptions) -> Driver {
        Driver::start(&self.name, name, options)
    }

    /// Writes text straight into etcd, under a key beneath `/registry`.
    pub(crate) fn write(&self, key: &str, text: &str) {
        let key = format!("/registry/{key}");
        testbed().request("etcd.put", json!({"cluster": self.name, "key": key, "value": text}));
    }

    pub(crate) fn stop_component(&self, component: &str) {
        self.component("stop", component, json!({}));
    }

    pub(crate) fn start_component(&self, component: &str) {
        self.component("start", component, json!({}));
    }

    /// Restarts the controller manager with other arguments.
    pub(crate) fn restart_controllers(&self, args: &[&str]) {
        self.stop_component("kcm");
        self.component("start", "kcm", json!({"args": args}));
    }

    /// Sends `STOP`, `CONT`, `TERM` or `KILL` to a component.
    pub(crate) fn signal_component(&self, component: &str, signal: &str) {
        self.component("signal", component, json!({"signal": signal}));
    }

    fn component(&self, verb: &str, component: &str, fields: Value) {
        let mut request = fields;
        request["cluster"] = json!(self.name);
        request["component"] = json!(component);
        testbed().request(&format!("component.{verb}"), request);
    }
}

/// A kubeconfig whose contexts are in a namespace.
pub(crate) fn kubeconfig_in(namespace: &str, kubeconfig: &Path) -> String {
    let mut there = Kubeconfig::read_from(kubeconfig).expect("because the testbed wrote it");
    for context in there.contexts.iter_mut().filter_map(|it| it.context.as_mut()) {
        context.namespace = Some(namespace.to_owned());
    }
    serde_json::to_string(&there).expect("because it was read")
}

fn seed_file(objects: &[(String, Value)]) -> tempfile::NamedTempFile {
    let mut file =
        tempfile::NamedTempFile::new().expect("because the temporary folder is writable");
    for (key, value) in objects {
        let line = json!({"key": format!("/registry/{key}"), "value": value});
        writeln!(file, "{line}").expect("because the temporary folder has room");
    }
    file
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Should it fail, the end of the supervisor does it.
        // What many have used may have left processes of drivers behind.
        let failed = self.shared || std::thread::panicking();
        let _ =
            testbed().try_request("cluster.stop", json!({"cluster": self.name, "failed": failed}));
    }
}
