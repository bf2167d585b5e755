//! `retention set`: what it sends and in which order, and what becomes of the claims when their set is deleted afterwards.

mod interrupted;
mod refused;
mod retained;
mod server;

use std::collections::BTreeMap;
use std::time::Duration;

use super::set::Set;
use crate::support::{Admin, Mark, Told, eventually, never};

/// How long the garbage collector gets to delete what it must not delete.
const A_WHILE: Duration = Duration::from_secs(3);

/// The requests that changed something, in a word each: of claims, and of the set.
fn sent(admin: &Admin, since: Mark) -> Vec<String> {
    let sent = admin.sent(since).into_iter().filter(|it| !it.dry);
    sent.map(|it| it.line()).collect()
}

const PATCH: &str = "patch statefulsets web";

fn patch_of(ordinal: u32) -> String {
    format!("patch persistentvolumeclaims data-web-{ordinal}")
}

impl Set<'_> {
    /// Runs `retention set sts/web`.
    fn run(&self, admin: &Admin, args: &[&str]) -> Told {
        admin.run(&self.call(args))
    }

    /// Runs it, and fails unless it is refused with this exit code and nothing is sent, not even a dry run.
    #[track_caller]
    fn refused(&self, admin: &Admin, code: i32, args: &[&str]) -> Told {
        let mark = self.on.cluster.mark();
        let told = admin.refused(code, &self.call(args));
        assert_eq!(admin.sent(mark).len(), 0, "{args:?}");
        told
    }

    fn call<'b>(&'b self, args: &[&'b str]) -> Vec<&'b str> {
        [&["retention", "set", "sts/web", "-n", &self.on.name, "--yes"], args].concat()
    }

    /// Deletes the set, and fails unless every claim and every folder is there afterwards.
    #[track_caller]
    fn survives(&self, claims: &BTreeMap<String, String>) {
        let folders = self.folders();
        self.delete();
        never("a claim is deleted", A_WHILE, || {
            let now = self.on.cluster.list(&self.on.name, "pvc");
            now.len() != claims.len()
                || now.iter().any(|it| !it["metadata"]["deletionTimestamp"].is_null())
        });
        assert_eq!(self.claims(), *claims);
        assert!(folders.values().all(|it| it.is_dir()), "{folders:?}");
    }

    fn policy(&self) -> (String, String) {
        let set = self.on.read("sts/web");
        let policy = &set["spec"]["persistentVolumeClaimRetentionPolicy"];
        let text = |field: &str| policy[field].as_str().unwrap_or_default().to_owned();
        (text("whenDeleted"), text("whenScaled"))
    }

    /// Waits until all claims of these ordinals are owned by the set.
    fn owned(&self, ordinals: &[u32]) {
        for ordinal in ordinals {
            self.wait_owners(&format!("data-web-{ordinal}"), &[super::set::BY_SET]);
        }
    }

    /// Waits until nothing owns these claims.
    fn unowned(&self, ordinals: &[u32]) {
        eventually("nothing owns the claims", || {
            ordinals.iter().all(|it| self.owners(&format!("data-web-{it}")).is_empty())
        });
    }
}
