//! Connects to a cluster as kubectl does.

use super::{Failure, args::ConnectionArgs};
use crate::client::{self, Connection};

const USER_AGENT: &str = concat!("kubectl-storage/", env!("CARGO_PKG_VERSION"));

/// Prepares a connection; the namespace is what `-n` said.
pub(super) async fn connect(
    connection: &ConnectionArgs,
    namespace: Option<&str>,
) -> Result<Connection, Failure> {
    let connected = client::connect(&connection.options(namespace), USER_AGENT).await;
    connected.map_err(|error| {
        let hint = error.hint();
        Failure::error(error).hint(hint)
    })
}
