//! `gc --keep-backend`: the object goes, and nothing else; rehearsed, not even that.

use super::{Admin, left, release};
use crate::support::{Scenario, shared};

/// What a DELETE carries in its body is all that the API server reads of its options: a dry run in the query of one
/// with a body would be no dry run.
#[test]
fn a_deletion_is_rehearsed_without_deleting() {
    let on = Scenario::on(shared());
    let (admin, driver, name) = (Admin::of(&on), shared().driver(), on.named("pv"));
    release(&on, &[&left(&on, "pv")]);
    let uid = on.read(&format!("pv/{name}"))["metadata"]["uid"].clone();
    let before = on.cluster.mark();
    let args = ["gc", &name, "--older-than", "1s", "--keep-backend"];
    let told = admin.run(&[&args[..], &["--dry-run=server"]].concat()).ends(0);
    assert_eq!(told.outcomes("done"), [&*name], "{:#}", told.json);
    let volume = on.read(&format!("pv/{name}"));
    assert_eq!(volume["metadata"]["uid"], uid);
    assert!(volume["metadata"].get("deletionTimestamp").is_none(), "{volume:#}");
    assert!(driver.has(&name));
    assert_eq!(admin.writes(before).len(), 0);
}
