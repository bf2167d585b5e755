//! `metadata` in several sizes: names and owners, the same for pods, and the fields that are
//! managed; references to objects, and label selectors.

use std::collections::BTreeMap;

use bytes::{Buf, BufMut};
use prost::encoding::{DecodeContext, WireType, int64, message, skip_field, string};
use prost::{DecodeError, Message};
use serde::{Deserialize, Serialize};

use super::managed::{KeepManagedFields, ManagedFields, NoManagedFields};
use super::slim::{
    AllowList, Entries, EveryKey, Timestamp, is_default, only_objects, or_default, slim,
};
use super::{Folder, ObjectIdentity, managed};
use crate::model;
use crate::model::{ANNOUNCED, ClaimKey, ClaimRef, Metadata, RareAnnotations, Selector, Uid};

pub(super) const PROVISIONED_BY: &str = "pv.kubernetes.io/provisioned-by";
pub(super) const MIGRATED_TO: &str = "pv.kubernetes.io/migrated-to";
pub(super) const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";
pub(super) const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";
pub(super) const DELETION_SECRET_NAME: &str =
    "volume.kubernetes.io/provisioner-deletion-secret-name";
pub(super) const DELETION_SECRET_NAMESPACE: &str =
    "volume.kubernetes.io/provisioner-deletion-secret-namespace";
pub(super) const SNAPSHOT_BEING_CREATED: &str =
    "snapshot.storage.kubernetes.io/volumesnapshot-being-created";
pub(super) const GROUP_BEING_CREATED: &str =
    "groupsnapshot.storage.kubernetes.io/volumegroupsnapshot-being-created";
pub(super) const BACKEND_STATE: &str = "storage.kubectl.dev/backend-state";
pub(super) const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
pub(super) const STORAGE_PROVISIONER: &str = "volume.kubernetes.io/storage-provisioner";
pub(super) const BETA_STORAGE_PROVISIONER: &str = "volume.beta.kubernetes.io/storage-provisioner";
pub(super) const DEFAULT_CLASS: &str = "storageclass.kubernetes.io/is-default-class";
pub(super) const BETA_DEFAULT_CLASS: &str = "storageclass.beta.kubernetes.io/is-default-class";
pub(super) const DEFAULT_SNAPSHOT_CLASS: &str = "snapshot.storage.kubernetes.io/is-default-class";
const IGNORE: &str = "storage.kubectl.dev/ignore";
const KEEP_UNTIL: &str = "storage.kubectl.dev/keep-until";
/// Annotation by which Argo CD knows the objects that it applied, unless it is configured to use a label.
const TRACKED_BY_ARGO_CD: &str = "argocd.argoproj.io/tracking-id";

/// Prefix of annotations of the downscalers that run by a schedule, py-kube-downscaler and those that follow it.
const DOWNSCALER: &str = "downscaler/";
/// Annotations that downscalers write on an object to say when it may run, or how many replicas it had.
const DOWNSCALED: [&str; 5] =
    ["original-replicas", "uptime", "downtime", "upscale-period", "downscale-period"];

/// Whether an annotation makes a downscaler set the number of replicas of its object.
fn is_of_downscaler(key: &str) -> bool {
    key.strip_prefix(DOWNSCALER).is_some_and(|name| DOWNSCALED.contains(&name))
}

/// Allows the annotations that are read. Others can be private, or large, such as
/// `last-applied-configuration` with up to 256 KiB.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StorageAnnotations;

impl AllowList for StorageAnnotations {
    fn allows(key: &str) -> bool {
        matches!(
            key,
            PROVISIONED_BY
                | MIGRATED_TO
                | BOUND_BY_CONTROLLER
                | BIND_COMPLETED
                | DELETION_SECRET_NAME
                | DELETION_SECRET_NAMESPACE
                | SNAPSHOT_BEING_CREATED
                | GROUP_BEING_CREATED
                | SELECTED_NODE
                | STORAGE_PROVISIONER
                | BETA_STORAGE_PROVISIONER
                | DEFAULT_CLASS
                | BETA_DEFAULT_CLASS
                | DEFAULT_SNAPSHOT_CLASS
                | TRACKED_BY_ARGO_CD
        ) || key.starts_with("storage.kubectl.dev/")
            || is_of_downscaler(key)
    }
}

