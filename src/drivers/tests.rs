use super::*;

fn key(driver: &str, handle: &str) -> BackendKey {
    BackendKey { driver: driver.into(), handle: handle.into() }
}

fn attributes(pairs: &[(&str, &str)]) -> Attributes {
    pairs.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect()
}

#[test]
fn names_with_a_namespace_before_them_are_found_at_a_dot() {
    for (driver, id) in [
        ("ebs.csi.aws.com", "aws-ebs"),
        ("rbd.csi.ceph.com", "ceph-rbd"),
        ("rook-ceph.rbd.csi.ceph.com", "ceph-rbd"),
        ("notrbd.csi.ceph.com", "unknown"),
        ("disk.example.com", "unknown"),
        ("cluster.local/nas-nfs-subdir-external-provisioner", "nfs-subdir"),
        ("cluster.local/nfs-server-provisioner", "nfs-ganesha"),
        ("cluster.local/other", "unknown"),
        ("", "unknown"),
    ] {
        assert_eq!(family(driver).id, id, "{driver}");
    }
}

#[test]
fn every_family_says_what_a_user_has_to_know() {
    let mut ids = HashSet::new();
    for family in FAMILIES.iter().copied().chain([&UNKNOWN]) {
        let id = family.id;
        assert!(ids.insert(id), "{id} is there twice");
        for text in [id, family.title, family.identity, family.destroys, family.snapshots.note] {
            assert!(!text.is_empty(), "{id} leaves something out");
        }
        assert!(!family.sources.is_empty(), "{id} names no source");
        assert!(id == "unknown" || !family.names.is_empty(), "{id} has no name");
    }
}

#[test]
fn no_handle_makes_a_family_panic() {
    let long = "a/".repeat(5_000);
    let odd = [
        "",
        " ",
        "#",
        "##",
        "###",
        "/",
        "//",
        "..",
        "a/../b",
        "#a#b",
        "é",
        "é#é#é",
        "a@b",
        "0001-0009-x",
        &long,
    ];
    let none = Attributes::default();
    for family in FAMILIES.iter().copied().chain([&UNKNOWN]) {
        for name in family.names {
            let (Name::Is(driver)
            | Name::EndsWith(driver)
            | Name::BeginsWith(driver)
            | Name::Chart(driver)) = name;
            for handle in odd {
                let key = key(driver, handle);
                let reference = Reference::of(&key, &none);
                let places = used(&reference);
                assert!(places.iter().all(|it| it.overlap(it).is_some()), "{driver} {handle:?}");
                let deletion = Deletion {
                    reference,
                    owner: driver,
                    volume: "pv-1",
                    class: None,
                    arguments: None,
                    images: None,
                    has_secret: false,
                };
                let _ = (family.deletion)(&deletion);
            }
        }
    }
}

#[test]
fn attributes_are_kept_only_where_the_handle_does_not_show_the_same() {
    let handle = key("nfs.csi.k8s.io", "nas#export#team/pvc-1##");
    let alike = attributes(&[("server", "nas"), ("share", "/export"), ("subdir", "team/pvc-1")]);
    assert!(attributes_that_matter(&handle, alike).is_empty());
    let other = attributes(&[("server", "nas"), ("share", "/export"), ("subdir", "team")]);
    assert_eq!(attributes_that_matter(&handle, other.clone()), other);
}

/// The places of a volume as its row has them.
pub(super) fn places(driver: &str, handle: &str, pairs: &[(&str, &str)]) -> Vec<Place<'static>> {
    let key = key(driver, handle);
    let kept = attributes_that_matter(&key, attributes(pairs));
    used(&Reference::of(&key, &kept)).into_iter().map(Place::into_owned).collect()
}

/// How the closest of some places lies to the closest of others, with a question mark where that
/// is not certain.
pub(super) fn lies(mine: &[Place<'_>], theirs: &[Place<'_>]) -> String {
    meeting(mine, theirs).map_or_else(
        || "apart".to_owned(),
        |it| {
            let doubt = if it.is_certain() { "" } else { "?" };
            format!("{:?}{doubt}", it.relation).to_lowercase()
        },
    )
}

/// A volume that is to be deleted, called `pv-1`.
#[derive(Default)]
pub(super) struct Case<'a> {
    pub(super) driver: &'a str,
    /// The driver, if empty.
    pub(super) owner: &'a str,
    pub(super) handle: &'a str,
    pub(super) attributes: &'a [(&'a str, &'a str)],
    pub(super) class: Option<&'a [(&'a str, &'a str)]>,
    pub(super) arguments: &'a [&'a str],
    pub(super) images: Option<&'a [&'a str]>,
    pub(super) has_secret: bool,
}

/// What the driver or provisioner of a case destroys.
pub(super) fn destruction(case: &Case<'_>) -> Destruction {
    let texts = |texts: &[&str]| texts.iter().map(|&it| it.into()).collect::<Vec<_>>();
    let owner = if case.owner.is_empty() { case.driver } else { case.owner };
    let key = key(case.driver, case.handle);
    let kept = attributes_that_matter(&key, attributes(case.attributes));
    let class: Option<Vec<_>> = case
        .class
        .map(|it| it.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect());
    let (arguments, images) = (texts(case.arguments), case.images.map(texts));
    (family(owner).deletion)(&Deletion {
        reference: Reference::of(&key, &kept),
        owner,
        volume: "pv-1",
        class: class.as_deref(),
        arguments: Some(&arguments),
        images: images.as_deref(),
        has_secret: case.has_secret,
    })
}

/// What the driver or provisioner of a case does, in words.
pub(super) fn answer(case: &Case<'_>) -> String {
    match destruction(case) {
        Destruction::Storage { places, what } => {
            assert!(!places.is_empty(), "{what} is nowhere");
            format!("deletes {what}")
        }
        Destruction::Kept { what, .. } => what.into_owned(),
        Destruction::Nothing(why) => format!("does nothing: {why}"),
        Destruction::Fails(why) => format!("fails: {why}"),
        Destruction::Undecided(why) => format!("undecided: {why}"),
    }
}

#[test]
fn ids_name_devices_apart_and_as_one() {
    for (driver, id, other, odd) in [
        ("local.csi.openebs.io", "pvc-a", "pvc-b", ""),
        ("zfs.csi.openebs.io", "pvc-a", "pvc-b", ""),
        ("cstor.csi.openebs.io", "pvc-a", "pvc-b", ""),
        ("jiva.csi.openebs.io", "pvc-a", "pvc-b", ""),
        ("topolvm.io", "6a3b", "6a3c", ""),
        ("directpv-min-io", "pvc-a", "pvc-b", ""),
        ("hostpath.csi.k8s.io", "6a3b", "6a3c", ""),
        ("csi.hpe.com", "0636a3b", "0636a3c", ""),
        ("pxd.portworx.com", "1017", "1018", ""),
        ("csi.trident.netapp.io", "pvc-a", "pvc-b", ""),
        ("csi.san.synology.com", "6a3b", "6a3c", ""),
    ] {
        let mine = places(driver, id, &[]);
        assert_eq!(lies(&mine, &places(driver, id, &[])), "equal", "{driver}");
        assert_eq!(lies(&mine, &places(driver, &id.to_uppercase(), &[])), "equal", "{driver}");
        assert_eq!(lies(&mine, &places(driver, other, &[])), "apart", "{driver}");
        assert_eq!(lies(&mine, &places(driver, odd, &[])), "equal?", "{driver}");
        let told = answer(&Case { driver, handle: id, ..Case::default() });
        assert!(told.starts_with("deletes ") && told.ends_with(id), "{driver}: {told}");
    }
}
