//! Which claims fit a volume.

use super::*;

#[test]
fn a_claim_that_does_not_fit_is_refused_with_both_values() {
    let with = |change: &dyn Fn(&mut Claim)| {
        let mut claim = claim();
        change(&mut claim);
        claim
    };
    let selector = || Selector::of([("tier", "gold")], []);
    for (claim, words) in [
        (with(&|it| it.requested = Some(20 * GI)), ["20Gi", "10Gi"]),
        (with(&|it| it.requested = Some(10 * GI + 1)), ["10737418241 bytes", "10737418240 bytes"]),
        (with(&|it| it.requested = None), ["size", "unknown"]),
        (with(&|it| it.class = Some("slow".into())), ["slow", "fast"]),
        (with(&|it| it.class = Some("".into())), ["\"\"", "fast"]),
        (with(&|it| it.class = None), ["is not set", "fast"]),
        (with(&|it| it.access.is_block = true), ["Block", "Filesystem"]),
        (
            with(&|it| it.access = access(&["ReadWriteMany"], false)),
            ["ReadWriteMany", "ReadWriteOnce"],
        ),
        (with(&|it| it.attributes_class = Some("gold".into())), ["gold", "<none>"]),
        (with(&|it| it.selector = Some(Box::new(selector()))), ["tier=gold", "no labels"]),
        (with(&|it| it.volume_name = Some("pv-9".into())), ["pv-9", "pv-1"]),
        (with(&|it| it.metadata.deleting = Some(now())), ["Terminating", "pvc/shop/orders"]),
        (with(&|it| it.phase = ClaimPhase::Other("Odd".into())), ["Odd", "not Pending"]),
        (
            with(&|it| {
                it.source = Some(Box::new(DataSource {
                    group: "snapshot.storage.k8s.io".into(),
                    kind: "VolumeSnapshot".into(),
                    namespace: None,
                    name: "monday".into(),
                }));
            }),
            ["VolumeSnapshot", "monday"],
        ),
        (
            with(&|it| {
                (it.phase, it.volume_name) = (ClaimPhase::Bound, Some("pv-9".into()));
            }),
            ["--to NAMESPACE/NAME", "`kubectl storage delete pvc/orders -n shop --keep-data`"],
        ),
    ] {
        let said = ask(&volume(), &[claim], None).expect_err("it does not fit");
        assert!(words.iter().all(|it| said.contains(it)), "{said}: {words:?}");
    }
    let labelled = Volume {
        metadata: Metadata { labels: [("tier".into(), "gold".into())].into(), ..volume().metadata },
        ..volume()
    };
    let asks = with(&|it| it.selector = Some(Box::new(selector())));
    assert!(ask(&labelled, &[asks], None).is_ok());
    assert!(
        ask(&volume(), &[with(&|it| it.requested = Some(GI))], None).is_ok(),
        "a larger volume"
    );
}

#[test]
fn a_claim_without_a_class_is_one_of_no_class_unless_there_is_a_default() {
    let classless = Volume { class: None, ..volume() };
    let absent = Claim { class: None, ..claim() };
    assert!(ask(&classless, std::slice::from_ref(&absent), None).is_ok());
    assert!(ask(&classless, &[Claim { class: Some("".into()), ..claim() }], None).is_ok());
    let rows = || vec![default_class(), Row::Claim(Box::new(absent.clone()))];
    let said = ask_without(&[], &Settings::default(), &classless, rows(), &Rebinding::default());
    let reason = said.expect("everything was read").expect_err("it becomes standard");
    assert!(reason.contains("default class standard") && reason.contains("\"\""), "{reason}");
    let unread = [Kind::StorageClass];
    let said =
        ask_without(&unread, &Settings::default(), &classless, rows(), &Rebinding::default());
    assert!(said.is_err(), "unknown classes decide nothing");
}

#[test]
fn a_claim_without_a_volume_name_is_not_promised_two_volumes() {
    let other = || {
        let mut other = volume();
        other.metadata.name = "pv-2".into();
        other.metadata.uid = Uid::parse("pv-2");
        other.backend =
            Some(BackendKey { driver: "ebs.csi.aws.com".into(), handle: "vol-2".into() });
        other.source = VolumeSource::Csi {
            driver: "ebs.csi.aws.com".into(),
            handle: "vol-2".into(),
            provisioner_identity: true,
        };
        (other.phase, other.claim_ref) =
            (Phase::Available, Some(ClaimRef { key: key("orders"), uid: None }));
        Row::Volume(Box::new(other))
    };
    for (volume_name, refused) in [(None, true), (Some("pv-1".into()), false)] {
        let claim = Claim { volume_name, ..claim() };
        let rows = vec![other(), Row::Claim(Box::new(claim))];
        let said = ask_without(&[], &Settings::default(), &volume(), rows, &Rebinding::default());
        let said = said.expect("everything was read");
        assert_eq!(said.is_err(), refused, "{said:?}");
        assert!(said.is_ok() || said.is_err_and(|it| it.contains("pv/pv-2 is reserved")));
    }
}
