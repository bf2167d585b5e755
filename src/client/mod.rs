//! The client of an API server: connections, requests that only read, lists and watches.
//!
//! - Connecting as kubectl does: `connection_options`, `kubeconfig`, `connection`, `credential`,
//!   `credential_plugin`, `certificate`, `proxy_environment`, `request_timeout`, `connect_error`.
//! - Requests: `api_request` with the check that nothing is written, `api_path`, `object_request`
//!   with the check that the answer is the object, `reader` with its retries, `read_limits`, `open_response`, `read_error`, `error_status`, `protobuf_envelope`.
//! - What is asked: `access_review`, `token_review`, `discovery`, and `unserved` with the proof that
//!   a kind is not served.
//! - Collections: `list`, `watch`, and [`stream`] with the decoders of lists. None of these knows
//!   the types that it decodes: `decoding` is handed in.

mod access_review;
mod api_path;
mod api_request;
mod certificate;
mod connect_error;
mod connection;
mod connection_options;
mod credential;
mod credential_plugin;
mod decoding;
mod discovery;
mod error_status;
mod kubeconfig;
mod list;
mod object_request;
mod open_response;
mod protobuf_envelope;
mod proxy_environment;
mod read_error;
mod read_limits;
mod reader;
mod request_timeout;
mod token_review;
pub(crate) mod stream;
mod unserved;
mod watch;

#[cfg(test)]
mod tests;

#[cfg(test)]
pub(crate) use {read_limits::ReadLimits, tests::server as test_server};

pub use connection::{Connection, connect};
pub use connection_options::ConnectionOptions;
pub use list::ListRequest;
pub use reader::Reader;
pub(crate) use reader::is_of_api_server;

pub(crate) use access_review::{AccessReview, ResourceAttributes, is_allowed};
pub(crate) use api_path::{collection_path, object_path};
pub(crate) use decoding::Decoding;
pub(crate) use discovery::{ServedVersion, ServerVersion, cluster_uid, discover, version};
pub(crate) use error_status::ErrorStatus;
pub(crate) use list::{FALLBACK_PAGE, ListEvent, ListForm, ListSink, list, list_json};
pub(crate) use object_request::ObjectRequest;
pub(crate) use open_response::date;
pub(crate) use proxy_environment::ProxyEnv;
pub(crate) use read_error::ReadError;
pub(crate) use request_timeout::RequestTimeout;
pub(crate) use token_review::{may_get, review_token};
pub(crate) use unserved::{Discovery, OwnerResource, is_still_unserved};
pub(crate) use watch::{Watch, WatchEvent, watch};
