//! Carries out confirmed plans: the only code that writes to a cluster.
//!
//! # How a change is carried out
//!
//! 1. The object and those that it references are read again, and what the watches have brought is
//!    taken in. The change is proposed again, by the same code that made the plan: anything but
//!    the identical proposal is *stale*, and nothing is sent.
//! 2. The request is rendered from the object just read ([`request`]): a JSON patch that tests uid,
//!    resourceVersion and every field on which the decision rests, or a DELETE with preconditions.
//! 3. It is sent as a dry run: admission and RBAC may still refuse it. Of changes that only remove
//!    owner references, this is done in each namespace until one is accepted.
//! 4. The intent is appended to the journal, with the object as it was, and is on disk before the
//!    next step.
//! 5. The request is sent once. It is never sent again, whatever the answer is. Where the volume
//!    object is deleted and its backend volume is kept, the record in the cluster is written first,
//!    and reverted if the request is not carried out.
//! 6. The effect of the write is verified by watches; at the deadline the outcome is *pending*.
//!
//! Changes of one driver are made one after the other. Where no other change reads what a change
//! writes, several are made at the same time, and the next one begins while the effect of others
//! settles ([`ProposedChange::settles_apart`]); what they append to the journal waits for the disk
//! together, and what they ask is asked together. The first outcome with an unknown cause (no answer, an error of the server) ends the batch: what has
//! not been sent by then is not sent. The guard's policies are written by `guard`, one after the
//! other, in the same way.
//!
//! [`ProposedChange::settles_apart`]: crate::plan::ProposedChange::settles_apart

mod beside;
mod config_map;
mod current_cluster;
mod event;
mod guard;
mod journal;
mod kept_record;
mod lease;
mod open_report;
mod receipt;
mod record_writer;
pub mod request;
mod run;
mod step;
mod turn;
mod verify;
mod writer;

pub(crate) use beside::{BesideReader, LiveBeside, SavedBeside, named_storage};
pub(crate) use config_map::{ConfigMapWrite, StoredConfigMap};
pub(crate) use current_cluster::CurrentCluster;
pub(crate) use event::{EventWriter, FindingNotice, NoticeEnd, NoticeError};
pub(crate) use guard::GuardWriter;
pub use journal::{JournalLeader, OpenJournal, cluster_history};
pub(crate) use journal::{cluster_journal, journal_namespaces};
pub(crate) use lease::{
    LEASE_GAP, LeaseHold, LeaseWrite, LeaseWriter, StoredLease, Unattended, leases,
};
pub(crate) use open_report::{
    OpenReport, OpenReportError, OpenReportWriter, ReportWrite, StoredReport, written_for_scope,
};
pub(crate) use receipt::{ChangeReceipt, DryRun, Moment, Outcome, Receipt, RunOptions};
pub(crate) use record_writer::RecordWriter;
pub(crate) use run::{Confirmed, PlanExecution, RunProgress, run, run_id};
pub(crate) use writer::{BACKGROUND_WAIT, SendPermit};
