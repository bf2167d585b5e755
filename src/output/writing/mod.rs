//! The public shapes of what is planned and of what was done, and how people read them.

mod journal;
mod plan;
mod receipt;
mod saved;
mod table;

pub use journal::{ClusterJournal, Journal, JournalEntry, journal, journal_entry, journal_table};
pub use plan::{Plan, PlanMetadata, PlannedChange, RefusedChange, SavedSettings, change, plan};
pub use receipt::{Besides, Receipt, ReceiptMetadata, receipt};
pub use saved::{PlanError, read};
pub use table::{names, plan_table, receipt_table, receipt_totals};
