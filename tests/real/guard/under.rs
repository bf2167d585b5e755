//! The commands that write, under the guard: their scenarios run a second time, in another process.

use std::process::Command;

/// A scenario or two of each command that writes.
const SCENARIOS: [&str; 23] = [
    "delete::data::d_44_with_destroy_data_the_driver_deletes_the_backend_volume",
    "delete::data::d_44_with_keep_data_the_volume_is_retained_first_and_ends_released_with_its_files",
    "drivers::deleted_claims::local_path_directory_is_destroyed_with_its_claim",
    "drivers::deleted_claims::local_path_directory_survives_its_claim_and_comes_back",
    "drivers::gce_pd::gce_pd_released_volume_is_destroyed_and_its_snapshot_stays",
    "drivers::in_tree_host_path::in_tree_released_volume_is_destroyed_by_the_controller_manager",
    "expand::with_resizer::a_claim_grows_and_cannot_shrink_again",
    "fix_finalizers::absent::d_14_the_finalizer_of_an_uninstalled_driver_goes_and_no_other",
    "fix_finalizers::attachments::an_attachment_to_a_node_that_is_gone_is_deleted_and_not_stripped",
    "fix_finalizers::claims::a_claim_is_let_go_when_its_controller_is_gone_and_nobody_uses_it",
    "gc::kept::a_deletion_is_rehearsed_without_deleting",
    "gc::reclaimed::d_31_an_available_volume_is_condemned",
    "gc::reclaimed::released_volumes_are_reclaimed_by_one_patch_each",
    "gc::retained::a_bound_volume_is_retained_by_its_name_or_that_of_its_claim",
    "rebind::plain::d_32_rebind_gives_the_data_to_its_claim_alone",
    "rebind::undone::a_deletion_that_kept_the_data_is_undone",
    "retention::reconcile::owners::claims_without_a_pod_stay_when_the_set_is_deleted",
    "retention::disown::d_72_a_restored_claim_survives_the_garbage_collector",
    "retention::set_policy::retained::claims_without_pods_are_released_before_the_policy_is_patched",
    "teardown::a_namespace_is_torn_down_but_for_what_is_kept",
    "undo::a_handle_alone_takes_the_users_word_for_everything",
    "undo::a_kept_backend_gets_its_volume_back",
    "undo::the_backend_volume_that_was_kept_is_destroyed",
];

#[test]
#[ignore = "extended suite: the whole matrix of the guard"]
fn every_writing_command_does_the_same_under_the_guard() {
    let this = std::env::current_exe().expect("because it runs");
    let ran = Command::new(this)
        .args(SCENARIOS)
        .args(["--include-ignored", "--exact", "--test-threads=3"])
        .env("GUARD", "deny")
        .output()
        .expect("because it runs already");
    let said = String::from_utf8_lossy(&ran.stdout);
    let failed = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{said}\n{failed}");
    assert!(said.contains(&format!("{} passed", SCENARIOS.len())), "{said}");
}
