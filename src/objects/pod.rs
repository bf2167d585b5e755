//! `Pod`, and `PodSpec`, which pods share with the templates of workloads, with its volumes: claims, or storage that
//! the pod names itself.

use serde::{Deserialize, Serialize};

use super::command_line::{flag_of_cluster, known_flags};
use super::environment::Environment;
use super::slim::{Present, Timestamp, is_default, only_objects, or_default, slim};
use super::volume_source::{
    AzureDisk, AzureFile, Cephfs, Csi, Fc, FlexVolume, GcePersistentDisk, Glusterfs, InlineCsi,
    Iscsi, Nfs, NodePath, PersistentVolumeSource, PersistentVolumeSpec, Rbd, VolumeId,
    VsphereVolume,
};
use super::{Folded, Folder, ManagedMeta, PodMeta, SlimObject, backend, meta};
use crate::drivers::INLINE;
use crate::model::{
    ClusterArgument, ControllerRole, InlineVolume, InlineVolumes, Labels, MountedClaim, PodPhase,
    PodUse, REGISTRAR, Row, Sidecars, Uid, beginning, image_name,
};
use crate::{drivers, model};

/// Largest number of bytes of the scheduler's message that are kept: with many nodes it gives many reasons, the most
/// frequent ones not first.
const LONGEST: usize = 1000;

slim! {
    /// A `Pod`.
    pub struct Pod {
        /// Metadata.
        #[prost(message, required, tag = "1")]
        pub metadata: PodMeta,
        /// The desired state.
        #[prost(message, required, tag = "2")]
        pub spec: PodSpec,
        /// The observed state.
        #[prost(message, required, tag = "3")]
        pub status: PodStatus,
    }

    /// `spec` of a pod.
    pub struct PodSpec {
        /// Volumes.
        #[prost(message, repeated, tag = "1")]
        pub volumes: Vec<PodVolume>,
        /// Init containers; those with a restart policy keep running.
        #[prost(message, repeated, tag = "20")]
        pub init_containers: Vec<Container>,
        /// Containers.
        #[prost(message, repeated, tag = "2")]
        pub containers: Vec<Container>,
        /// Service account.
        #[prost(string, tag = "8")]
        pub service_account_name: String,
        /// The node to which the pod is scheduled.
        #[prost(string, tag = "10")]
        pub node_name: String,
    }

    /// A container: its image and command, and a few variables of its environment.
    pub struct Container {
        /// Name in the pod.
        #[prost(string, tag = "1")]
        pub name: String,
        /// The image.
        #[prost(string, tag = "2")]
        pub image: String,
        /// The command.
        #[prost(string, repeated, tag = "3")]
        pub command: Vec<String>,
        /// The command's arguments.
        #[prost(string, repeated, tag = "4")]
        pub args: Vec<String>,
        /// Environment variables that are read.
        #[prost(message, required, tag = "7")]
        pub env: Environment,
    }

    /// `status` of a pod.
    pub struct PodStatus {
        /// Phase.
        #[prost(string, tag = "1")]
        pub phase: String,
        /// Conditions.
        #[prost(message, repeated, tag = "2")]
        pub conditions: Vec<PodCondition>,
        /// Time at which a kubelet took the pod.
        #[prost(message, required, tag = "7")]
        pub start_time: Timestamp,
    }

    /// A condition of a pod.
    pub struct PodCondition {
        /// Type.
        #[prost(string, tag = "1")]
        pub r#type: String,
        /// `True`, `False` or `Unknown`.
        #[prost(string, tag = "2")]
        pub status: String,
        /// The message of the component that sets the condition.
        #[prost(string, tag = "6")]
        pub message: String,
    }
}

impl PodStatus {
    fn is_ready(&self) -> bool {
        self.conditions.iter().any(|it| it.r#type == "Ready" && it.status == "True")
    }

    /// Returns the message of the scheduler when it found no node.
    fn unschedulable(&self) -> Option<Box<str>> {
        let rejects = |it: &&PodCondition| it.r#type == "PodScheduled" && it.status == "False";
        let message = &self.conditions.iter().find(rejects)?.message;
        (!message.is_empty()).then(|| beginning(message, LONGEST).into())
    }
}

impl SlimObject for Pod {
    fn trim(&mut self) {
        self.spec.trim();
        // Those of a pod that a controller creates are not read.
        if self.metadata.owner_references.iter().any(|it| it.controller == Some(true)) {
            self.metadata.labels.clear();
        }
    }

