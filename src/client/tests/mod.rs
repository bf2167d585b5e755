//! Tests of the client, against bytes and against a server in this process.

mod connection;
mod exec;
mod list;
mod namespaces;
mod reader;
mod server;
mod stream;
mod watches;
