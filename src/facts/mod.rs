//! Facts: what several rules and remedies derive from a cluster, one topic per file.

mod age;
mod announcement;
mod binding;
mod controller;
mod deletion_effect;
mod disks_of_cluster;
mod driver;
mod driver_volumes;
mod event;
mod expansion;
mod finalizer;
mod fullness;
mod usage_summary;
mod in_use;
mod inventory_counts;
mod listed_disks;
mod neighbours;
mod node;
mod obstacle;
mod other_users;
mod own_disks;
mod owned;
mod owner;
mod pending_claim;
mod pod_wait;
mod provisioner;
mod references;
pub mod retention;
mod standing;
mod storage;
mod teardown;

pub(crate) use age::{
    LastTransition, columns, phase_age, policy_age, released_age, state_age, untrusted_reason,
};
pub(crate) use announcement::{
    AnnouncedPeriod, AnnouncementStatus, VetoedAnnouncement, announced_volume, announcement_status,
    announcements, grace_end, kept_end, known_announcements, lengthened, mark_text,
    question as announcements_question, recorded_elsewhere, records_elsewhere, records_of,
    status_by, unreadable,
};
pub(crate) use binding::{
    CLEAR_THE_UID, ClaimState, LostCause, claim_state, command_of_own, giving_back, giving_it_back,
    is_made_for, is_plain_word, lost_cause, on_command_line, policy_command, provisioned_for,
    quoted, rebind_command, rebinding_advice, rescue, retained_first, semantically_released,
    taken_from, was_taken_from,
};
pub(crate) use controller::{
    SNAPSHOT_CONTROLLER, attacher, controller_manager, csi_snapshotter, deletes_since_its_start,
    is_absent, is_csi, leases, provisioner, recreated_node, resizer, snapshotter,
};
pub(crate) use deletion_effect::{
    DeletionEffect, SnapshotFate, clones, data_effect_without_claim, group_snapshot_fates,
    may_destroy, snapshot_fate, when_claim_is_deleted, when_volume_is_deleted,
};
pub(crate) use disks_of_cluster::{DiskKeys, DisksOfCluster, ListingCommand, NAMING, zones};
pub(crate) use driver::{
    ClusterIdentity, KnownIdentity, SecretState, cluster_identity, controller_settings,
    deletion_secret, undecided_identity,
};
#[cfg(test)]
pub(crate) use driver_names::sanitize;
pub(crate) use event::{
    EventSeries, FAILED_DELETE, FAILED_RECYCLE, UNKNOWN_POLICY, brief_error, event_series,
    last_error, last_event, last_event_about,
};
pub(crate) use expansion::{ExpansionProgress, expansion_error};
pub(crate) use finalizer::{
    BlockingFinalizer, CLONE_SOURCE, EXTERNAL_PROVISIONER, FinalizerController, FinalizerOwner,
    IN_TREE, NO_FINALIZER, PV_PROTECTION, PVC_PROTECTION, SNAPSHOT_SOURCE, VAC_PROTECTION,
    always_honors_reclaim_policy, attacher_finalizer, attacher_of, attacher_with, copier_of,
    expects_in_tree_finalizer, finalizer_in_words, finalizers_of_attachment, finalizers_of_claim,
    finalizers_of_volume, has_attacher_finalizer, in_tree_finalizer_is_stale, looks_rolled_back,
    managers_of, owner_of, server_version, set_by_attacher,
};
pub(crate) use fullness::{
    FileSystem, Fullness, fullness, last_reading, measured_now, over_provisioned, used_by,
};
pub(crate) use in_use::{
    ClaimDataEffect, PodUsage, PodUser, SetTemplate, Unsafe, UnsafeReason, checked_kinds,
    claim_workloads, conflicting_pods, data_effect, data_effect_with, deployment_of, is_bereft,
    pod_users, template_of, unsafe_to_delete, upstream_in_use,
};
pub(crate) use inventory_counts::InventoryCounts;
pub(crate) use listed_disks::{DiskFate, Inventory, InventoryWords, Needed};
pub(crate) use neighbours::{
    Nearness, SharedStorage, excludes_in_a_pod, first_destroyer, kept_record_read, lies,
    lies_beyond, neighbours,
};
pub(crate) use node::{
    deleter_gone, deletes_on_node, detaching_waits_for, how_to_detach, lies_on_node,
    may_be_attached, names_hosts, node_gone, node_is_off, node_problem, node_state, unready_host,
    unusable_host,
};
pub(crate) use obstacle::{ALIVE_AND_STUCK, GuardRefusal, guard_refusal, obstacle, stuck_deletion};
pub(crate) use other_users::{
    NO_OTHER_USERS, OtherUser, OtherUsers, operator_mark, other_users, other_users_of_name,
};
pub(crate) use own_disks::own_disks;
pub(crate) use owned::{
    OwnerPresence, Ownership, controller_of, is_doomed, owner_presence, ownership,
};
pub(crate) use owner::{
    DataEffect, DriverEffect, Owner, describe_owner, driver_effect, in_tree_deletes,
    known_deletable, owner, unmigrated,
};
pub(crate) use pending_claim::{StaleNode, pending_reason, stale_selected_node};
pub(crate) use pod_wait::{PodClaim, pod_wait};
pub(crate) use provisioner::{
    Defect, StaticDeletion, claimed_versions, defect, deletes_static_volumes,
    every_provisioner_honors_finalizer, finalizer_driver, honors_reclaim_policy, may_patch_volumes,
    provisioners_seen,
};
pub(crate) use references::{is_beyond, storage_references};
pub(crate) use storage::{
    Copied, Sameness, UNIDENTIFIED, copied, destruction, is_static, keeper, keeper_of,
    marks_of_others, provisioning_family, recreated_class, same_storage, wishes_for,
};
pub(crate) use teardown::{
    claims_at_scale, claims_of_workload, custom_workloads, is_deleted_alone, is_ended_by_teardown,
    is_going, is_named_by_set, is_stopped, is_stopped_by_teardown, is_wish_of_stopped,
    protected_from_teardown, stopped_with, workload_named,
};
pub use usage_summary::UsageSummary;

