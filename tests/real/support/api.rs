//! Requests of the administrator to the API server, sent from the test process and shaped as kubectl shapes them.
//!
//! The scenarios send thousands. A kubectl for each cost 60 ms of CPU and a new TLS connection.

use std::path::Path;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

use http::{HeaderValue, Method, Request};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::guard;

static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Runtime::new().expect("because the machine has threads"));

const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";
/// Makes the server list the resources of all groups in one answer.
const DISCOVERY: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// How often a read is tried while the API server restarts.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(250);
/// How long a scenario rests after a write: controllers act on what their watches have shown them, and the
/// next thing that it does is meant for controllers that know of the last.
const AFTER_A_WRITE: Duration = Duration::from_millis(200);

/// The administrator's way to an API server.
pub(super) struct Api {
    config: Config,
    client: Mutex<Client>,
    resources: Mutex<Vec<Resource>>,
}

/// Builds a request of a scenario; `null` is no body.
pub(crate) fn request(method: Method, path: &str, kind: &str, body: &Value) -> Request<Vec<u8>> {
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    Request::builder()
        .method(method)
        .uri(path)
        .header("Content-Type", kind)
        .header("Accept", if path.len() <= "/apis".len() { DISCOVERY } else { JSON })
        .header("User-Agent", "scenario")
        .body(body)
        .expect("because paths and headers are plain")
}

/// A resource that the server has.
#[derive(Clone)]
struct Resource {
    /// Where its objects are, such as `/apis/apps/v1`.
    root: String,
    kind: String,
    plural: String,
    /// Other words for it: the singular and the short ones.
    words: Vec<String>,
    namespaced: bool,
}

impl Api {
    pub(super) fn of(kubeconfig: &Path) -> Self {
        let kubeconfig = Kubeconfig::read_from(kubeconfig).expect("because the testbed wrote it");
        let options = KubeConfigOptions::default();
        let config = RUNTIME.block_on(Config::from_custom_kubeconfig(kubeconfig, &options));
        let config = config.expect("because the testbed wrote it");
        let client = Mutex::new(connect(&config));
        Self { config, client, resources: Mutex::default() }
    }

    /// Opens new connections: those to an API server that was restarted are broken.
    pub(super) fn reconnect(&self) {
        *self.client.lock().unwrap_or_else(PoisonError::into_inner) = connect(&self.config);
    }

    /// Creates an object.
    pub(super) fn create(&self, object: &Value) -> Result<Value, kube::Error> {
        let (version, kind) = (text(&object["apiVersion"]), text(&object["kind"]));
        let root = if version.contains('/') { "apis" } else { "api" };
        let root = format!("/{root}/{version}");
        let resource = self.resource(&|it| it.root == root && it.kind == kind, &kind);
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or("default");
        let path = resource.path(namespace, "");
        // What a provisioner would have made is not taken for a copy.
        let provisioned = &object["metadata"]["annotations"]["pv.kubernetes.io/provisioned-by"];
        let manager = if provisioned.is_null() { "kubectl-create" } else { "scenario" };
        let query = format!("?fieldManager={manager}&fieldValidation=Strict");
        self.send(Method::POST, &format!("{path}{query}"), JSON, object)
    }

    /// Returns an object such as `pv/data`, if there is one.
    pub(super) fn get(&self, namespace: &str, object: &str) -> Result<Option<Value>, kube::Error> {
        match self.read(&self.path(namespace, object)) {
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            answer => answer.map(Some),
        }
    }

    /// Returns all objects of a resource, of a namespace or of all.
    pub(super) fn list(&self, namespace: &str, resource: &str) -> Result<Vec<Value>, kube::Error> {
        let mut list = self.read(&self.word(resource).path(namespace, ""))?;
        Ok(list["items"].as_array_mut().map(std::mem::take).unwrap_or_default())
    }

    /// Merges a patch into an object, or into a part of it such as `/status`.
    pub(super) fn merge(
        &self,
        namespace: &str,
        object: &str,
        part: &str,
        patch: &Value,
    ) -> Result<Value, kube::Error> {
        let whole = self.path(namespace, object);
        let target = format!("{whole}{part}?fieldManager=kubectl-patch");
        self.send(Method::PATCH, &target, MERGE, patch)
    }

