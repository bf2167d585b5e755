//! What `disown` proposes and refuses.

use std::cell::RefCell;

use super::*;
use crate::cluster::{Change, Cluster, Dirty, Reach};
use crate::model::{Answer, Metadata, OwnerKey, Question, Row, Settings, Text, Time, Uid};

fn now() -> Time {
    Time::from_timestamp(1_800_000_000, 0).expect("in range")
}

fn reference(kind: &str, name: &str, uid: &str) -> OwnerReference {
    let api_version = match kind {
        "Pod" => "v1",
        "StatefulSet" => "apps/v1",
        _ => "db.example.com/v1",
    };
    OwnerReference {
        api_version: api_version.into(),
        kind: kind.into(),
        name: name.into(),
        uid: Uid::parse(uid),
        controller: true,
        blocks_deletion: true,
    }
}

fn claim(owners: &[OwnerReference]) -> Claim {
    Claim {
        metadata: Metadata {
            name: "data".into(),
            uid: Uid::parse("claim-uid"),
            owners: owners.into(),
            ..Metadata::default()
        },
        ..Claim::sample()
    }
}

fn answered(owner: &OwnerReference, api_version: &str, answer: Answer) -> Row {
    let key = OwnerKey {
        api_version: api_version.into(),
        kind: Text::clone(&owner.kind),
        namespace: "shop".into(),
        name: owner.name.clone(),
    };
    Row::Answer(Question::OwnerExists(key), answer)
}

fn answer(owner: &OwnerReference, answer: Answer) -> Row {
    answered(owner, &owner.api_version, answer)
}

fn ask(claim: &Claim, answers: Vec<Row>, settings: &Settings) -> Seen<Result<Proposal, String>> {
    let (mut cluster, mut dirty) = (Cluster::default(), Dirty::everything());
    cluster.apply(Change::Clock(now()), &mut dirty);
    for row in std::iter::once(Row::Claim(Box::new(claim.clone()))).chain(answers) {
        cluster.apply(Change::Seen(row), &mut dirty);
    }
    for kind in Kind::ALL {
        cluster.apply(Change::Whole(Reach::all(kind)), &mut dirty);
    }
    let facts = RefCell::default();
    let cx = Cx::new(&cluster, settings, &facts);
    Ok(propose(&cx, claim)?.map_err(|refusal| refusal.reason))
}

fn plain(claim: &Claim, answers: Vec<Row>) -> Seen<Result<Proposal, String>> {
    ask(claim, answers, &Settings::default())
}

fn removed(proposal: &Proposal) -> Vec<String> {
    let [Action::RemoveOwnerReferences { owners, .. }] = &*proposal.steps else {
        panic!("{:?}", proposal.steps)
    };
    owners.iter().map(named).collect()
}

fn is(uid: &str) -> Answer {
    Answer::Is(Uid::parse(uid).expect("it is not empty"))
}

#[test]
fn only_owners_that_are_proven_not_to_exist_are_removed() {
    let (set, database) = (reference("StatefulSet", "web", "old"), reference("Database", "d", "x"));
    let both = claim(&[set.clone(), database.clone()]);
    let missing = || answer(&set, Answer::No);
    let proposal = plain(&both, vec![missing(), answer(&database, is("x"))]).expect("read");
    let proposal = proposal.expect("planned");
    assert_eq!(removed(&proposal), ["StatefulSet web"]);
    assert!(proposal.effect.what.ends_with("its other owner references remain"));
    assert!(matches!(proposal.undo, Undo::Never(_)));
    assert!(proposal.relies_on.is_empty());
    assert_eq!(proposal.notices, Vec::<String>::new(), "an owner keeps it");

    let proposal = plain(&both, vec![missing(), answer(&database, Answer::No)]).expect("read");
    let proposal = proposal.expect("planned");
    assert_eq!(removed(&proposal), ["StatefulSet web", "Database d"]);
    assert!(proposal.notices[0].contains("at any moment"), "{:?}", proposal.notices);

    let recreated = plain(&both, vec![answer(&set, is("new")), answer(&database, is("x"))]);
    let recreated = recreated.expect("read").expect("planned");
    assert_eq!(removed(&recreated), ["StatefulSet web"]);
    assert!(recreated.notices[0].contains("its controller may add"), "{:?}", recreated.notices);
}