slim! {
    /// `metadata` of kinds of which only names, times and owners are read.
    pub struct BriefMeta {
        /// Name.
        #[prost(string, tag = "1")]
        pub name: String,
        /// Namespace; empty for cluster-wide kinds.
        #[prost(string, tag = "3")]
        pub namespace: String,
        /// Uid.
        #[prost(string, tag = "5")]
        pub uid: String,
        /// Version.
        #[prost(string, tag = "6")]
        pub resource_version: String,
        /// Time at which the object was created.
        #[prost(message, required, tag = "8")]
        pub creation_timestamp: Timestamp,
        /// Time since which the object is Terminating.
        #[prost(message, required, tag = "9")]
        pub deletion_timestamp: Timestamp,
        /// Owners.
        #[prost(message, repeated, tag = "13")]
        pub owner_references: Vec<OwnerReference>,
    }

    /// `metadata` of a pod.
    pub struct PodMeta {
        /// Name.
        #[prost(string, tag = "1")]
        pub name: String,
        /// Namespace.
        #[prost(string, tag = "3")]
        pub namespace: String,
        /// Uid.
        #[prost(string, tag = "5")]
        pub uid: String,
        /// Version.
        #[prost(string, tag = "6")]
        pub resource_version: String,
        /// Time at which the pod was created.
        #[prost(message, required, tag = "8")]
        pub creation_timestamp: Timestamp,
        /// Time since which the pod is Terminating.
        #[prost(message, required, tag = "9")]
        pub deletion_timestamp: Timestamp,
        /// Number of seconds for the containers to end.
        #[prost(int64, optional, tag = "10")]
        pub deletion_grace_period_seconds: Option<i64>,
        /// Labels.
        #[prost(btree_map = "string, string", tag = "11")]
        pub labels: BTreeMap<String, String>,
        /// Owners.
        #[prost(message, repeated, tag = "13")]
        pub owner_references: Vec<OwnerReference>,
    }

    /// One entry of `metadata.ownerReferences`.
    pub struct OwnerReference {
        /// `apiVersion` of the owner.
        #[prost(string, tag = "5")]
        pub api_version: String,
        /// `kind` of the owner.
        #[prost(string, tag = "1")]
        pub kind: String,
        /// Name.
        #[prost(string, tag = "3")]
        pub name: String,
        /// Uid.
        #[prost(string, tag = "4")]
        pub uid: String,
        /// Whether the owner is the managing controller.
        #[prost(bool, optional, tag = "6")]
        pub controller: Option<bool>,
        /// Whether a foreground deletion of the owner waits for this object.
        #[prost(bool, optional, tag = "7")]
        pub block_owner_deletion: Option<bool>,
    }

    /// The metadata of an object of any kind.
    pub struct PartialObjectMetadata {
        /// Metadata.
        #[prost(message, required, tag = "1")]
        pub metadata: ObjectMeta,
    }
}

impl PartialObjectMetadata {
    /// Returns the object as an owner of others; `None` without a uid.
    pub fn owner_object(&self) -> Option<model::OwnerObject> {
        let metadata = &self.metadata;
        let mut folder = Folder::default();
        Some(model::OwnerObject {
            uid: Uid::parse(&metadata.uid)?,
            terminating: metadata.deletion_timestamp != Timestamp::default(),
            cluster_wide: metadata.namespace.is_empty(),
            owners: metadata.owner_references.iter().map(|it| it.fold(&mut folder)).collect(),
        })
    }
}

impl OwnerReference {
    fn fold(&self, folder: &mut Folder) -> model::OwnerReference {
        model::OwnerReference {
            api_version: folder.text(&self.api_version),
            kind: folder.text(&self.kind),
            name: self.name.as_str().into(),
            uid: Uid::parse(&self.uid),
            controller: self.controller == Some(true),
            blocks_deletion: self.block_owner_deletion == Some(true),
        }
    }
}

/// Returns the managing controller, if there is one.
pub(super) fn controller(
    owners: &[OwnerReference],
    folder: &mut Folder,
) -> Option<Box<model::OwnerReference>> {
    let owner = owners.iter().find(|owner| owner.controller == Some(true))?;
    Some(Box::new(owner.fold(folder)))
}

impl PodMeta {
    pub(super) fn identity(&self) -> ObjectIdentity<'_> {
        ObjectIdentity {
            namespace: &self.namespace,
            name: &self.name,
            resource_version: &self.resource_version,
        }
    }
}

