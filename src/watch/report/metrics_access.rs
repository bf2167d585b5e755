//! Who may read the metrics: whoever may `get` the path `/metrics` of the API server.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use sha2::{Digest as _, Sha256};
use tokio::time::timeout;

use crate::client::{ReadError, Reader, may_get, review_token};

/// How long an answer counts.
const COUNTS: Duration = Duration::from_secs(60);
/// How long the API server may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How many tokens are remembered.
const MOST: usize = 256;
const PATH: &str = "/metrics";

/// Whether whoever has a token may read the metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MetricsAccess {
    /// Yes.
    Allowed,
    /// It is nobody's token.
    Unauthorized,
    /// It is somebody's who may not.
    Forbidden,
}

/// Asks the API server, and remembers its answers for a while.
pub(super) struct MetricsReviewer {
    reader: Reader,
    /// By the digest of the token.
    known: Mutex<BTreeMap<[u8; 32], (Instant, MetricsAccess)>>,
}

/// Why nobody knows.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReviewFailure {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("the API server does not answer")]
    Silent,
}

impl MetricsReviewer {
    /// Asks with this reader.
    pub(super) fn new(reader: Reader) -> Self {
        Self { reader, known: Mutex::default() }
    }

    /// Whether whoever has this token may read the metrics.
    ///
    /// # Errors
    /// When the API server does not tell, such as for want of the right to ask it.
    pub(super) async fn review(&self, token: &str) -> Result<MetricsAccess, ReviewFailure> {
        let digest: [u8; 32] = Sha256::digest(token).into();
        let now = Instant::now();
        {
            let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((_, access)) =
                known.get(&digest).filter(|(at, _)| now.duration_since(*at) < COUNTS)
            {
                return Ok(*access);
            }
        }
        let asked = timeout(PATIENCE, self.ask(token)).await;
        let access = asked.map_err(|_| ReviewFailure::Silent)??;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, (at, _)| now.duration_since(*at) < COUNTS);
        if known.len() < MOST {
            known.insert(digest, (now, access));
        }
        Ok(access)
    }

    async fn ask(&self, token: &str) -> Result<MetricsAccess, ReadError> {
        let Some(user) = review_token(&self.reader, token).await? else {
            return Ok(MetricsAccess::Unauthorized);
        };
        Ok(match may_get(&self.reader, &user, PATH).await? {
            true => MetricsAccess::Allowed,
            false => MetricsAccess::Forbidden,
        })
    }
}
