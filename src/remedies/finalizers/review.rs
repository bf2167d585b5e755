//! What a sceptical reader tried: data that goes without a word, and disks that are destroyed under
//! somebody's hands.

use std::cell::RefCell;

use super::stage::{self, Stage, ago, said};
use super::{Asked, claim};
use crate::cluster::{Change, Cx, Dirty};
use crate::facts::{IN_TREE, PV_PROTECTION, PVC_PROTECTION};
use crate::model::{
    Liveness, Phase, PodPhase, PodUse, Proposal, ReclaimPolicy, Row, SecretAssertion, Server,
    Settings, Text, Volume,
};

/// A volume of policy Delete that was Released, is being deleted, and is guarded by nobody.
fn hangs(finalizers: &[&str]) -> Volume {
    let mut volume = stage::volume(ReclaimPolicy::Delete);
    volume.phase = Phase::Released;
    volume.metadata.deleting = Some(ago(120));
    volume.metadata.finalizers = finalizers.iter().map(|it| Text::from(*it)).collect();
    volume
}

/// What `--reclaim` does about it.
fn reclaimed(volume: &Volume, others: &[Row]) -> Result<Proposal, String> {
    let settings = Settings { reclaim: true, secret: SecretAssertion::None, ..Settings::default() };
    let stage = Stage {
        rows: others.to_vec(),
        manager: Liveness::Alive,
        provisioner: Liveness::Alive,
        settings,
        ..Stage::default()
    };
    let stage = stage.with(Row::Volume(Box::new(volume.clone())));
    let (mut cluster, facts) = (stage.cluster(), RefCell::default());
    let server =
        Server { version: Some((1, 36)), cluster_uid: Some("b7f3".into()), ..Server::default() };
    cluster.apply(Change::Server(server), &mut Dirty::everything());
    let asked = Asked { named: true, ..Asked::default() };
    said(super::volume(&Cx::new(&cluster, &stage.settings, &facts), volume, &asked))
}

fn pod(change: impl FnOnce(&mut PodUse)) -> Row {
    let Row::Pod(mut pod) = stage::pod("shop", PodPhase::Running, Some("node-1")) else {
        panic!("it is a pod");
    };
    change(&mut pod);
    Row::Pod(pod)
}

#[test]
fn nothing_is_reclaimed_while_somebody_can_still_change_its_policy() {
    assert!(reclaimed(&hangs(&[IN_TREE]), &[]).is_ok());
    // Between the removal of the one and of the other, `retain` says that it is to be kept.
    for finalizers in [&[IN_TREE, PV_PROTECTION][..], &[PV_PROTECTION]] {
        let refused = reclaimed(&hangs(finalizers), &[]).expect_err("it would not go at once");
        assert!(refused.contains(PV_PROTECTION), "{refused}");
    }
}

#[test]
fn nothing_is_reclaimed_under_a_pod_that_may_have_it_mounted() {
    let refused = reclaimed(&hangs(&[IN_TREE]), &[pod(|_| {})]).expect_err("a pod is there");
    assert!(refused.contains("shop/web"), "{refused}");

    // The claim was created again and has another volume: so have the pods that came after it.
    let mut namesake = stage::claim(&[PVC_PROTECTION], None);
    namesake.metadata.uid = crate::model::Uid::parse("another");
    namesake.volume_name = Some("sibling".into());
    namesake.metadata.created = Some(ago(60));
    let namesake = Row::Claim(Box::new(namesake));
    let asked = |minutes| {
        let pod = pod(|pod| pod.created = Some(ago(minutes)));
        reclaimed(&hangs(&[IN_TREE]), &[namesake.clone(), pod])
    };
    assert!(asked(59).is_ok(), "{:?}", asked(59));
    assert!(asked(61).is_err(), "it was started with the claim that is gone");
}

#[test]
fn a_claim_that_its_volume_names_and_that_does_not_name_it_yet_has_data_too() {
    let mut bare = stage::claim(&[PVC_PROTECTION], Some(120));
    (bare.volume_name, bare.bind_completed) = (None, false);
    for (settings, ends) in [
        (Settings::default(), Err("needs --keep-data or --destroy-data")),
        (
            Settings { keep_data: true, ..Settings::default() },
            Err("kubectl storage retain pv/pv-1"),
        ),
        (Settings { destroy_data: true, ..Settings::default() }, Ok("remove-finalizer")),
    ] {
        let volume = stage::volume(ReclaimPolicy::Delete);
        let stage = Stage { settings, ..Stage::default() }.of_claim(&bare, Some(&volume));
        match (said(stage.ask(claim, &bare)), ends) {
            (Ok(proposal), Ok(first)) => assert_eq!(proposal.steps[0].name(), first),
            (Err(refused), Err(reason)) => assert!(refused.contains(reason), "{refused}"),
            (said, _) => panic!("{ends:?}: {said:?}"),
        }
    }
    // A volume that names another claim of that name is nothing to it.
    let mut other = stage::volume(ReclaimPolicy::Delete);
    other.claim_ref.as_mut().expect("it has one").uid = crate::model::Uid::parse("another");
    let stage = Stage::default().of_claim(&bare, Some(&other));
    assert!(said(stage.ask(claim, &bare)).is_ok());
}
