//! Incidents: something real is broken, and an expert reads no more than `audit` and one `explain`.

mod claim_recreated;
mod finalizer_left;
mod node_gone;
mod provisioner_killed;
mod screen;
mod secret_removed;
