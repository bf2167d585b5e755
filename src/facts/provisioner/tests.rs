//! What arguments and images say, and whose csi-provisioners count.

use super::*;
use crate::model::ObjectKey;

fn container(image: &str, args: &[&str]) -> SidecarContainer {
    SidecarContainer {
        provisions_itself: false,
        name: "csi-provisioner".into(),
        image: image.into(),
        args: args.iter().map(|arg| Text::from(*arg)).collect(),
    }
}

#[test]
fn only_literal_arguments_tell_of_the_feature_gate() {
    for (args, expected) in [
        (&[][..], Gate::Default),
        (&["--csi-address=$(ADDRESS)", "--v=5", "--leader-election"], Gate::Default),
        (&["--csi-address=/run/a b/csi.sock"], Gate::Default),
        (&["/csi-provisioner", "-v", "5"], Gate::Default),
        (&["--feature-gates=Topology=true"], Gate::Default),
        (&["--feature-gates=Topology=true,HonorPVReclaimPolicy=true"], Gate::On),
        (&["--feature-gates", "HonorPVReclaimPolicy=true"], Gate::On),
        (&["--feature-gates=HonorPVReclaimPolicy=false"], Gate::Off),
        (&["--feature-gates", "HonorPVReclaimPolicy=F"], Gate::Off),
        (
            &[
                "--feature-gates=HonorPVReclaimPolicy=true",
                "--feature-gates=HonorPVReclaimPolicy=false",
            ],
            Gate::Off,
        ),
        (&["--feature-gates=HonorPVReclaimPolicy=$(HONOR)"], Gate::Unknown),
        (&["--feature-gates=$(GATES)"], Gate::Unknown),
        (&["--feature-gates", "$(GATES)"], Gate::Unknown),
        (&["$(MORE)"], Gate::Unknown),
        (&["--$(MORE)"], Gate::Unknown),
        (&["--$(MORE)=true"], Gate::Unknown),
        (&["--feature-gates=HonorPVReclaimPolicy=perhaps"], Gate::Unknown),
        (&["HonorPVReclaimPolicy=true"], Gate::Unknown),
        (&["--feature-gates=AllBeta=false"], Gate::Unknown),
        (
            &["sh", "-c", "csi-provisioner --feature-gates=HonorPVReclaimPolicy=false"],
            Gate::Unknown,
        ),
        (&["sh", "-c", "exec csi-provisioner --v=5"], Gate::Unknown),
    ] {
        let args: Vec<_> = args.iter().map(|arg| Text::from(*arg)).collect();
        assert_eq!(gate(&args), expected, "{args:?}");
    }
}

#[test]
fn only_a_tag_of_an_upstream_image_tells_the_version() {
    let sidecars = Sidecars {
        containers: Box::default(),
        mentions: Box::default(),
        images: Box::default(),
        service_account: Some("".into()),
        of_cluster: Box::default(),
    };
    for (image, honors) in [
        ("registry.k8s.io/sig-storage/csi-provisioner:v5.0.2", true),
        ("registry.k8s.io/sig-storage/csi-provisioner:v6.3.0", true),
        ("localhost:5000/csi-provisioner:5.1.0", true),
        ("public.ecr.aws/eks-distro/kubernetes-csi/external-provisioner:v5.1.0-eks-1", true),
        ("registry.k8s.io/sig-storage/csi-provisioner:v5.0.1", false),
        ("registry.k8s.io/sig-storage/csi-provisioner:v4.0.1", false),
        ("registry.k8s.io/sig-storage/csi-provisioner:canary", false),
        ("registry.k8s.io/sig-storage/csi-provisioner", false),
        ("registry.k8s.io/sig-storage/csi-provisioner@sha256:00", false),
        ("registry.k8s.io/sig-storage/csi-provisioner:v6.3.0@sha256:00", false),
        ("registry.redhat.io/openshift4/ose-csi-external-provisioner:v6.3.0", false),
        ("mirror.example.com/csi-provisioner-arm64:v6.3.0", false),
    ] {
        let found = honoring(&"storage".into(), &sidecars, &container(image, &[]));
        assert_eq!(found.is_ok(), honors, "{image}: {found:?}");
        if let Ok(account) = found {
            assert_eq!(account, ("storage".into(), "default".into()));
        }
    }
}

#[test]
fn hand_made_volumes_are_deleted_from_3_5_on() {
    use StaticDeletion::{Always, Never, Sometimes, Unknown};
    for (images, expected) in [
        (&["csi-provisioner:v3.5.0"][..], Always),
        (&["csi-provisioner:v3.5.0", "csi-provisioner:v6.3.0"], Always),
        (&["csi-provisioner:v3.4.1"], Never),
        (&["csi-provisioner:v3.4.1", "csi-provisioner:v6.3.0"], Sometimes),
        (&["csi-provisioner:v6.3.0", "csi-provisioner@sha256:00"], Sometimes),
        (&["csi-provisioner:v3.4.1", "csi-provisioner@sha256:00"], Unknown),
        (&["csi-provisioner@sha256:00"], Unknown),
        (&[], Unknown),
    ] {
        let claimed: Vec<_> = images.iter().map(|image| claiming(image, &[])).collect();
        assert_eq!(static_deletion(&claimed), expected, "{images:?}");
    }
}

fn claiming(image: &str, args: &[&str]) -> ClaimedVersion {
    ClaimedVersion {
        object: ObjectRef { key: ObjectKey::cluster_wide(Kind::Pod, "p"), uid: None },
        image: image.into(),
        version: tag_version(image),
        honor_flag: honor_flag(&args.iter().map(|arg| Text::from(*arg)).collect::<Vec<_>>()),
        service_account: None,
    }
}

#[test]
fn versions_have_the_defects_of_their_changelogs() {
    let on = &["--feature-gates=Topology=true,HonorPVReclaimPolicy=true"][..];
    for (image, args, found, honors) in [
        ("r/csi-provisioner:v6.3.0", &[][..], None, Some(true)),
        ("r/csi-provisioner:v5.0.2", &[], None, Some(true)),
        (
            "r/csi-provisioner:v5.0.2",
            &["--feature-gates", "HonorPVReclaimPolicy=false"],
            None,
            Some(false),
        ),
        ("r/csi-provisioner:v5.0.1", &[], Some(Defect::EmptyPatch), Some(true)),
        ("r/csi-provisioner:v5.0.0", &[], Some(Defect::EmptyPatch), Some(true)),
        ("r/csi-provisioner:v4.0.1", &[], Some(Defect::Unprotected), Some(false)),
        ("r/csi-provisioner:v4.0.1", on, None, Some(true)),
        ("r/csi-provisioner:v3.1.0", &[], Some(Defect::Unprotected), Some(false)),
        ("r/csi-provisioner:v3.0.0", on, Some(Defect::TooOld), Some(false)),
        ("r/csi-provisioner:v2.2.2", &[], Some(Defect::TooOld), Some(false)),
        ("r/csi-provisioner@sha256:00", &[], None, None),
        ("r/csi-provisioner:latest", &[], None, None),
        ("host:5000/csi-provisioner", &[], None, None),
        ("r/external-provisioner:v5.0.1-eks-1", &[], Some(Defect::EmptyPatch), Some(true)),
        ("r/ose-csi-external-provisioner:v4.15.0", &[], None, None),
    ] {
        let claimed = claiming(image, args);
        assert_eq!(defect(&claimed), found, "{image} {args:?}");
        assert_eq!(honors_reclaim_policy(&claimed), honors, "{image} {args:?}");
    }
}
