//! The public shapes of plans, receipts and the journal, and their tables for people.

mod journal;
mod plan;
mod receipt;
mod retention;
mod saved;
mod step;
mod table;

pub use journal::{
    ClusterJournal, Journal, JournalEntry, LeaderTerm, journal, journal_entry, journal_table,
    leader_term,
};
pub use plan::{Plan, PlanMetadata, PlannedChange, RefusedChange, SavedSettings, change, plan};
pub use receipt::{Receipt, ReceiptContext, ReceiptMetadata, receipt};
pub use saved::{PlanError, read};
pub use table::{names, plan_table, receipt_table, receipt_totals};