    /// Asks for an object's deletion.
    pub(super) fn delete(&self, namespace: &str, object: &str) -> Result<Value, kube::Error> {
        let options = json!({
            "apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background",
        });
        self.send(Method::DELETE, &self.path(namespace, object), JSON, &options)
    }

    /// Reads a path; retried when the connection breaks.
    pub(super) fn read(&self, path: &str) -> Result<Value, kube::Error> {
        let mut tries = 0;
        loop {
            match self.send(Method::GET, path, JSON, &Value::Null) {
                Ok(answer) => return Ok(answer),
                Err(error @ kube::Error::Api(_)) => return Err(error),
                Err(error) if tries >= TRIES => return Err(error),
                Err(_) => {
                    tries += 1;
                    std::thread::sleep(PAUSE);
                }
            }
        }
    }

    fn send(
        &self,
        method: Method,
        path: &str,
        kind: &str,
        body: &Value,
    ) -> Result<Value, kube::Error> {
        let is_write = method != Method::GET;
        let mut request = request(method, path, kind, body);
        if guard::is_on() {
            let (user, group) = guard::BY_HAND;
            let headers = request.headers_mut();
            headers.insert("Impersonate-User", HeaderValue::from_static(user));
            headers.insert("Impersonate-Group", HeaderValue::from_static(group));
        }
        let client = self.client.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let answer = RUNTIME.block_on(client.request(request));
        if is_write {
            std::thread::sleep(AFTER_A_WRITE);
        }
        answer
    }

    /// The path of an object such as `pv/data`.
    fn path(&self, namespace: &str, object: &str) -> String {
        let (word, name) = object.split_once('/').unwrap_or_else(|| panic!("{object} has no name"));
        self.word(word).path(namespace, name)
    }

    /// The resource that a word of kubectl stands for: plural, singular or short name.
    fn word(&self, word: &str) -> Resource {
        self.resource(&|it| it.plural == word || it.words.iter().any(|other| other == word), word)
    }

    fn resource(&self, is: &dyn Fn(&Resource) -> bool, what: &str) -> Resource {
        let mut known = self.resources.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known.iter().find(|it| is(it)) {
            return found.clone();
        }
        // A CustomResourceDefinition may have been created since.
        *known = ["/api", "/apis"].iter().flat_map(|path| self.discover(path)).collect();
        let found = known.iter().find(|it| is(it)).cloned();
        found.unwrap_or_else(|| panic!("the server has no {what}"))
    }

    fn discover(&self, path: &str) -> Vec<Resource> {
        let found = self.read(path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let mut resources = Vec::new();
        for group in list(&found["items"]) {
            for version in list(&group["versions"]) {
                let name = group["metadata"]["name"].as_str().unwrap_or_default();
                let slash = if name.is_empty() { "" } else { "/" };
                let root = format!("{path}{slash}{name}/{}", text(&version["version"]));
                resources
                    .extend(list(&version["resources"]).iter().map(|it| Resource::of(it, &root)));
            }
        }
        resources
    }
}

impl Resource {
    fn of(discovered: &Value, root: &str) -> Self {
        let mut words: Vec<_> = list(&discovered["shortNames"]).iter().map(text).collect();
        words.push(text(&discovered["singularResource"]));
        Self {
            root: root.to_owned(),
            kind: text(&discovered["responseKind"]["kind"]),
            plural: text(&discovered["resource"]),
            words,
            namespaced: discovered["scope"] == "Namespaced",
        }
    }

    /// The path of an object, or of all objects without a name.
    fn path(&self, namespace: &str, name: &str) -> String {
        let Self { root, plural, .. } = self;
        let within = match self.namespaced && !namespace.is_empty() {
            true => format!("namespaces/{namespace}/"),
            false => String::new(),
        };
        let slash = if name.is_empty() { "" } else { "/" };
        format!("{root}/{within}{plural}{slash}{name}")
    }
}

fn connect(config: &Config) -> Client {
    let _inside = RUNTIME.enter();
    Client::try_from(config.clone()).expect("because the testbed wrote the kubeconfig")
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
