//! The road to the API server: connecting as kubectl does, reading with patience, decoding lists as they arrive.

mod certificate;
mod connect_error;
mod connection;
mod credential;
mod decoding;
mod discovery;
mod exec;
mod kubeconfig;
mod list;
mod opened;
mod proxy;
mod question;
mod read_error;
mod reader;
mod request_timeout;
mod retry;
mod status;
pub mod stream;
mod watch;

#[cfg(test)]
mod tests;

#[cfg(test)]
pub(crate) use tests::server as test_server;

pub use connect_error::ConnectError;
pub use connection::{Connection, ConnectionOptions, connect};
pub use decoding::Decoding;
pub use discovery::{
    Served, ServedKinds, ServedVersion, ServerVersion, cluster_uid, discover, version,
};
pub use exec::ExecError;
pub(super) use list::encode;
pub use list::{FALLBACK_PAGE, ListEvent, ListRequest, ListSink, Listed, Moment, list};
pub use opened::date;
pub use question::Review;
pub use read_error::{ReadError, TlsFault};
pub use reader::{Answer, Reader};
pub use request_timeout::RequestTimeout;
pub use retry::Limits;
pub use status::refusal;
pub use watch::{Watch, WatchEvent, watch};
