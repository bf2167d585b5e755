//! The client of an API server: connections, requests that only read, lists and watches.
//!
//! - Connecting as kubectl does: `connection_options`, `kubeconfig`, `connection`, `credential`,
//!   `credential_plugin`, `certificate`, `proxy_environment`, `request_timeout`, `connect_error`.
//! - Requests: `api_request` with the check that nothing is written, `api_path`, `reader` with its
//!   retries, `read_limits`, `open_response`, `read_error`, `error_status`, `protobuf_envelope`.
//! - What is asked: `access_review`, `discovery`.
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
mod open_response;
mod protobuf_envelope;
mod proxy_environment;
mod read_error;
mod read_limits;
mod reader;
mod request_timeout;
pub mod stream;
mod watch;

#[cfg(test)]
mod tests;

#[cfg(test)]
pub(crate) use tests::server as test_server;

pub use access_review::{AccessReview, ResourceAttributes, is_allowed};
pub use api_path::object_path;
pub use connect_error::ConnectError;
pub use connection::{Connection, connect};
pub use connection_options::ConnectionOptions;
pub use credential_plugin::ExecError;
pub use decoding::Decoding;
pub use discovery::{
    Served, ServedKinds, ServedVersion, ServerVersion, cluster_uid, discover, version,
};
pub use error_status::refusal;
pub use list::{FALLBACK_PAGE, ListEvent, ListRequest, ListSink, Listed, list};
pub use open_response::date;
pub use read_error::{ReadError, TlsFault};
pub use read_limits::ReadLimits;
pub use reader::{DatedAnswer, Reader};
pub use request_timeout::RequestTimeout;
pub use watch::{Watch, WatchEvent, watch};
