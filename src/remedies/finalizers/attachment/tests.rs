//! Proposals and refusals for attachments: F80, F81, F82 and R-SUP-1, one case per sentence.

mod promises;

use super::super::fixture::{
    DRIVER, FinalizerFixture, attachment, claim, metadata, node, pod, said, volume,
};
use super::*;
use crate::model::{Liveness, PodPhase, ReclaimPolicy, Row, Settings};

const OWN: &str = "external-attacher/driver-longhorn-io";
const FOREIGN: &str = "example.com/audit";

fn alive() -> FinalizerFixture {
    FinalizerFixture { attacher: Liveness::Alive, ..FinalizerFixture::default() }
}

fn with_volume(fixture: FinalizerFixture) -> FinalizerFixture {
    fixture.with(Row::Volume(Box::new(volume(ReclaimPolicy::Delete))))
}

/// Returns the proposal or the refusal for an attachment.
fn ask(fixture: FinalizerFixture, row: &Attachment) -> Result<Proposal, String> {
    said(fixture.with(Row::Attachment(Box::new(row.clone()))).ask(propose, row))
}

fn running(namespace: &str, node: &str) -> Row {
    pod(namespace, PodPhase::Running, Some(node))
}

#[track_caller]
fn refuses(said: Result<Proposal, String>, words: &[&str]) {
    let reason = said.expect_err("it is refused");
    for word in words {
        assert!(reason.contains(word), "no {word:?} in: {reason}");
    }
}

fn deletes(row: &Attachment) -> Vec<Action> {
    vec![Action::DeleteAttachment { attachment: row.object() }]
}

fn removes(row: &Attachment, finalizer: &str) -> Action {
    Action::RemoveFinalizer {
        object: row.object(),
        finalizer: finalizer.into(),
        guards: Vec::new(),
    }
}

#[test]
fn where_its_node_is_gone_it_is_deleted_and_its_attacher_detaches() {
    let row = attachment(&[OWN], None);
    for liveness in [Liveness::Alive, Liveness::Unknown] {
        let fixture =
            with_volume(FinalizerFixture { attacher: liveness, ..FinalizerFixture::default() });
        let proposal = ask(fixture, &row).expect("planned");
        assert_eq!(proposal.steps, deletes(&row));
        assert_eq!(proposal.notices, ["no/node-1 may return: make sure that the machine is off"]);
        assert_eq!(proposal.undo, Undo::Never("an attachment that is deleted cannot be kept"));
    }
    refuses(
        ask(with_volume(FinalizerFixture::default()), &row),
        &["no controller would detach the volume", "is absent", "reinstall the driver"],
    );
    let many = FinalizerFixture { named: false, ..with_volume(alive()) };
    refuses(
        ask(many, &row),
        &[
            "name the attachment, `kubectl storage fix-finalizers volumeattachment/csi-1`",
            "is running",
        ],
    );
}

#[test]
fn what_describes_its_volume_itself_is_deleted_too() {
    let source = AttachmentSource::Inline { driver: DRIVER.into(), handle: "vol-9".into() };
    let row = Attachment { source, ..attachment(&[OWN], None) };
    assert_eq!(ask(alive(), &row).expect("planned").steps, deletes(&row));
}

#[test]
fn a_pod_that_is_said_to_run_there_keeps_the_disk() {
    let row = attachment(&[OWN], None);
    let fixture = with_volume(alive()).with(Row::Claim(Box::new(claim(&[], None))));
    let told = ask(fixture.clone().with(running("shop", "node-1")), &row);
    refuses(
        told,
        &["po/shop/web uses the volume on node node-1", "delete that pod by force first"],
    );
    for others in [running("elsewhere", "node-1"), running("shop", "node-2")] {
        assert_eq!(ask(fixture.clone().with(others), &row).expect("planned").steps, deletes(&row));
    }
}

#[test]
fn a_volume_that_is_gone_has_to_be_created_again() {
    for (row, fixture) in [
        (attachment(&[OWN], Some(120)), alive().with(node())),
        (attachment(&[OWN], None), alive().with(node())),
        (attachment(&[OWN], None), alive()),
    ] {
        let words = [
            "pv/pv-1 does not exist, and external-attacher cannot detach it from node node-1",
            "`kubectl storage fix-finalizers volumeattachment/csi-1 --from pv-1.yaml`",
            "external-attacher/driver-longhorn-io: external-attacher of driver.longhorn.io is running",
        ];
        refuses(ask(fixture, &row), &words);
    }
}

#[test]
fn the_last_resort_is_for_a_node_and_a_volume_that_are_gone() {
    let row = attachment(&[OWN], Some(120));
    for liveness in [Liveness::Alive, Liveness::Absent, Liveness::Unknown] {
        let fixture = FinalizerFixture { attacher: liveness, ..FinalizerFixture::default() };
        let proposal = ask(fixture.clone(), &row).expect("planned");
        assert_eq!(proposal.steps, [removes(&row, OWN)]);
        assert!(!proposal.keeps_backend && proposal.notices[0].starts_with("the last resort"));
        let many = FinalizerFixture { named: false, ..fixture };
        refuses(
            ask(many, &row),
            &["--from pv-1.yaml`", "as the last resort", "of the named attachment"],
        );
    }
    refuses(ask(FinalizerFixture::default(), &attachment(&[OWN], Some(5))), &["for 10m yet: wait"]);
}