impl BriefMeta {
    pub(super) fn identity(&self) -> ObjectIdentity<'_> {
        ObjectIdentity {
            namespace: &self.namespace,
            name: &self.name,
            resource_version: &self.resource_version,
        }
    }
}

/// `metadata` with the fields that are judged. Its protobuf form is written by hand, since prost's
/// derive would store every annotation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", remote = "Self")]
#[serde(bound(serialize = "M: KeepManagedFields", deserialize = "M: KeepManagedFields"))]
pub struct ObjectMeta<M = NoManagedFields> {
    /// Name.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub name: String,
    /// Namespace; empty for cluster-wide kinds.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub namespace: String,
    /// Uid.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub uid: String,
    /// Version.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub resource_version: String,
    /// Generation: the number of changes of the desired state.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub generation: i64,
    /// Time at which the object was created.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub creation_timestamp: Timestamp,
    /// Time since which the object is Terminating.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub deletion_timestamp: Timestamp,
    /// Labels.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub labels: Entries<EveryKey>,
    /// Annotations that are read.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub annotations: Entries<StorageAnnotations>,
    /// Owners.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub owner_references: Vec<OwnerReference>,
    /// The finalizers that block the object's deletion.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub finalizers: Vec<String>,
    /// The managers of the object's fields, for kinds of which they are read.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub managed_fields: M,
}

only_objects!(ObjectMeta<M: KeepManagedFields>);

/// `metadata` with the managers of its fields.
pub type ManagedMeta = ObjectMeta<ManagedFields>;

impl<M: KeepManagedFields> ObjectMeta<M> {
    /// Returns the value of one of the stored annotations.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations.get(key)
    }

    pub(super) fn identity(&self) -> ObjectIdentity<'_> {
        ObjectIdentity {
            namespace: &self.namespace,
            name: &self.name,
            resource_version: &self.resource_version,
        }
    }

    fn rare_annotations(&self) -> Option<Box<RareAnnotations>> {
        let ignore = self.annotation(IGNORE).map(Into::into);
        let keep_until = self.annotation(KEEP_UNTIL).map(Into::into);
        let announced = self.annotation(ANNOUNCED).map(Into::into);
        let tracked_by_argo_cd = self.annotation(TRACKED_BY_ARGO_CD).is_some();
        let scheduled_by_downscaler =
            DOWNSCALED.iter().any(|name| self.annotation(&format!("{DOWNSCALER}{name}")).is_some());
        let found = RareAnnotations {
            ignore,
            keep_until,
            announced,
            tracked_by_argo_cd,
            scheduled_by_downscaler,
        };
        (found != RareAnnotations::default()).then(|| Box::new(found))
    }

    pub(super) fn fold(&self, folder: &mut Folder) -> Metadata {
        Metadata {
            name: self.name.as_str().into(),
            uid: Uid::parse(&self.uid),
            resource_version: self.resource_version.as_str().into(),
            created: self.creation_timestamp.fold("metadata.creationTimestamp", folder),
            deleting: self.deletion_timestamp.fold_present("metadata.deletionTimestamp", folder),
            finalizers: folder.list(&self.finalizers),
            labels: folder.labels(self.labels.iter()),
            owners: self.owner_references.iter().map(|entry| entry.fold(folder)).collect(),
            managers: managed::fold(self.managed_fields.entries(), folder),
            rare_annotations: self.rare_annotations(),
        }
    }
}

impl<M: KeepManagedFields> Message for ObjectMeta<M> {
    fn encode_raw(&self, buf: &mut impl BufMut) {
        for (tag, text) in self.texts() {
            string::encode(tag, text, buf);
        }
        int64::encode(7, &self.generation, buf);
        message::encode(8, &self.creation_timestamp, buf);
        message::encode(9, &self.deletion_timestamp, buf);
        self.labels.encode(11, buf);
        self.annotations.encode(12, buf);
        message::encode_repeated(13, &self.owner_references, buf);
        string::encode_repeated(14, &self.finalizers, buf);
        message::encode_repeated(17, self.managed_fields.entries(), buf);
    }

