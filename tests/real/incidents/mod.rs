//! Incidents: something real is broken, and an expert reads no more than `audit` and one `explain`.

mod claim_deleted_in_use;
mod claim_recreated;
mod copied;
mod delete_fails;
mod finalizer_left;
mod lost_claim;
mod node_gone;
mod provisioner_killed;
mod screen;
mod secret_removed;
mod selected_node;
mod volume_deleted_first;
