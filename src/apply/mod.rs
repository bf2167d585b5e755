//! Door out: the only code that may write to a cluster.
//!
//! # How a change is carried out
//!
//! 1. The object and its claim are read anew, and whatever the watches of the lists have brought
//!    is taken in. The change is proposed again, by the same code that made the plan: anything but
//!    the identical proposal is *stale*, and nothing is sent.
//! 2. The request is rendered from the object just read ([`request`]): a JSON patch that tests uid,
//!    resourceVersion and every field that the decision rested on, or a DELETE with preconditions.
//! 3. It is sent as a dry run: admission and RBAC may still refuse.
//! 4. The intent goes to the journal, with the object as it was, and is on disk before
//! 5. the request is sent, once. It is never sent again, whatever comes back. Where the volume
//!    object goes and its backend volume stays, the record in the cluster is written first, and
//!    taken back if the request is not carried out.
//! 6. What follows is watched until it is verified, or until the deadline says *pending*.
//!
//! Changes of one driver are made one after the other. The first outcome that is not understood
//! (no answer, an error of the server) ends the batch.

mod created;
mod event;
mod finalizer;
mod kept;
mod receipt;
mod reclaim;
pub mod request;
mod run;
mod step;
mod verify;
mod view;
mod writer;

pub use receipt::{Done, Outcome, Receipt};
pub use request::{Request, Unfit};
pub use run::{Confirmed, DryRun, Options, Progress, Run, run};
pub use view::View;
use writer::Writer;
