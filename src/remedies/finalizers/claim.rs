//! The finalizers of claims.

use super::Asked;
use crate::cluster::{Cx, Seen};
use crate::model::{Claim, Effect, Proposal, Refusal};

/// Proposes or refuses to repair one.
///
/// # Errors
/// When something was not seen that the decision needs.
#[expect(clippy::unnecessary_wraps, reason = "the shape of every remedy")]
pub fn propose(_: &Cx, _: &Claim, _: &Asked) -> Seen<Result<Proposal, Refusal>> {
    let effect = Effect { what: String::new(), risk: String::new() };
    Ok(Err(Refusal { reason: "its finalizers are left alone".to_owned(), effect }))
}
