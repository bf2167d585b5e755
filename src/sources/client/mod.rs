//! The road to the API server: connecting as kubectl does, reading with patience, decoding lists as they arrive.

mod certificate;
mod connect_error;
mod connection;
mod credential;
mod exec;
mod kubeconfig;
mod proxy;
mod read_error;
mod reader;
mod retry;
mod status;
pub mod stream;

#[cfg(test)]
mod tests;

pub use connect_error::ConnectError;
pub use connection::{Connection, ConnectionOptions, RequestTimeout, connect};
pub use exec::ExecError;
pub use read_error::{ReadError, TlsFault};
pub use reader::{Accept, Answer, Reader, Review};
pub use retry::Limits;
