//! Who may read the metrics: whoever may `get` the path `/metrics` of the API server.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use sha2::{Digest as _, Sha256};
use tokio::time::timeout;

use super::token_bucket::TokenBucket;
use crate::client::{ReadError, Reader, may_get, review_token};

/// How long an answer counts.
const COUNTS: Duration = Duration::from_secs(60);
/// How long the API server may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long whoever was allowed to read is asked about at once.
const WELCOME: Duration = Duration::from_secs(3600);
/// How many tokens are remembered.
const MOST: usize = 256;
/// Of so many tokens that nobody knows the API server is asked at once for each address, and then of one every so often: it
/// has other things to answer, such as who leads.
const STRANGERS: u32 = 10;
const EVERY: Duration = Duration::from_secs(2);
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
    known: Mutex<KnownTokens>,
}

/// What is known of tokens.
struct KnownTokens {
    /// By the digest of the token.
    answers: BTreeMap<[u8; 32], (Instant, MetricsAccess)>,
    /// By the address of who has them: one that sends many keeps no other one out.
    strangers: BTreeMap<IpAddr, TokenBucket>,
}

impl KnownTokens {
    /// What counts of this token now; `Err` where it may not be asked about now.
    fn look(
        &mut self,
        digest: &[u8; 32],
        peer: IpAddr,
        now: Instant,
    ) -> Result<Option<MetricsAccess>, ()> {
        match self.answers.get(digest) {
            Some((at, access)) if now.duration_since(*at) < COUNTS => return Ok(Some(*access)),
            Some((_, MetricsAccess::Allowed)) => return Ok(None),
            Some(_) | None => {}
        }
        if self.strangers.len() >= MOST && !self.strangers.contains_key(&peer) {
            // Whoever has not asked for a while may ask at once again.
            self.strangers.retain(|_, bucket| !bucket.is_full(now));
            if self.strangers.len() >= MOST {
                return Err(());
            }
        }
        let bucket =
            self.strangers.entry(peer).or_insert_with(|| TokenBucket::new(STRANGERS, EVERY));
        if bucket.take(now).is_zero() {
            return Ok(None);
        }
        bucket.give_back();
        Err(())
    }

    /// Remembers an answer. Those who may not read make room for those who may.
    fn remember(&mut self, digest: [u8; 32], now: Instant, access: MetricsAccess) {
        let counts = |access| if access == MetricsAccess::Allowed { WELCOME } else { COUNTS };
        self.answers.retain(|_, (at, access)| now.duration_since(*at) < counts(*access));
        if self.answers.len() >= MOST && access == MetricsAccess::Allowed {
            let refused = |it: &(&[u8; 32], &(Instant, MetricsAccess))| it.1.1 != access;
            let refused = self.answers.iter().find(refused).map(|(digest, _)| *digest);
            refused.and_then(|it| self.answers.remove(&it));
        }
        if self.answers.len() < MOST || self.answers.contains_key(&digest) {
            self.answers.insert(digest, (now, access));
        }
    }
}

/// Why nobody knows.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReviewFailure {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("the API server does not answer")]
    Silent,
    #[error("the API server was asked about too many tokens that nobody knows")]
    TooMany,
}

impl MetricsReviewer {
    /// Asks with this reader.
    pub(super) fn new(reader: Reader) -> Self {
        let known = KnownTokens { answers: BTreeMap::new(), strangers: BTreeMap::new() };
        Self { reader, known: Mutex::new(known) }
    }

    /// Whether whoever has this token may read the metrics, who asks from an address.
    ///
    /// # Errors
    /// When the API server does not tell, such as for want of the right to ask it.
    pub(super) async fn review(
        &self,
        token: &str,
        peer: IpAddr,
    ) -> Result<MetricsAccess, ReviewFailure> {
        let digest: [u8; 32] = Sha256::digest(token).into();
        let now = Instant::now();
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(access) =
            known().look(&digest, peer, now).map_err(|()| ReviewFailure::TooMany)?
        {
            return Ok(access);
        }
        let asked = timeout(PATIENCE, self.ask(token)).await;
        let access = asked.map_err(|_| ReviewFailure::Silent)??;
        known().remember(digest, now, access);
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