    fn lacks(&self) -> Option<&'static str> {
        (self.spec.containers.is_empty() && self.spec.volumes.is_empty())
            .then_some("spec.containers")
    }

    fn row(&self, folder: &mut Folder) -> Folded {
        let Self { metadata, spec, status } = self;
        let deleting =
            metadata.deletion_timestamp.fold_present("metadata.deletionTimestamp", folder);
        let claims: Box<[_]> =
            spec.volumes.iter().filter_map(|volume| volume.mounted(&metadata.name)).collect();
        let sidecars = spec.sidecars(folder);
        let inline = spec.inline(folder, &spec.node_name);
        let of_a_set = |owner: &meta::OwnerReference| owner.kind == "StatefulSet";
        let controller = metadata.owner_references.iter().find(|it| it.controller == Some(true));
        let names_nothing = claims.is_empty() && inline.is_empty() && sidecars.is_none();
        if names_nothing && !controller.is_some_and(of_a_set) {
            return Folded::Counted;
        }
        let controller = meta::controller(&metadata.owner_references, folder);
        let labels = match controller {
            Some(_) => Labels::default(),
            None => folder.labels(metadata.labels.iter().map(|(key, it)| (&**key, &**it))),
        };
        let row = PodUse {
            namespace: folder.text(&metadata.namespace),
            name: metadata.name.as_str().into(),
            uid: Uid::parse(&metadata.uid),
            created: metadata.creation_timestamp.fold("metadata.creationTimestamp", folder),
            started: status.start_time.fold("status.startTime", folder),
            deleting,
            forced: metadata.deletion_grace_period_seconds == Some(0),
            controller,
            labels,
            phase: match status.phase.as_str() {
                "Pending" => PodPhase::Pending,
                "Running" => PodPhase::Running,
                "Succeeded" => PodPhase::Succeeded,
                "Failed" => PodPhase::Failed,
                _ => PodPhase::Unknown,
            },
            ready: status.is_ready(),
            unschedulable: if spec.node_name.is_empty() { status.unschedulable() } else { None },
            node: folder.non_empty(&spec.node_name),
            claims,
            inline,
            sidecars: sidecars.map(Box::new),
        };
        Folded::Row(Row::Pod(Box::new(row)))
    }
}

impl PodSpec {
    /// Removes what is not read of the command lines.
    pub(super) fn trim(&mut self) {
        let all = || self.init_containers.iter().chain(&self.containers);
        let of_driver = all().any(|it| it.is_sidecar() || it.is_registrar());
        let is_read = of_driver || all().any(|it| it.env.texts().next().is_some());
        for container in self.init_containers.iter_mut().chain(&mut self.containers) {
            for words in [&mut container.command, &mut container.args] {
                *words = if is_read { known_flags(words, of_driver) } else { Vec::new() };
            }
            if !of_driver {
                container.env.forget_cluster();
            }
        }
    }

    /// Returns the claims that the pod's volumes reference, each once, sorted.
    pub(super) fn claim_names(&self) -> Box<[Box<str>]> {
        let names = self.volumes.iter().filter_map(|volume| Some(Box::from(volume.claim()?)));
        let mut names: Vec<_> = names.collect();
        names.sort_unstable();
        names.dedup();
        names.into()
    }

    /// Returns the volumes that name storage without a claim. The node is the pod's; in a template
    /// there is none.
    pub(super) fn inline(&self, folder: &mut Folder, node: &str) -> InlineVolumes {
        let volumes = self.volumes.iter().filter_map(|volume| volume.inline(node, folder));
        let volumes: InlineVolumes = volumes.collect();
        folder.inline(volumes)
    }

    /// Returns the storage sidecars, if there are any, with every text that may contain the name of
    /// their driver.
    pub(super) fn sidecars(&self, folder: &mut Folder) -> Option<Sidecars> {
        self.sidecars_that(folder, Container::is_sidecar)
    }

    /// Returns the sidecars in the template of a `DaemonSet`, which may run the node plugin of a driver. Its pods are
    /// as many as the nodes, and tell nothing else.
    pub(super) fn sidecars_of_nodes(&self, folder: &mut Folder) -> Option<Sidecars> {
        self.sidecars_that(folder, |it| it.is_sidecar() || it.is_registrar())
    }

