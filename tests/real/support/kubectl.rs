//! What an administrator does: through the real kubectl where that matters, elsewhere by the same requests.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use super::Cluster;
use super::faults::Proxy;
use super::guard;
use super::testbed::testbed;

impl Cluster {
    /// Runs kubectl and returns its stdout, or its stderr when it failed.
    pub(crate) fn try_kubectl(&self, args: &[&str], stdin: &str) -> Result<String, String> {
        let program = testbed().program("kubectl");
        self.run_kubectl(&program, self.kubeconfig(), args, stdin)
    }

    /// Runs kubectl by way of a proxy.
    pub(crate) fn kubectl_through(&self, proxy: &Proxy, args: &[&str]) -> Result<String, String> {
        self.run_kubectl(&testbed().program("kubectl"), proxy.kubeconfig(), args, "")
    }

    /// Runs kubectl under the name of the tool, which then is its user agent's.
    pub(crate) fn kubectl_as_the_tool(&self, args: &[&str], stdin: &str) -> Result<String, String> {
        let program = self.kubectl_cache().join("kubectl-storage");
        if !program.exists() {
            std::os::unix::fs::symlink(testbed().program("kubectl"), &program)
                .expect("because the temporary folder is writable");
        }
        self.run_kubectl(&program, self.kubeconfig(), args, stdin)
    }

    /// Starts kubectl by way of a proxy, and reads what it prints as it comes.
    pub(crate) fn watch_through(&self, proxy: &Proxy, args: &[&str]) -> Watching {
        let mut child = self
            .kubectl_command(&testbed().program("kubectl"), proxy.kubeconfig(), args)
            .stdin(Stdio::null())
            .spawn()
            .expect("because the testbed has a kubectl");
        let lines = BufReader::new(child.stdout.take().expect("because it is piped"));
        Watching { child, lines }
    }

    fn kubectl_command(&self, program: &Path, kubeconfig: &Path, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .args(args)
            .args(by_hand(args))
            .env("KUBECACHEDIR", self.kubectl_cache())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn run_kubectl(
        &self,
        program: &Path,
        kubeconfig: &Path,
        args: &[&str],
        stdin: &str,
    ) -> Result<String, String> {
        let mut child = self
            .kubectl_command(program, kubeconfig, args)
            .stdin(Stdio::piped())
            .spawn()
            .expect("because the testbed has a kubectl");
        let mut pipe = child.stdin.take().expect("because it is piped");
        // kubectl may end without reading it: what it says then is what counts.
        let _ = pipe.write_all(stdin.as_bytes());
        drop(pipe);
        let output = child.wait_with_output().expect("because it was started");
        if output.status.success() {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        } else {
            Err(String::from_utf8_lossy(&output.stderr).into_owned())
        }
    }

    /// Runs kubectl, which must succeed, and returns its stdout.
    pub(crate) fn kubectl(&self, args: &[&str]) -> String {
        self.try_kubectl(args, "")
            .unwrap_or_else(|error| panic!("kubectl {}: {error}", args.join(" ")))
    }

    /// Creates an object and returns it.
    pub(crate) fn create(&self, object: &Value) -> Value {
        self.api().create(object).unwrap_or_else(|error| panic!("create {object}: {error}"))
    }

    /// Returns an object, or nothing when there is none.
    pub(crate) fn get(&self, namespace: &str, object: &str) -> Option<Value> {
        self.api().get(namespace, object).unwrap_or_else(|error| panic!("get {object}: {error}"))
    }

    /// Returns the uid of the cluster: that of namespace kube-system.
    pub(crate) fn uid(&self) -> String {
        let namespace = self.get("", "namespace/kube-system").expect("there is one");
        namespace["metadata"]["uid"].as_str().expect("because it has one").to_owned()
    }

    /// Returns all objects of a resource, of a namespace or, if that is empty, of all.
    pub(crate) fn list(&self, namespace: &str, resource: &str) -> Vec<Value> {
        let list = self.api().list(namespace, resource);
        list.unwrap_or_else(|error| panic!("list {resource}: {error}"))
    }

    /// Merges a patch into an object.
    pub(crate) fn patch(&self, namespace: &str, object: &str, patch: &Value) {
        let done = self.api().merge(namespace, object, "", patch);
        done.unwrap_or_else(|error| panic!("patch {object} {patch}: {error}"));
    }

    /// Merges a patch into an object's status.
    pub(crate) fn patch_status(&self, namespace: &str, object: &str, patch: &Value) {
        let done = self.api().merge(namespace, object, "/status", patch);
        done.unwrap_or_else(|error| panic!("patch status of {object} {patch}: {error}"));
    }

    /// Asks for an object's deletion, and does not wait.
    pub(crate) fn delete(&self, namespace: &str, object: &str) {
        let done = self.api().delete(namespace, object);
        done.unwrap_or_else(|error| panic!("delete {object}: {error}"));
    }

    /// Grants a user cluster-wide rights: pairs of an API group's resources and verbs.
    pub(crate) fn grant(&self, user: &str, rules: &Value) {
        let name = format!("grant-{user}");
        self.create(&json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": {"name": name}, "rules": rules,
        }));
        self.create(&json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
        }));
    }
}

/// In whose name kubectl runs under the guard, unless a scenario says so itself.
fn by_hand(args: &[&str]) -> Vec<String> {
    let named = args.iter().any(|it| *it == "--as" || it.starts_with("--as="));
    match guard::is_on() && !named {
        true => {
            let (user, group) = guard::BY_HAND;
            vec![format!("--as={user}"), format!("--as-group={group}")]
        }
        false => Vec::new(),
    }
}

/// A kubectl that goes on; it ends when the test is done with it.
pub(crate) struct Watching {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Watching {
    /// Reads lines until one contains a text, and panics when it ends before.
    pub(crate) fn wait(&mut self, text: &str) {
        let mut line = String::new();
        while !line.contains(text) {
            line.clear();
            let read = self.lines.read_line(&mut line).expect("because kubectl prints text");
            assert!(read > 0, "kubectl ended before it said {text:?}");
        }
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
