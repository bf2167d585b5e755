//! The policy file while it is in force.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tokio::time::sleep;
use tracing::{error, info};

use crate::model::escape_control;
use crate::watch::policy::{PolicyFile, Reloaded, WatchPolicy};

/// How often the file is looked at.
const INTERVAL: Duration = Duration::from_secs(2);

/// Looks at the file for ever, hands over each policy that is accepted, and logs what is not.
pub(super) async fn reload(
    mut file: PolicyFile,
    policies: mpsc::Sender<Arc<WatchPolicy>>,
) -> Infallible {
    loop {
        sleep(INTERVAL).await;
        // A file system may be slow.
        let look = spawn_blocking(move || {
            let found = file.reload();
            (file, found)
        });
        let Ok((looked, found)) = look.await else { std::future::pending().await };
        file = looked;
        let policy = file.source().name();
        let policy = escape_control(&policy);
        match found {
            Reloaded::Same => {}
            Reloaded::New(accepted) => {
                // The loop says when it is in force; it ends together with this.
                let _ = policies.send(Arc::new(*accepted)).await;
            }
            Reloaded::Restored => info!(%policy, "the file holds the policy in force again"),
            Reloaded::Refused(wrong) => {
                for line in wrong.lines() {
                    error!("{}", escape_control(&line));
                }
                error!(%policy, "the file is refused; the policy in force stays");
            }
        }
    }
}
