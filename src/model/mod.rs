//! Plain data that all other modules share: rows of objects, keys, ages, findings, actions,
//! settings.
//!
//! Nothing here does I/O or reads a clock. Only parsers can fail: they return `None` or an error
//! and never guess.

mod action;
mod age;
mod attachment;
mod backend;
mod claim;
mod class;
mod controller;
mod driver;
mod event;
mod fact;
mod finding;
mod kept;
mod kind;
mod lease;
mod metadata;
mod node;
mod object;
mod pod;
mod quantity;
mod question;
mod row;
mod server;
mod settings;
mod sidecar;
mod snapshot;
mod statefulset;
mod text;
mod threshold;
mod time;
mod uid;
mod volume;
mod workload;

pub use action::{Action, Effect, Guard, NO_CLAIM, Proposal, Refusal, Undo};
pub use age::{Age, Trust};
pub use attachment::{Attachment, AttachmentSource};
pub use backend::{BackendKey, migrated_driver};
pub use claim::{Claim, ClaimCondition, ClaimPhase, DataSource};
pub use class::{AttributesClass, StorageClass};
pub use controller::{ControllerRole, ControllerState, Liveness, Probe, Sighting, image_name};
pub use driver::{CsiDriver, CsiNode};
pub use event::Event;
pub use fact::{ClaimedVersion, Fact, FactKey};
pub use finding::{
    Evidence, Finding, Offer, RuleId, Severity, Verdict, VerdictState, VolumeColumns,
};
pub use kept::{KeptBackend, Recorded};
pub use kind::{ApiGroup, Kind};
pub use lease::Lease;
pub use metadata::{
    FieldManager, FieldManagers, FieldOwner, Labels, Managed, ManagedField, Metadata,
    OwnerReference,
};
pub use node::Node;
pub use object::{ClaimKey, ObjectKey, ObjectRef};
pub use pod::{MountedClaim, PodPhase, PodUse};
pub use quantity::{Bytes, format_bytes, parse_quantity};
pub use question::{Answer, OwnerKey, Question};
pub(crate) use row::for_each_row;
pub use row::{NamedRow, ObjectId, Row};
pub use server::Server;
pub use settings::{Recording, Scope, SecretAssertion, Selector, SelectorError, Settings};
pub use sidecar::{SidecarContainer, Sidecars};
pub use snapshot::{SnapshotContent, SnapshotSource, VolumeSnapshot};
pub use statefulset::{ClaimTemplate, Retention, RetentionPolicy, StatefulSet, split_ordinal};
pub use text::{Interner, Text, escape_control};
pub use threshold::{Threshold, Thresholds, format_duration, parse_duration};
pub use time::{Time, format_age, format_time, parse_time};
pub use uid::Uid;
pub use volume::{
    ClaimRef, DeletionSecret, NodeAffinity, NodeRequirement, NodeTerm, Phase, ReclaimPolicy,
    Volume, VolumeSource,
};
pub use workload::{Autoscaler, Workload};