    fn sidecars_that(
        &self,
        folder: &mut Folder,
        is_sidecar: fn(&Container) -> bool,
    ) -> Option<Sidecars> {
        let all = || self.init_containers.iter().chain(&self.containers);
        if !all().any(is_sidecar) {
            return None;
        }
        let containers = all().filter(|container| is_sidecar(container));
        let container = |container: &Container, folder: &mut Folder| model::SidecarContainer {
            name: folder.text(&container.name),
            image: folder.text(&container.image),
            args: folder.texts(container.words()),
            provisions_itself: container.provisions_itself(),
        };
        let paths = self.volumes.iter().filter_map(PodVolume::host_path);
        let environment: Vec<String> = all().flat_map(|it| it.env.texts()).collect();
        let arguments = all().flat_map(|it| it.cluster_arguments(folder)).collect();
        let mut mentions: Vec<&String> = all()
            .flat_map(Container::words)
            .filter(|word| flag_of_cluster(word).is_none())
            .chain(paths.map(|path| &path.path))
            .chain(&environment)
            .collect();
        mentions.sort_unstable();
        mentions.dedup();
        Some(Sidecars {
            containers: containers.map(|sidecar| container(sidecar, folder)).collect(),
            mentions: folder.texts(mentions),
            images: folder.texts(all().map(|container| &container.image)),
            of_cluster: arguments,
            service_account: folder.non_empty(&self.service_account_name),
        })
    }
}

impl Container {
    fn words(&self) -> impl Iterator<Item = &String> {
        self.command.iter().chain(&self.args)
    }

    /// Returns the arguments and variables by which the container marks the disks of its cluster. A variable that an
    /// argument takes is no further one.
    fn cluster_arguments(&self, folder: &mut Folder) -> Vec<ClusterArgument> {
        let mut taken = Vec::new();
        let mut found = Vec::new();
        for (name, value) in self.words().filter_map(|word| flag_of_cluster(word)) {
            let Some(value) = value.filter(|it| !it.is_empty()) else { continue };
            let variable = value.strip_prefix("$(").and_then(|it| it.strip_suffix(')'));
            taken.extend(variable);
            let of_variable = |it: &str| self.env.of_cluster().find(|set| set.0 == it);
            let value = variable.and_then(of_variable).map_or(value, |set| set.1);
            found.push((name, value));
        }
        found.extend(self.env.of_cluster().filter(|(name, _)| !taken.contains(name)));
        let argument = |(name, value): (&'static str, &str)| ClusterArgument {
            container: folder.text(&self.name),
            name,
            value: (!value.contains('$')).then(|| folder.text(value)),
        };
        found.into_iter().map(argument).collect()
    }

    fn is_sidecar(&self) -> bool {
        let (image, name) = (&self.image, &self.name);
        if !ControllerRole::may_be_meant(image) && !ControllerRole::may_be_meant(name) {
            return self.provisions_itself();
        }
        ControllerRole::ALL
            .into_iter()
            .any(|role| role.may_be_played_by(image) || role.is_called(name))
            || drivers::external_provisioners(image).next().is_some()
            || self.provisions_itself()
    }

    fn provisions_itself(&self) -> bool {
        drivers::provisions_itself(&self.image, self.words())
    }

    fn is_registrar(&self) -> bool {
        image_name(&self.image).ends_with(REGISTRAR) || self.name.ends_with(REGISTRAR)
    }
}

/// Declares both forms of a pod's volume from one list of sources.
macro_rules! pod_volume_sources {
    ($($field:ident: $type:ty = $tag:tt, $json:tt;)*) => {
        slim! {
            /// Source of a pod's volume: one of these fields is set.
            pub struct PodVolumeSource {
                $(
                    #[doc = concat!("`", $json, "`.")]
                    #[serde(rename = $json)]
                    #[prost(message, optional, tag = $tag)]
                    pub $field: Option<$type>,
                )*
            }
        }

        /// A pod's volume as JSON writes it. `#[serde(flatten)]` would buffer unknown fields.
        #[derive(Default, Serialize, Deserialize)]
        #[serde(default, rename_all = "camelCase", remote = "Self")]
        struct FlatVolume {
            #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
            name: String,
            $(
                #[serde(rename = $json, skip_serializing_if = "is_default")]
                $field: Option<$type>,
            )*
        }

        only_objects!(FlatVolume);

        impl From<FlatVolume> for PodVolume {
            fn from(flat: FlatVolume) -> Self {
                Self { name: flat.name, source: PodVolumeSource { $($field: flat.$field,)* } }
            }
        }

        impl From<PodVolume> for FlatVolume {
            fn from(volume: PodVolume) -> Self {
                Self { name: volume.name, $($field: volume.source.$field,)* }
            }
        }
    };
}

