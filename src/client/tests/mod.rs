//! Tests of the client, with bytes and with a server in this process.

mod connection;
mod credential_plugin;
mod list;
mod reader;
pub(crate) mod server;
mod stream;
