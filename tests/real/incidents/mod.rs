//! Incidents: something real is broken, and an expert reads no more than `audit` and one `explain`.

mod claim_deleted_in_use;
mod copied;
mod delete_fails;
mod lost_claim;
mod screen;
mod selected_node;
mod volume_deleted_first;
