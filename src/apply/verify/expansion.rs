//! Waits until an expansion is complete: `status.capacity` follows the request after the driver has grown the backend
//! volume, and the kubelet its file system.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::{
    super::{Outcome, current_cluster::CurrentCluster},
    is_same,
    waits::{ASK_INTERVAL, CHECK_INTERVAL, unwaited},
};
use crate::facts::ExpansionProgress;
use crate::model::{Bytes, Claim, ObjectRef, format_duration, parse_quantity};
use crate::plan::{ProposedChange, Purpose};
use crate::remedies::quantity;

/// Whether an answer of the API server shows the requested size.
pub(in crate::apply) fn requests(to: Bytes, claim: &Value) -> bool {
    let shown = claim["spec"]["resources"]["requests"]["storage"].as_str();
    shown.and_then(parse_quantity) == Some(to)
}

/// Result of one look at a claim.
enum Look {
    /// Nothing more is to be waited for.
    Over(Outcome, String),
    /// The backend volume has grown, and its file system has not.
    OnNode(String),
    /// Something else is waited for.
    Waiting(String),
}

/// Verifies the request for a size, and waits until the claim has it.
pub(super) async fn verify(
    cluster: &CurrentCluster,
    change: &ProposedChange,
    (claim, to): (&ObjectRef, Bytes),
    written: &Value,
    wait: Option<Duration>,
) -> (Outcome, String) {
    if !requests(to, written) {
        let shown = &written["spec"]["resources"]["requests"]["storage"];
        return (Outcome::Pending, format!("the API server shows the request {shown}"));
    }
    if matches!(change.purpose, Purpose::LowerRequest(_)) {
        return (Outcome::Done, format!("{} is requested", quantity(to)));
    }
    let Some(wait) = wait else { return unwaited() };
    let (began, mut pause) = (Instant::now(), CHECK_INTERVAL);
    loop {
        let look = match cluster.read_alone(claim).await {
            Ok(Some(live)) if is_same(&live, claim) => {
                cluster.claim(&claim.key, |it| it.map(|it| look(it, to)))
            }
            Ok(_) => None,
            Err(error) => Some(Look::Waiting(error.to_string())),
        };
        let seen = match look {
            None => {
                return (Outcome::Pending, "another client deleted the claim meanwhile".to_owned());
            }
            Some(Look::Over(outcome, told)) => return (outcome, told),
            Some(Look::Waiting(seen)) => seen,
            Some(Look::OnNode(seen)) => match cluster.users_of(claim).await {
                Ok(users) if users.is_empty() => {
                    let told = format!("{seen} when a pod mounts it, and no pod does: start one");
                    return (Outcome::Pending, told);
                }
                Ok(users) => format!("{seen} by the kubelet of {}", users.join(", ")),
                Err(error) => format!("{seen} when a pod mounts it; pods are unknown: {error}"),
            },
        };
        if began.elapsed() >= wait {
            let waited = format_duration(wait);
            let error = cluster.last_error(&claim.key);
            let error = error.map_or_else(String::new, |it| format!("; last error: {it}"));
            return (Outcome::Pending, format!("not complete after {waited}: {seen}{error}"));
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(ASK_INTERVAL);
    }
}

fn look(claim: &Claim, to: Bytes) -> Look {
    if claim.requested != Some(to) {
        let now = claim.requested.map_or_else(|| "nothing".to_owned(), quantity);
        let told = format!("another client has changed the request meanwhile: it is {now}");
        return Look::Over(Outcome::Pending, told);
    }
    if let Some(capacity) = claim.capacity.filter(|it| *it >= to) {
        return Look::Over(Outcome::Done, format!("status.capacity is {}", quantity(capacity)));
    }
    match ExpansionProgress::of(claim) {
        ExpansionProgress::Failed(failed) if failed.is_infeasible => {
            let lowers = match failed.on_node {
                true => String::new(),
                false => "; `kubectl storage undo` lowers the request again".to_owned(),
            };
            Look::Over(Outcome::Failed, format!("{}{lowers}", failed.describe()))
        }
        ExpansionProgress::Failed(failed) => Look::Waiting(failed.describe()),
        ExpansionProgress::Node => {
            Look::OnNode("the backend volume has grown, and its file system is expanded".to_owned())
        }
        ExpansionProgress::Controller => {
            Look::Waiting("the driver is asked to grow the backend volume".to_owned())
        }
        ExpansionProgress::Requested | ExpansionProgress::Idle => {
            Look::Waiting("no controller has begun to expand the claim".to_owned())
        }
    }
}
