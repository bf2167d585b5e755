//! Requests that a bench sends by itself, past the tool.

use std::{io, path::Path};

use http::{Request, header::CONTENT_TYPE};
use http_body_util::BodyExt as _;
use kube::client::{Body, Client};
use kubectl_storage::client::{ConnectionOptions, connect};
use serde_json::Value;

const USER_AGENT: &str = "bench/1";

/// A connection of the tool's own making. Call it once: it sets the TLS provider of the process.
pub async fn client(kubeconfig: &Path) -> io::Result<Client> {
    rustls::crypto::ring::default_provider()
        .install_default()
        .map_err(|_| io::Error::other("there is a TLS provider already"))?;
    let options = ConnectionOptions {
        kubeconfig: Some(kubeconfig.to_owned()),
        ..ConnectionOptions::default()
    };
    Ok(connect(&options, USER_AGENT).await.map_err(io::Error::other)?.client)
}

/// Sends one request, and returns what was answered. An answer that is no success is an error.
pub async fn send(
    client: &Client,
    method: &str,
    path: &str,
    kind: &str,
    body: &Value,
) -> io::Result<Value> {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(CONTENT_TYPE, kind)
        .body(Body::from(body.to_string().into_bytes()))
        .map_err(io::Error::other)?;
    let response = client.send(request).await.map_err(io::Error::other)?;
    let status = response.status();
    let body = response.into_body().collect().await.map_err(io::Error::other)?.to_bytes();
    if !status.is_success() {
        let said = String::from_utf8_lossy(&body);
        return Err(io::Error::other(format!("{method} {path}: {status} {said}")));
    }
    Ok(serde_json::from_slice(&body)?)
}
