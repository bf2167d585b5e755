//! The public shapes of plans, receipts and the journal, and their tables for people.

mod plan;
mod receipt;
mod saved;
mod step;
mod table;

pub use plan::{
    Plan, PlanList, PlanMetadata, PlanOfCluster, PlannedChange, RefusedChange, SavedSettings,
    change, plan,
};
pub use receipt::{
    ClusterJournal, Journal, JournalEntry, LeaderTerm, Receipt, ReceiptContext, ReceiptMetadata,
    journal, journal_entry, journal_table, leader_term, receipt,
};
pub use saved::{PlanError, read};
pub use table::{PlanScreen, names, plan_table, receipt_table, receipt_totals};
