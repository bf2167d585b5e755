//! Plain data that all other modules share: rows of objects, keys, ages, findings, actions,
//! settings.
//!
//! Nothing here does I/O or reads a clock. Only parsers can fail: they return `None` or an error
//! and never guess.

mod action;
mod claim;
mod controller;
mod custom_kind;
mod fact;
mod field_selector;
mod finding;
mod inventory_disk;
mod metadata;
mod node;
mod object;
mod pod;
mod program;
mod record;
mod row;
mod selector;
mod server;
mod settings;
mod teardown;
mod text;
mod time;
mod volume;

pub use action::{Action, Cascade, FinalizerEdit};
pub(crate) use action::{
    DELETION_PROTECTION, Effect, Guard, Loss, NO_CLAIM, Proposal, Refusal, Undo,
};
pub(crate) use claim::SNAPSHOT_CLAIM_UID;
pub use claim::{
    AttributesClass, Claim, ClaimCondition, ClaimPhase, DataSource, SnapshotClass, SnapshotContent,
    SnapshotSource, StorageClass, VolumeSnapshot,
};
pub use controller::{ControllerRole, Event, Lease, LeaseMoment, Sighting};
pub(crate) use controller::{ControllerState, Liveness, Probe, image_name};
pub(crate) use custom_kind::{
    CUSTOM_KINDS, CustomKind, CustomUser, Finish, MarkMeaning, NamedBy, NamedClaim, Naming,
    OPERATOR_MARKS, OperatorMark, UnlistedKind, is_placeholder,
};
pub use custom_kind::{CustomUsers, OF_A_DUMP};
pub use fact::{Answer, FactKey, OwnerKey, OwnerObject, Question};
pub(crate) use fact::{
    ClaimedVersion, ControllerSettings, DriverVolumes, Fact, FinalizerSupport, LastWrite,
    NamedBackend, UndecidedIdentity,
};
pub(crate) use field_selector::FieldSelector;
pub(crate) use finding::{CausedBy, Evidence, Offer, RuleId, Verdict, VolumeColumns};
pub use finding::{ClearedFinding, Finding, FindingEvent, Severity, VerdictState};
pub(crate) use inventory_disk::INVENTORY_SYSTEMS;
pub use inventory_disk::{InventoryDisk, InventorySystem};
pub(crate) use metadata::{ANNOUNCED, FieldManager};
pub use metadata::{
    FieldManagers, FieldOwner, Labels, Managed, ManagedField, Metadata, OwnerReference,
    RareAnnotations,
};
pub use node::{Attachment, AttachmentSource, CsiDriver, CsiNode, Node};
pub use object::{ClaimKey, Kind, ObjectKey, ObjectRef, Uid};
pub(crate) use object::{is_namespace_name, is_object_name};
pub(crate) use pod::split_ordinal;
pub use pod::{
    Autoscaler, ClaimTemplate, ClusterArgument, InlineVolume, InlineVolumes, MountedClaim,
    PodPhase, PodUse, REGISTRAR, Retention, RetentionPolicy, SidecarContainer, Sidecars,
    StatefulSet, Workload,
};
pub use program::{
    PROGRAM, begins_command, call_program, in_own_name, is_program_name, program, renamed,
};
pub(crate) use record::{AnnouncedBatch, AnnouncedVolume, Veto, VoidBatch};
pub use record::{
    Announcements, AskedEntry, EntryError, JournalEntryNumber, JournalPlace, KeptBackend, Recorded,
};
pub use row::Row;
pub(crate) use row::{NamedRow, ObjectId, for_each_row};
pub use selector::Selector;
pub use server::{AdmissionObject, GUARD_NAME, Namespace, Server};
pub(crate) use settings::{Beside, Exemption, Recording, Scope, SecretAssertion, SnapshotFirst};
pub use settings::{FreeShare, Settings};
pub use teardown::{ConfirmedSurvey, WorkloadScale};
pub(crate) use teardown::{Exception, STOPPED_FROM, TeardownTerms};
pub use text::Text;
pub(crate) use text::{
    Bytes, Interner, beginning, counted, did_you_mean, escape_control, first_of, format_bytes,
    nearest, parse_quantity, shorten,
};
pub(crate) use time::{
    Age, Thresholds, Trust, UNREADABLE_TIME, format_age, format_duration, format_time, parse_day,
    parse_time,
};
pub use time::{Threshold, Time, parse_duration};
pub use volume::{
    Access, AccessModes, Attributes, BackendKey, ClaimRef, DeletionSecret, NodeAffinity,
    NodeRequirement, NodeTerm, Phase, ReclaimPolicy, Volume, VolumeSource,
};
pub(crate) use volume::{migrated_driver, provisioning_driver};
