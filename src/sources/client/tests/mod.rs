//! Tests of the client, against bytes and against a server in this process.

mod stream;