pod_volume_sources! {
    host_path: NodePath = "1", "hostPath";
    gce_persistent_disk: GcePersistentDisk = "3", "gcePersistentDisk";
    aws_elastic_block_store: VolumeId = "4", "awsElasticBlockStore";
    nfs: Nfs = "7", "nfs";
    iscsi: Iscsi = "8", "iscsi";
    glusterfs: Glusterfs = "9", "glusterfs";
    persistent_volume_claim: ClaimName = "10", "persistentVolumeClaim";
    rbd: Rbd = "11", "rbd";
    flex_volume: FlexVolume = "12", "flexVolume";
    cinder: VolumeId = "13", "cinder";
    cephfs: Cephfs = "14", "cephfs";
    fc: Fc = "17", "fc";
    azure_file: AzureFile = "18", "azureFile";
    vsphere_volume: VsphereVolume = "20", "vsphereVolume";
    azure_disk: AzureDisk = "22", "azureDisk";
    portworx_volume: VolumeId = "24", "portworxVolume";
    csi: InlineCsi = "28", "csi";
    ephemeral: Present = "29", "ephemeral";
}

slim! {
    /// A reference to a claim.
    pub struct ClaimName {
        /// Name.
        #[prost(string, tag = "1")]
        pub claim_name: String,
    }
}

/// A pod's volume, which JSON writes as one object and protobuf as two.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
#[serde(from = "FlatVolume", into = "FlatVolume")]
pub struct PodVolume {
    /// Name in the pod.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Source.
    #[prost(message, required, tag = "2")]
    pub source: PodVolumeSource,
}

impl PodVolume {
    /// Returns the name of the claim that the volume references.
    pub(super) fn claim(&self) -> Option<&str> {
        Some(&self.source.persistent_volume_claim.as_ref()?.claim_name)
    }

    /// Returns the path on the node that the volume mounts.
    pub(super) fn host_path(&self) -> Option<&NodePath> {
        self.source.host_path.as_ref()
    }

    /// Returns the claim that the volume uses. The claim of an ephemeral volume is named after the pod and the volume.
    pub(super) fn mounted(&self, pod: &str) -> Option<MountedClaim> {
        if let Some(claim) = self.claim() {
            Some(MountedClaim { claim: claim.into(), ephemeral: false })
        } else if self.source.ephemeral.is_some() {
            Some(MountedClaim { claim: format!("{pod}-{}", self.name).into(), ephemeral: true })
        } else {
            None
        }
    }

    /// Returns the storage that the volume names without a claim. Paths are on the node of the pod; where that is
    /// empty, on a node that is not known.
    pub(super) fn inline(&self, node: &str, folder: &mut Folder) -> Option<InlineVolume> {
        let spec = PersistentVolumeSpec {
            source: self.source.of_volume(),
            ..PersistentVolumeSpec::default()
        };
        let mut backend = backend::key(&ManagedMeta::default(), &spec, folder)?;
        if let Some(path) = &self.source.host_path {
            backend.handle = backend::path_on_node(&path.path, node).into();
        }
        let attributes = self.source.csi.as_ref().map(|csi| csi.attributes(&backend, folder));
        Some(InlineVolume {
            name: folder.text(&self.name),
            backend,
            attributes: attributes.unwrap_or_default(),
        })
    }
}

