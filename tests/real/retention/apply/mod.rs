//! `retention apply`: what it writes, what it refuses, and what becomes of the claims, with the real controllers.

mod add;
mod leftovers;
mod others;
mod owners;
mod permissions;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::set::Set;
use crate::support::{Admin, Told, Write};

/// A uid that no object has.
const DEAD: &str = "00000000-dead-4000-8000-000000000000";

impl Set<'_> {
    /// The folder of the volume of each claim.
    fn folders(&self) -> BTreeMap<String, PathBuf> {
        let of = |claim: &str| {
            let volume = self.on.read(&format!("pvc/{claim}"))["spec"]["volumeName"].take();
            let volume = volume.as_str().expect("because it is bound").to_owned();
            let path = self.on.read(&format!("pv/{volume}"))["spec"]["hostPath"]["path"].take();
            Path::new(path.as_str().expect("because it is of host-path")).to_owned()
        };
        self.claims().into_keys().map(|claim| (claim.clone(), of(&claim))).collect()
    }

    /// Somebody who may do anything applies the policy of the set.
    fn apply(&self, admin: &Admin, args: &[&str]) -> Told {
        let call = ["retention", "apply", "sts/web", "-n", &self.on.name, "--yes"];
        admin.run(&[&call[..], args].concat())
    }

    /// The command that a finding names.
    fn command(&self) -> String {
        format!("kubectl storage retention apply sts/web -n {}", self.on.name)
    }

    /// Makes a pod fail its readiness for good.
    fn unready(&self, pod: &str) {
        let unready = r#"{"status": {"conditions": [{"type": "Ready", "status": "False"}]}}"#;
        let args = ["patch", pod, "-n", &self.on.name, "--subresource=status"];
        self.on.cluster.kubectl(&[&args[..], &["--type=strategic", "-p", unready]].concat());
    }
}

/// What was sent, one line each.
fn lines(sent: &[Write]) -> Vec<String> {
    sent.iter().map(Write::line).collect()
}

/// The lines of a patch: its dry run, and itself.
fn patched<'a>(claims: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let both = |claim: &str| {
        let patch = format!("patch persistentvolumeclaims {claim}");
        [format!("dry {patch}"), patch]
    };
    claims.into_iter().flat_map(both).collect()
}
