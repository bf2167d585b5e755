//! Data that must not be lost without a flag, and backend volumes that must not be destroyed in
//! use.

use std::cell::RefCell;

use super::fixture::{self, FinalizerFixture, ago, said};
use super::{FinalizerRequest, claim};
use crate::cluster::{Change, Cx, Dirty};
use crate::facts::{IN_TREE, PV_PROTECTION, PVC_PROTECTION};
use crate::model::{
    Liveness, Phase, PodPhase, PodUse, Proposal, ReclaimPolicy, Row, SecretAssertion, Server,
    Settings, Text, Volume,
};

/// Returns a Released, Terminating volume with policy Delete whose deletion-protection finalizer is
/// missing.
fn blocked(finalizers: &[&str]) -> Volume {
    let mut volume = fixture::volume(ReclaimPolicy::Delete);
    volume.phase = Phase::Released;
    volume.metadata.deleting = Some(ago(120));
    volume.metadata.finalizers = finalizers.iter().map(|it| Text::from(*it)).collect();
    volume
}

/// Returns what `--reclaim` proposes for it.
fn reclaimed(volume: &Volume, others: &[Row]) -> Result<Proposal, String> {
    let settings = Settings { reclaim: true, secret: SecretAssertion::None, ..Settings::default() };
    let fixture = FinalizerFixture {
        rows: others.to_vec(),
        manager: Liveness::Alive,
        provisioner: Liveness::Alive,
        settings,
        ..FinalizerFixture::default()
    };
    let fixture = fixture.with(Row::Volume(Box::new(volume.clone())));
    let (mut cluster, facts) = (fixture.cluster(), RefCell::default());
    let server =
        Server { version: Some((1, 36)), cluster_uid: Some("b7f3".into()), ..Server::default() };
    cluster.apply(Change::Server(server), &mut Dirty::everything());
    let asked = FinalizerRequest::named();
    said(super::volume(&Cx::new(&cluster, &fixture.settings, &facts), volume, &asked))
}

fn pod(change: impl FnOnce(&mut PodUse)) -> Row {
    let Row::Pod(mut pod) = fixture::pod("shop", PodPhase::Running, Some("node-1")) else {
        panic!("it is a pod");
    };
    change(&mut pod);
    Row::Pod(pod)
}

#[test]
fn nothing_is_reclaimed_while_somebody_can_still_change_its_policy() {
    assert!(reclaimed(&blocked(&[IN_TREE]), &[]).is_ok());
    // Between the two removals, `retain` could set the policy to Retain.
    for finalizers in [&[IN_TREE, PV_PROTECTION][..], &[PV_PROTECTION]] {
        let refused = reclaimed(&blocked(finalizers), &[]).expect_err("it would not go at once");
        assert!(refused.contains(PV_PROTECTION), "{refused}");
    }
}

#[test]
fn nothing_is_reclaimed_under_a_pod_that_may_have_it_mounted() {
    let refused = reclaimed(&blocked(&[IN_TREE]), &[pod(|_| {})]).expect_err("a pod is there");
    assert!(refused.contains("shop/web"), "{refused}");

    // The recreated claim has another volume, and so do pods that are younger than that claim.
    let mut namesake = fixture::claim(&[PVC_PROTECTION], None);
    namesake.metadata.uid = crate::model::Uid::parse("another");
    namesake.volume_name = Some("sibling".into());
    namesake.metadata.created = Some(ago(60));
    let namesake = Row::Claim(Box::new(namesake));
    let asked = |minutes| {
        let pod = pod(|pod| pod.created = Some(ago(minutes)));
        reclaimed(&blocked(&[IN_TREE]), &[namesake.clone(), pod])
    };
    assert!(asked(59).is_ok(), "{:?}", asked(59));
    assert!(asked(61).is_err(), "it was started with the claim that is gone");
}

#[test]
fn a_claim_that_its_volume_names_and_that_does_not_name_it_yet_has_data_too() {
    let mut bare = fixture::claim(&[PVC_PROTECTION], Some(120));
    (bare.volume_name, bare.bind_completed) = (None, false);
    for (settings, ends) in [
        (Settings::default(), Err("requires --keep-data or --destroy-data")),
        (
            Settings { keep_data: true, ..Settings::default() },
            Err("kubectl storage retain pv/pv-1"),
        ),
        (Settings { destroy_data: true, ..Settings::default() }, Ok("remove-finalizer")),
    ] {
        let volume = fixture::volume(ReclaimPolicy::Delete);
        let fixture = FinalizerFixture { settings, ..FinalizerFixture::default() }
            .of_claim(&bare, Some(&volume));
        match (said(fixture.ask(claim, &bare)), ends) {
            (Ok(proposal), Ok(first)) => assert_eq!(proposal.steps[0].name(), first),
            (Err(refused), Err(reason)) => assert!(refused.contains(reason), "{refused}"),
            (said, _) => panic!("{ends:?}: {said:?}"),
        }
    }
    // A volume that references another claim of that name does not matter.
    let mut other = fixture::volume(ReclaimPolicy::Delete);
    other.claim_ref.as_mut().expect("it has one").uid = crate::model::Uid::parse("another");
    let fixture = FinalizerFixture::default().of_claim(&bare, Some(&other));
    assert!(said(fixture.ask(claim, &bare)).is_ok());
}
