//! Tests of how announcements are grouped into records.

use std::time::Duration;

use super::*;
use crate::model::{Effect, Loss, Proposal, Uid, Undo};
use crate::plan::ObjectDetails;
use crate::remedies::Announcing;

const UID: &str = "493c02a7-f4e6-5ec4-8e0b-fc87ae581be5";

fn change(handle: usize) -> ProposedChange {
    let key = ObjectKey::cluster_wide(Kind::PersistentVolume, "pv-1");
    let object = ObjectRef { key, uid: Uid::parse(UID) };
    let announced = AnnouncedVolume {
        name: "pv-1".into(),
        uid: Uid::parse(UID).expect("a uid"),
        claim: None,
        claim_uid: None,
        driver: "d".into(),
        handle: "h".repeat(handle).into(),
        place: "p".into(),
        proposal: "q".into(),
        notices: Vec::new(),
        effect: "e".into(),
    };
    let step = Action::Announce {
        volume: object.clone(),
        announced: Box::new(announced),
        mark: None,
        grace: Duration::from_secs(60),
    };
    ProposedChange {
        purpose: Purpose::Announce(Announcing::default()),
        object,
        about: ObjectDetails::default(),
        proposal: Proposal {
            steps: vec![step],
            effect: Effect { what: String::new(), risk: String::new() },
            undo: Undo::Never(""),
            notices: Vec::new(),
            relies_on: Vec::new(),
            keeps_backend: false,
            loses: Loss::default(),
        },
    }
}

#[test]
fn a_record_holds_as_many_volumes_as_the_api_server_stores() {
    let sizes = |handles: &[usize]| {
        let all: Vec<_> = handles.iter().map(|it| change(*it)).collect();
        let all: Vec<_> = all.iter().filter_map(Candidate::of).collect();
        batches(&all).iter().map(Vec::len).collect::<Vec<_>>()
    };
    let large = 300 * 1024;
    assert_eq!(sizes(&[]), Vec::<usize>::new());
    assert_eq!(sizes(&[1; 1000]), [1000]);
    assert_eq!(sizes(&[large; 5]), [2, 2, 1]);
    // What does not fit alone is refused by the API server, and takes no other with it.
    assert_eq!(sizes(&[1, 4 * large, 1]), [1, 1, 1]);
}
