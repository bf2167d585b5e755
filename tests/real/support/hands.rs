//! Whoever else acts in a cluster: the API server by hand, since a kubectl for everything would be too many.

use std::time::Duration;

use http::{Method, Request};
use kube::Client;
use serde_json::Value;
use tokio::time::sleep;

use super::request;

/// Tries of a request that the server did not understand to be one: a busy machine loses some.
const TRIES: u32 = 5;

/// Sends a request; the refusal's code where it is refused.
pub(crate) async fn send(
    client: &Client,
    method: Method,
    path: &str,
    content: &str,
    body: &Value,
) -> Result<Value, u16> {
    for again in 0.. {
        match client.request(request(method.clone(), path, content, body)).await {
            Ok(answer) => return Ok(answer),
            Err(kube::Error::Api(status)) if status.code < 500 && status.code != 429 => {
                return Err(status.code);
            }
            Err(error) if again >= TRIES => panic!("{method} {path}: {error}"),
            Err(_) => sleep(Duration::from_millis(500)).await,
        }
    }
    unreachable!("the loop has no end of its own")
}

/// Asks a question in somebody's name, so that the audit log has it.
pub(crate) async fn mark(client: &Client, user: &str, question: &str) {
    let request = Request::get(question)
        .header("Impersonate-User", user)
        .body(Vec::new())
        .expect("because paths are plain");
    // What is answered does not matter.
    let _ = client.request::<Value>(request).await;
}
