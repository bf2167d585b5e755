//! Which claims are a set's: D-73.

use std::thread::sleep;
use std::time::Duration;

use super::set::{DELETE, Set};
use crate::support::shared;
use kubectl_storage::facts::retention::{Operation, Propagation};

const DRIFT: &str = "sts-template-drift";

#[test]
fn d_73_names_that_only_look_like_members() {
    let set = Set::start(shared(), DELETE, 2);
    let others = ["data-web-01", "data-web-99999999999", "old-web-0"];
    for claim in others {
        set.create_claim(claim);
    }
    let report = set.on.audit(&["--threshold", "protection=1s"]);
    assert!(set.ids(&report, "data-web-01").is_empty(), "{report}");
    assert!(set.ids(&report, "data-web-99999999999").is_empty(), "{report}");
    assert_eq!(set.ids(&report, "old-web-0"), [DRIFT], "{report}");
    report.finding(DRIFT, &set.claim("old-web-0")).expect("low", "report-only");
    report.is_second_fixture(DRIFT, &set.claim("old-web-0"));
    let delete = Operation::DeleteSet(Propagation::Background);
    assert_eq!(set.foretell(&delete), ["deleted", "deleted"], "two are the set's");
    set.scale(1);
    set.delete();
    set.wait_ordinals(&["01", "99999999999"]);
    sleep(Duration::from_secs(1));
    assert!(others.iter().all(|claim| set.owners(claim).is_empty()));
}