impl PodVolumeSource {
    /// Returns the source as a PersistentVolume would write it.
    fn of_volume(&self) -> PersistentVolumeSource {
        let csi = self.csi.as_ref().map(|csi| Csi {
            driver: csi.driver.clone(),
            // An ephemeral volume has no handle: its attributes say what it names, if anything.
            volume_handle: INLINE.to_owned(),
            fs_type: String::new(),
            volume_attributes: csi.volume_attributes.clone(),
            node_publish_secret_ref: None,
        });
        PersistentVolumeSource {
            csi,
            host_path: self.host_path.clone(),
            gce_persistent_disk: self.gce_persistent_disk.clone(),
            aws_elastic_block_store: self.aws_elastic_block_store.clone(),
            nfs: self.nfs.clone(),
            iscsi: self.iscsi.clone(),
            glusterfs: self.glusterfs.clone(),
            rbd: self.rbd.clone(),
            flex_volume: self.flex_volume.clone(),
            cinder: self.cinder.clone(),
            cephfs: self.cephfs.clone(),
            fc: self.fc.clone(),
            azure_file: self.azure_file.clone(),
            vsphere_volume: self.vsphere_volume.clone(),
            azure_disk: self.azure_disk.clone(),
            portworx_volume: self.portworx_volume.clone(),
            ..PersistentVolumeSource::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::AnyObject as _;
    use super::*;

    #[test]
    fn the_name_of_a_cluster_is_resolved() {
        const LABELS: &str = "HCLOUD_VOLUME_EXTRA_LABELS";
        let elsewhere = json!({"name": "CLUSTER_NAME", "valueFrom": {"fieldRef": {}}});
        let literal = json!({"name": "CLUSTER_NAME", "value": "prod"});
        for (args, env, told) in [
            (json!(["--cluster=a"]), json!([]), &[("--cluster", Some("a"))][..]),
            (
                json!(["--cluster=$(CLUSTER_NAME)"]),
                json!([literal]),
                &[("--cluster", Some("prod"))],
            ),
            (json!(["--cluster=$(CLUSTER_NAME)"]), json!([elsewhere]), &[("--cluster", None)]),
            (json!(["--cluster=$(OTHER)"]), json!([]), &[("--cluster", None)]),
            (
                json!(["--cluster=x-$(CLUSTER_NAME)"]),
                json!([literal]),
                &[("--cluster", None), ("CLUSTER_NAME", Some("prod"))],
            ),
            (json!([]), json!([{"name": LABELS, "value": "a=b"}]), &[(LABELS, Some("a=b"))]),
            (json!(["--cluster=", "--extra-labels"]), json!([]), &[]),
        ] {
            let driver = json!({"name": "driver", "args": args, "env": env});
            let provisioner = json!({"name": "csi-provisioner", "image": "csi-provisioner:v6"});
            let spec = json!({"containers": [driver, provisioner]});
            let mut spec: PodSpec = serde_json::from_value(spec).expect("a spec");
            spec.trim();
            let sidecars = spec.sidecars(&mut Folder::default()).expect("it has one");
            let found = sidecars.of_cluster.iter().map(|it| (it.name, it.value.as_deref()));
            assert_eq!(found.collect::<Vec<_>>(), told, "{driver}");
            assert!(sidecars.mentions.iter().all(|it| !it.contains("cluster")), "{driver}");
        }
    }

    #[test]
    fn pods_of_every_publisher_of_sidecars_are_kept() {
        for image in [
            "registry.k8s.io/sig-storage/csi-provisioner:v6.3.0",
            "public.ecr.aws/eks-distro/kubernetes-csi/external-provisioner:v5.1.0-eks-1",
            "public.ecr.aws/eks-distro/kubernetes-csi/external-attacher:v4.8.0-eks-1",
            "registry.redhat.io/openshift4/ose-csi-external-provisioner:v4.15.0",
            "registry.redhat.io/openshift4/ose-csi-external-attacher-rhel9:v4.18.0",
            "mirror/csi-provisioner-arm64@sha256:00",
        ] {
            let pod = json!({"metadata": {"name": "p", "namespace": "n"},
                "spec": {"containers": [{"image": image}]}});
            let pod: Pod = serde_json::from_value(pod).expect("a pod");
            let folded = pod.fold(&mut Folder::default()).expect("folds");
            assert!(matches!(folded, Folded::Row(_)), "{image} was not kept");
        }
    }

    #[test]
    fn a_sidecar_whose_image_says_nothing_is_known_by_its_name() {
        let image = "quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:00";
        for (name, kept) in [
            ("csi-provisioner", true),
            ("csi-attacher", true),
            ("snapshot-controller", true),
            ("kube-controller-manager", true),
            ("ebs-csi-provisioner", true),
            ("provisioner-kube-rbac-proxy", false),
            ("nfs-subdir-external-provisioner", false),
            ("csi-driver", false),
            ("", false),
        ] {
            let pod = json!({"metadata": {"name": "p", "namespace": "n"},
                "spec": {"containers": [{"name": name, "image": image}]}});
            let pod: Pod = serde_json::from_value(pod).expect("a pod");
            let folded = pod.fold(&mut Folder::default()).expect("folds");
            assert_eq!(matches!(folded, Folded::Row(_)), kept, "{name}");
        }
    }
}
