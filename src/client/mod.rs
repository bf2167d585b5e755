//! The client of an API server: connections, requests that only read, lists and watches.
//!
//! - Connecting as kubectl does: `kubeconfig` with kubectl's flags, `connection`, `credential`,
//!   `certificate`, `proxy_environment`.
//! - Requests: `api_request` with the checks that nothing is written and that the answer is the
//!   object, `reader` with its retries, `read_limits`, `read_error`, `decoding`.
//! - What is asked: `reviews`, `discovery`, and `unserved` with the proof that a kind is not served.
//! - Collections: `list`, `watch`, and [`stream`] with the decoders of lists. None of these knows
//!   the types that it decodes: `decoding` is handed in.

mod api_request;
mod certificate;
mod connection;
mod credential;
mod decoding;
mod discovery;
mod kubeconfig;
mod list;
mod proxy_environment;
mod read_error;
mod read_limits;
mod reader;
mod reviews;
pub(crate) mod stream;
mod unserved;
mod watch;

#[cfg(test)]
mod tests;

#[cfg(test)]
pub(crate) use {read_limits::ReadLimits, tests::server as test_server};

pub use connection::{Connection, connect};
pub use kubeconfig::{ConnectError, ConnectionOptions, context_names, current_context};
pub use list::ListRequest;
pub use reader::Reader;

pub(crate) use api_request::{ObjectRequest, collection_path, object_path};
pub(crate) use decoding::{Decoding, ErrorStatus};
pub(crate) use discovery::{ServedVersion, ServerVersion, cluster_uid, discover, version};
pub(crate) use kubeconfig::RequestTimeout;
pub(crate) use list::{FALLBACK_PAGE, ListEvent, ListForm, ListSink, list, list_json};
pub(crate) use proxy_environment::ProxyEnv;
pub(crate) use read_error::ReadError;
pub(crate) use reader::{DatedAnswer, date, is_of_api_server};
pub(crate) use reviews::{AccessReview, ResourceAttributes, is_allowed, may_get, review_token};
pub(crate) use unserved::{Discovery, OwnerResource, is_still_unserved};
pub(crate) use watch::{Watch, WatchEvent, watch};