#[test]
fn an_owner_that_exists_or_could_not_be_read_is_never_removed() {
    let set = reference("StatefulSet", "web", "old");
    let owned = claim(std::slice::from_ref(&set));
    let told = plain(&owned, vec![answer(&set, is("old"))]).expect("read");
    assert_eq!(told.expect_err("refused"), "its owner exists: StatefulSet web");
    for unknown in [Answer::Forbidden, Answer::Unanswered("timeout".into()), Answer::Yes] {
        assert!(plain(&owned, vec![answer(&set, unknown.clone())]).is_err(), "{unknown:?}");
    }
    assert!(plain(&owned, Vec::new()).is_err(), "it was not asked");
    assert_eq!(
        plain(&claim(&[]), Vec::new()).expect("read").expect_err("refused"),
        "it has no owner references"
    );
    let nameless = OwnerReference { uid: None, ..set };
    assert!(
        plain(&claim(std::slice::from_ref(&nameless)), vec![answer(&nameless, Answer::No)])
            .is_err()
    );
}

#[test]
fn what_is_unknown_of_one_owner_remains_and_is_told() {
    let (set, database) = (reference("StatefulSet", "web", "old"), reference("Database", "d", "x"));
    let both = claim(&[database.clone(), set.clone()]);
    let answers = vec![answer(&set, Answer::No), answer(&database, Answer::Forbidden)];
    let proposal = plain(&both, answers).expect("read").expect("planned");
    assert_eq!(removed(&proposal), ["StatefulSet web"]);
    assert!(proposal.notices[0].contains("forbidden"), "{:?}", proposal.notices);
}

#[test]
fn a_terminating_claim_is_refused_with_what_keeps_its_data() {
    let set = reference("StatefulSet", "web", "old");
    let mut going = claim(std::slice::from_ref(&set));
    going.metadata.deleting = Some(now());
    let told = plain(&going, vec![answer(&set, Answer::No)]).expect("read").expect_err("refused");
    assert!(told.contains("kubectl storage retain pvc/data -n shop"), "{told}");
}

#[test]
fn a_kind_that_is_not_served_requires_a_flag_and_another_version_is_asked_first() {
    let database = reference("Database", "d", "x");
    let owned = claim(std::slice::from_ref(&database));
    let gone = || vec![answer(&database, Answer::NotServed { elsewhere: None })];
    let told = plain(&owned, gone()).expect("read").expect_err("refused");
    assert!(told.contains(OWNER_KIND_GONE), "{told}");
    let flag = Settings { owner_kind_gone: true, ..Settings::default() };
    let proposal = ask(&owned, gone(), &flag).expect("read").expect("planned");
    assert_eq!(
        (removed(&proposal), &*proposal.relies_on),
        (vec!["Database d".to_owned()], &[OWNER_KIND_GONE][..])
    );

    let v2 = "db.example.com/v2";
    let elsewhere = |given: Option<Answer>| {
        let first = answer(&database, Answer::NotServed { elsewhere: Some(v2.into()) });
        let second = given.map(|it| answered(&database, v2, it));
        std::iter::once(first).chain(second).collect::<Vec<_>>()
    };
    for settings in [Settings::default(), flag] {
        let ask = |given| ask(&owned, elsewhere(given), &settings);
        let exists = ask(Some(is("x"))).expect("read").expect_err("refused");
        assert_eq!(exists, "its owner exists: Database d");
        assert_eq!(removed(&ask(Some(Answer::No)).expect("read").expect("planned")).len(), 1);
        assert_eq!(removed(&ask(Some(is("y"))).expect("read").expect("planned")).len(), 1);
        assert!(ask(None).is_err() && ask(Some(Answer::Forbidden)).is_err());
    }
}

#[test]
fn the_claim_of_an_ephemeral_volume_is_told() {
    let pod = reference("Pod", "web", "old");
    let mut owned = claim(std::slice::from_ref(&pod));
    owned.metadata.name = "web-scratch".into();
    let proposal = plain(&owned, vec![answer(&pod, Answer::No)]).expect("read").expect("planned");
    assert!(proposal.notices[0].contains("meant to be deleted"), "{:?}", proposal.notices);
    let proposal = plain(&owned, vec![answer(&pod, is("new"))]).expect("read").expect("planned");
    assert!(proposal.notices[0].contains("does not start"), "{:?}", proposal.notices);
}