    fn merge_field(
        &mut self,
        tag: u32,
        wire_type: WireType,
        buf: &mut impl Buf,
        ctx: DecodeContext,
    ) -> Result<(), DecodeError> {
        match tag {
            1 => string::merge(wire_type, &mut self.name, buf, ctx),
            3 => string::merge(wire_type, &mut self.namespace, buf, ctx),
            5 => string::merge(wire_type, &mut self.uid, buf, ctx),
            6 => string::merge(wire_type, &mut self.resource_version, buf, ctx),
            7 => int64::merge(wire_type, &mut self.generation, buf, ctx),
            8 => message::merge(wire_type, &mut self.creation_timestamp, buf, ctx),
            9 => message::merge(wire_type, &mut self.deletion_timestamp, buf, ctx),
            11 => self.labels.merge(wire_type, buf, ctx),
            12 => self.annotations.merge(wire_type, buf, ctx),
            13 => message::merge_repeated(wire_type, &mut self.owner_references, buf, ctx),
            14 => string::merge_repeated(wire_type, &mut self.finalizers, buf, ctx),
            17 => self.managed_fields.merge(wire_type, tag, buf, ctx),
            _ => skip_field(wire_type, tag, buf, ctx),
        }
    }

    fn encoded_len(&self) -> usize {
        self.texts().map(|(tag, text)| string::encoded_len(tag, text)).iter().sum::<usize>()
            + int64::encoded_len(7, &self.generation)
            + message::encoded_len(8, &self.creation_timestamp)
            + message::encoded_len(9, &self.deletion_timestamp)
            + self.labels.encoded_len(11)
            + self.annotations.encoded_len(12)
            + message::encoded_len_repeated(13, &self.owner_references)
            + string::encoded_len_repeated(14, &self.finalizers)
            + message::encoded_len_repeated(17, self.managed_fields.entries())
    }

    fn clear(&mut self) {
        *self = Self::default();
    }
}

impl<M> ObjectMeta<M> {
    /// Returns the text fields with their tags. Go writes empty ones too.
    fn texts(&self) -> [(u32, &String); 4] {
        [(1, &self.name), (3, &self.namespace), (5, &self.uid), (6, &self.resource_version)]
    }
}

slim! {
    /// A reference to an object.
    pub struct ObjectReference {
        /// Kind.
        #[prost(string, tag = "1")]
        pub kind: String,
        /// Namespace.
        #[prost(string, tag = "2")]
        pub namespace: String,
        /// Name.
        #[prost(string, tag = "3")]
        pub name: String,
        /// Uid.
        #[prost(string, tag = "4")]
        pub uid: String,
        /// API group and version of the object.
        #[prost(string, tag = "5")]
        pub api_version: String,
    }
}

impl ObjectReference {
    /// Returns the reference as one to a claim, whatever its kind.
    pub(super) fn fold_claim(&self, folder: &mut Folder) -> ClaimRef {
        let namespace = folder.text(&self.namespace);
        ClaimRef {
            key: ClaimKey { namespace, name: self.name.as_str().into() },
            uid: Uid::parse(&self.uid),
        }
    }
}

slim! {
    /// A selector of objects.
    pub struct LabelSelector {
        /// The labels that an object must have.
        #[prost(btree_map = "string, string", tag = "1")]
        pub match_labels: BTreeMap<String, String>,
        /// The expressions that an object must match.
        #[prost(message, repeated, tag = "2")]
        pub match_expressions: Vec<LabelSelectorRequirement>,
    }

    /// One expression of a selector.
    pub struct LabelSelectorRequirement {
        /// The label.
        #[prost(string, tag = "1")]
        pub key: String,
        /// `In`, `NotIn`, `Exists` or `DoesNotExist`.
        #[prost(string, tag = "2")]
        pub operator: String,
        /// The values.
        #[prost(string, repeated, tag = "3")]
        pub values: Vec<String>,
    }
}

impl LabelSelector {
    /// Returns the expressions alone; `None` if there are none.
    pub(super) fn fold_expressions(&self) -> Option<Selector> {
        let alone = Self { match_expressions: self.match_expressions.clone(), ..Self::default() };
        (!self.match_expressions.is_empty()).then(|| alone.fold())
    }

    pub(super) fn fold(&self) -> Selector {
        let labels = self.match_labels.iter().map(|(key, value)| (&**key, &**value));
        let expressions = &self.match_expressions;
        Selector::of(labels, expressions.iter().map(|it| (&*it.key, &*it.operator, &*it.values)))
    }
}
