//! The guard as fixtures of rules hold it is the one that `guard print` prints.

use kubectl_storage::guard::{GuardOptions, objects};

use crate::support::{expect_file, root};

#[test]
fn fixtures_hold_the_guard_as_it_is_printed() {
    let (claims, others): (Vec<_>, Vec<_>) = objects(&GuardOptions::default())
        .into_iter()
        .partition(|it| it.name.starts_with("kubectl-storage-guard-persistentvolumeclaims"));
    for (file, of, all) in [("claims", "claims", claims), ("others", "all other kinds", others)] {
        let mut text = format!("# What the guard has about {of}, written by tests/it/guard.rs.\n");
        for (place, object) in all.iter().enumerate() {
            text += if place == 0 { "" } else { "---\n" };
            text += &serde_yaml::to_string(&object.manifest).expect("because it is plain data");
        }
        expect_file(&root().join(format!("tests/rules/background/guard-{file}.yaml")), &text);
    }
}
