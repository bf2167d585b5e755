//! Tests of lists and watches that a server in this process answers.

mod namespaces;
mod watches;