use crate::cluster::Cx;
use crate::drivers::driver_names;
use crate::model::{Fact, FactKey};

/// The kinds that a lookup needs, with further kinds: of what the `deletion` of a volume destroys,
/// the `controller` of a driver, the controller `manager`, the `versions` that run as csi-provisioner, or the pods and workloads that
/// are `users` of a claim.
macro_rules! needs {
    (deletion $(: $($kind:ident),+)?) => {
        $crate::facts::needs!(versions: PersistentVolume, StorageClass, Secret $($(, $kind)+)?)
    };
    (controller $(: $($kind:ident),+)?) => {
        $crate::facts::needs!(manager: CsiDriver, CsiNode $($(, $kind)+)?)
    };
    (manager $(: $($kind:ident),+)?) => {
        $crate::facts::needs!(versions: PersistentVolume, Event $($(, $kind)+)?)
    };
    (users $(: $($kind:ident),+)?) => {
        &[
            $crate::model::Kind::Pod,
            $crate::model::Kind::StatefulSet,
            $crate::model::Kind::Deployment,
            $crate::model::Kind::ReplicaSet,
            $crate::model::Kind::DaemonSet,
            $crate::model::Kind::ReplicationController,
            $crate::model::Kind::Job,
            $crate::model::Kind::CronJob,
            $($($crate::model::Kind::$kind,)+)?
        ]
    };
    (versions $(: $($kind:ident),+)?) => {
        &[
            $crate::model::Kind::Pod,
            $crate::model::Kind::StatefulSet,
            $crate::model::Kind::Deployment,
            $crate::model::Kind::ReplicaSet,
            $crate::model::Kind::DaemonSet,
            $crate::model::Kind::Lease,
            $($($crate::model::Kind::$kind,)+)?
        ]
    };
}
pub(crate) use needs;

/// Derives a shared fact from the cluster as it is now, so that it can be compared with the
/// previous one.
pub fn derive(cx: &Cx, key: &FactKey) -> Fact {
    match key {
        FactKey::Controller(role, driver) => {
            Fact::Controller(Box::new(controller::derive(cx, *role, driver)))
        }
        FactKey::Volumes(driver) => Fact::Volumes(Box::new(driver_volumes::derive(cx, driver))),
        FactKey::ProvisionerVersions(driver) => {
            Fact::ProvisionerVersions(provisioner::derive(cx, driver))
        }
        FactKey::FinalizerSupport(driver) => {
            Fact::FinalizerSupport(provisioner::derive_finalizer_support(cx, driver))
        }
        FactKey::ControllerSettings(driver) => {
            Fact::ControllerSettings(driver::derive_controller_settings(cx, driver))
        }
        FactKey::Identity(driver) => Fact::Identity(driver::derive_identity(cx, driver)),
    }
}
