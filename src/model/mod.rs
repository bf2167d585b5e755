//! Plain data that all other modules share: rows of objects, keys, ages, findings, actions,
//! settings.
//!
//! Nothing here does I/O or reads a clock. Only parsers can fail: they return `None` or an error
//! and never guess.

mod access;
mod action;
mod admission;
mod age;
mod announcement;
mod attachment;
mod backend;
mod claim;
mod class;
mod controller;
mod custom_kind;
mod custom_user;
mod driver;
mod event;
mod fact;
mod finding;
mod finding_event;
mod journal_entry;
mod kept;
mod kind;
mod lease;
mod metadata;
mod nearest;
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

pub use access::{Access, AccessModes};
pub use action::{Action, Cascade, FinalizerEdit};
pub(crate) use action::{DELETION_PROTECTION, Effect, Guard, NO_CLAIM, Proposal, Refusal, Undo};
pub use admission::{AdmissionObject, GUARD_NAME, Namespace};
pub(crate) use age::{Age, Trust};
pub use announcement::Announcements;
pub(crate) use announcement::{AnnouncedBatch, AnnouncedVolume, Veto, VoidBatch};
pub use attachment::{Attachment, AttachmentSource};
pub use backend::{Attributes, BackendKey};
pub(crate) use backend::{migrated_driver, provisioning_driver};
pub use claim::{Claim, ClaimCondition, ClaimPhase, DataSource};
pub use class::{AttributesClass, StorageClass};
pub use controller::{ControllerRole, Sighting};
pub(crate) use controller::{ControllerState, Liveness, Probe, image_name};
pub(crate) use custom_kind::{
    CUSTOM_KINDS, CustomKind, Finish, MarkMeaning, Naming, OPERATOR_MARKS, OperatorMark,
};
pub(crate) use custom_user::{CustomUser, NamedBy, NamedClaim, UnlistedKind, is_placeholder};
pub use custom_user::{CustomUsers, OF_A_DUMP};
pub use driver::{CsiDriver, CsiNode};
pub use event::Event;
pub use fact::FactKey;
pub(crate) use fact::{
    ClaimedVersion, ControllerSettings, DriverVolumes, Fact, FinalizerSupport, LastWrite,
    NamedBackend, UndecidedIdentity,
};
pub(crate) use finding::{CausedBy, Evidence, Offer, RuleId, Verdict, VolumeColumns};
pub use finding::{Finding, Severity, VerdictState};
pub use finding_event::{ClearedFinding, FindingEvent};
pub use journal_entry::{AskedEntry, EntryError, JournalEntryNumber, JournalPlace};
pub use kept::{KeptBackend, Recorded};
pub use kind::Kind;
pub use lease::{Lease, LeaseMoment};
pub(crate) use metadata::{ANNOUNCED, FieldManager};
pub use metadata::{
    FieldManagers, FieldOwner, Labels, Managed, ManagedField, Metadata, OwnerReference,
    RareAnnotations,
};
pub(crate) use nearest::nearest;
pub use node::Node;
pub(crate) use object::is_namespace_name;
pub use object::{ClaimKey, ObjectKey, ObjectRef};
pub use pod::{InlineVolume, InlineVolumes, MountedClaim, PodPhase, PodUse};
pub(crate) use quantity::{Bytes, format_bytes, parse_quantity};
pub use question::{Answer, OwnerKey, OwnerObject, Question};
pub use row::Row;
pub(crate) use row::for_each_row;
pub(crate) use row::{NamedRow, ObjectId};
pub use server::Server;
pub use settings::Selector;
pub use settings::Settings;
pub(crate) use settings::{Exemption, Recording, Scope, SecretAssertion, SnapshotFirst};
pub use sidecar::{REGISTRAR, SidecarContainer, Sidecars};
pub(crate) use snapshot::SNAPSHOT_CLAIM_UID;
pub use snapshot::{SnapshotClass, SnapshotContent, SnapshotSource, VolumeSnapshot};
pub(crate) use statefulset::split_ordinal;
pub use statefulset::{ClaimTemplate, Retention, RetentionPolicy, StatefulSet};
pub use text::Text;
pub(crate) use text::{Interner, beginning, escape_control, shorten};
pub use threshold::{Threshold, parse_duration};
pub(crate) use threshold::{Thresholds, format_duration};
pub use time::Time;
pub(crate) use time::{UNREADABLE_TIME, format_age, format_time, parse_day, parse_time};
pub use uid::Uid;
pub use volume::{
    ClaimRef, DeletionSecret, NodeAffinity, NodeRequirement, NodeTerm, Phase, ReclaimPolicy,
    Volume, VolumeSource,
};
pub use workload::{Autoscaler, Workload};