#[test]
fn the_finalizer_of_another_attacher_is_not_ours_to_remove() {
    let row = attachment(&["external-attacher/other-example-com"], Some(120));
    refuses(
        ask(FinalizerFixture::default(), &row),
        &["that of another external-attacher than spec.attacher"],
    );
    let row = attachment(&[OWN, "external-attacher/other-example-com"], Some(120));
    let proposal = ask(FinalizerFixture::default(), &row).expect("planned");
    assert_eq!(proposal.steps, [removes(&row, OWN)]);
    assert!(proposal.notices[1].starts_with("external-attacher/other-example-com still"));
}

#[test]
fn what_is_detaching_is_waited_for_with_the_words_of_the_finding() {
    let row = attachment(&[OWN], Some(120));
    for (fixture, words) in [
        (
            with_volume(alive()).with(node()),
            "external-attacher of driver.longhorn.io has not confirmed the detachment: look at its log",
        ),
        (
            with_volume(alive()),
            "node node-1 does not exist, and external-attacher of driver.longhorn.io has not confirmed",
        ),
        (
            with_volume(FinalizerFixture::default()).with(node()),
            "is absent: reinstall the driver, so that it detaches the volume",
        ),
    ] {
        refuses(ask(fixture, &row), &[words, "external-attacher of driver.longhorn.io is "]);
    }
}

#[test]
fn a_detached_disk_is_held_by_whoever_set_the_finalizer() {
    let row = attachment(&[FOREIGN], Some(120));
    let fixture = with_volume(alive()).with(node());
    refuses(
        ask(fixture.clone(), &row),
        &[
            "it is detached",
            "requires --remove-finalizer NAME",
            "example.com/audit: the controller that set it",
        ],
    );
    let settings = Settings { remove_finalizer: Some(FOREIGN.into()), ..Settings::default() };
    let fixture = FinalizerFixture { settings, ..fixture };
    let proposal = ask(fixture.clone(), &row).expect("planned");
    assert_eq!(
        (proposal.steps, proposal.relies_on),
        (vec![removes(&row, FOREIGN)], vec!["--remove-finalizer"])
    );
    // Not while the volume may be attached, not where a filter chose it, and not immediately.
    refuses(
        ask(fixture.clone(), &attachment(&[OWN, FOREIGN], Some(120))),
        &["has not confirmed the detachment"],
    );
    refuses(
        ask(FinalizerFixture { named: false, ..fixture.clone() }, &row),
        &["name the attachment"],
    );
    refuses(ask(fixture, &attachment(&[FOREIGN], Some(30))), &["for 1h yet: wait"]);
}

#[test]
fn both_go_one_after_the_other() {
    let row = attachment(&[FOREIGN, OWN], Some(120));
    let settings = Settings { remove_finalizer: Some(FOREIGN.into()), ..Settings::default() };
    let proposal =
        ask(FinalizerFixture { settings, ..FinalizerFixture::default() }, &row).expect("planned");
    assert_eq!(proposal.steps, [removes(&row, OWN), removes(&row, FOREIGN)]);
}

#[test]
fn what_nothing_is_wrong_with_is_told_so() {
    let fixture = with_volume(alive()).with(node());
    refuses(
        ask(fixture.clone(), &attachment(&[OWN], None)),
        &["it is not Terminating, and pv/pv-1 and no/node-1 exist", "kubectl delete"],
    );
    let mut exempt = attachment(&[OWN], None);
    exempt.metadata = metadata("csi-1", &[OWN], None);
    exempt.metadata.rare_annotations = Some(Box::new(crate::model::RareAnnotations {
        ignore: Some("all: mine".into()),
        ..Default::default()
    }));
    refuses(ask(with_volume(alive()), &exempt), &["annotation storage.kubectl.dev/ignore"]);
}

/// Where nothing is wrong with its node and its volume: no advice in a circle.
#[test]
fn what_is_not_terminating_is_told_what_deletes_it() {
    let fixture = || with_volume(alive()).with(node()).with(Row::Claim(Box::new(claim(&[], None))));
    let never =
        |finalizers: &[&str]| Attachment { attached: false, ..attachment(finalizers, None) };
    for attached in [attachment(&[OWN], None), never(&[OWN])] {
        refuses(
            ask(fixture().with(running("shop", "node-1")), &attached),
            &["after po/shop/web is deleted, kube-controller-manager deletes it"],
        );
        refuses(
            ask(fixture(), &attached),
            &[
                "status.volumesInUse",
                "`kubectl delete volumeattachment/csi-1` has external-attacher detach",
            ],
        );
    }
    refuses(
        ask(fixture(), &never(&[])),
        &["without a finalizer of external-attacher", "`kubectl delete volumeattachment/csi-1`"],
    );
}

#[test]
fn the_command_names_the_attachment() {
    let fixture = with_volume(alive());
    let (cluster, facts) = (fixture.cluster(), std::cell::RefCell::default());
    let cx = Cx::new(&cluster, &fixture.settings, &facts);
    let (_, offer) = REMEDY.verdict(&cx, &attachment(&[OWN], None));
    let command = offer.and_then(|it| it.command);
    assert_eq!(command.as_deref(), Some("kubectl storage fix-finalizers volumeattachment/csi-1"));
}
