//! The cheapest client: asks for the lists that an audit asks for, all at once, and throws away what comes.
//!
//! Protobuf, gzip or not, unpaged, resourceVersion unset. What comes is not even decompressed.

use std::{collections::BTreeSet, io, path::Path};

use http::{
    HeaderValue, Request,
    header::{ACCEPT, ACCEPT_ENCODING},
};
use http_body_util::BodyExt;
use kube::client::Body;
use kubectl_storage::{
    client::{ConnectionOptions, ListRequest, connect},
    model::Kind,
    rules::REGISTRY,
    sources::live,
};
use tokio::task::JoinSet;

/// What the API server's audit log calls it. Not curl: for that one the server pretty-prints.
pub const USER_AGENT: &str = "floor/1";

/// Fetches every list, in this content coding, and prints how many bytes came.
pub fn fetch(kubeconfig: &Path, coding: &str) -> io::Result<()> {
    rustls::crypto::ring::default_provider()
        .install_default()
        .map_err(|_| io::Error::other("there is a TLS provider already"))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let bytes = runtime.block_on(all(kubeconfig, coding))?;
    super::measure::say(&format!("{bytes} bytes"));
    Ok(())
}

async fn all(kubeconfig: &Path, coding: &str) -> io::Result<usize> {
    let coding = HeaderValue::from_str(coding).map_err(io::Error::other)?;
    let options = ConnectionOptions {
        kubeconfig: Some(kubeconfig.to_owned()),
        // kube would decompress.
        disable_compression: true,
        ..ConnectionOptions::default()
    };
    let client = connect(&options, USER_AGENT).await.map_err(io::Error::other)?.client;
    let mut lists = JoinSet::new();
    for path in paths() {
        let (client, coding) = (client.clone(), coding.clone());
        lists.spawn(async move {
            let request = Request::get(path)
                .header(ACCEPT, "application/vnd.kubernetes.protobuf")
                .header(ACCEPT_ENCODING, coding)
                .body(Body::empty())
                .map_err(io::Error::other)?;
            let response = client.send(request).await.map_err(io::Error::other)?;
            if !response.status().is_success() {
                return Err(io::Error::other(format!("the server said {}", response.status())));
            }
            let (mut body, mut bytes) = (response.into_body(), 0);
            while let Some(frame) = body.frame().await {
                bytes += frame.map_err(io::Error::other)?.data_ref().map_or(0, bytes::Bytes::len);
            }
            Ok(bytes)
        });
    }
    let mut bytes = 0;
    while let Some(list) = lists.join_next().await {
        bytes += list.map_err(io::Error::other)??;
    }
    Ok(bytes)
}

/// What an audit lists. That it is the same is checked against the API server's audit log.
fn paths() -> impl Iterator<Item = String> {
    let kinds: BTreeSet<Kind> = REGISTRY.iter().flat_map(|rule| rule.looks_at()).collect();
    // The custom resources among them are not installed.
    let served = |kind: &Kind| {
        !kind.is_optional() || *kind == Kind::VolumeAttributesClass || kind.is_of_guard()
    };
    kinds.into_iter().filter(move |kind| kind.is_listed() && served(kind)).flat_map(|kind| {
        let path = ListRequest::of(kind, kind.group().version).path();
        match kind {
            Kind::Event => {
                let escaped = |it: &str| it.replace('=', "%3D").replace(',', "%2C");
                let one = |it: &str| format!("{path}?fieldSelector={}", escaped(it));
                live::EVENTS.into_iter().map(one).collect()
            }
            _ => vec![path],
        }
    })
}
