//! Discovery: the kinds that a server serves, its version, and the identity of its cluster.
//!
//! That a kind is absent from discovery proves nothing by itself: `unserved` has the proof.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::join_all;
use serde::Deserialize;

use super::api_request::{Accept, ObjectRequest};
use super::read_error::ReadError;
use super::read_limits::Patience;
use super::reader::{DatedAnswer, Reader, from_json};
use crate::model::Kind;

/// The resources that a server serves, with their versions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServedKinds {
    served: BTreeMap<(String, String), Vec<ServedVersion>>,
    /// Groups that could not be discovered completely, for instance because their aggregated server
    /// is down.
    unseen: BTreeSet<String>,
    /// Reason for which the server may serve more than it lists: it has not said that it is ready.
    unready: Option<String>,
}

/// One version of a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedVersion {
    /// The version, such as `v1`.
    pub version: String,
    /// The kind, such as `PersistentVolume`.
    pub kind: String,
    /// Whether objects of the resource live in namespaces.
    pub namespaced: bool,
}

/// The version of an API server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerVersion {
    /// The major version that the server behaves like.
    pub major: u32,
    /// The minor version that the server behaves like: the emulated one, if it emulates one.
    pub minor: u32,
    /// The whole version as the server writes it.
    pub git: String,
}

impl ServedKinds {
    /// Returns the versions of a resource, preferred first; `None` where it is not listed.
    pub fn versions(&self, group: &str, resource: &str) -> Option<&[ServedVersion]> {
        self.served.get(&(group.to_owned(), resource.to_owned())).map(Vec::as_slice)
    }

    /// Returns the versions of a group.
    pub(super) fn versions_of_group(&self, group: &str) -> BTreeSet<&str> {
        let of_group = self.all().filter(|(known, ..)| *known == group);
        of_group
            .flat_map(|(_, _, versions)| versions.iter().map(|it| it.version.as_str()))
            .collect()
    }

    /// Returns every group and resource, with its versions.
    pub fn all(&self) -> impl Iterator<Item = (&str, &str, &[ServedVersion])> {
        self.served.iter().map(|((group, resource), versions)| {
            (group.as_str(), resource.as_str(), versions.as_slice())
        })
    }

    /// Returns the resources of a kind in a group, with their versions, and no subresources.
    pub fn of_kind(&self, group: &str, kind: &str) -> Vec<(&str, &ServedVersion)> {
        let of_group =
            self.all().filter(|(known, resource, _)| *known == group && !resource.contains('/'));
        let versions = of_group.flat_map(|(_, resource, versions)| {
            versions.iter().map(move |version| (resource, version))
        });
        versions.filter(|(_, version)| version.kind == kind).collect()
    }

    /// Returns why a group may hold more than was discovered; `None` where that has yet to be
    /// proven.
    pub(super) fn doubt(&self, group: &str) -> Option<String> {
        match self.unseen.contains(group) {
            true => Some(format!("the resources of {group} could not be read")),
            false => self.unready.clone(),
        }
    }

    fn add(&mut self, group: &str, resource: &str, version: ServedVersion) {
        self.served.entry((group.to_owned(), resource.to_owned())).or_default().push(version);
    }
}

/// Discovers what is served: in two requests if the server can aggregate (1.26 and later), else in
/// one request for each group version.
///
/// # Errors
///
/// [`ReadError`] if `/api` or `/apis` cannot be read. A group that cannot be read is unknown.
pub async fn discover(reader: &Reader) -> Result<ServedKinds, ReadError> {
    // Before anything else: whoever is not ready yet may leave out every custom resource.
    let mut kinds = ServedKinds { unready: unready(reader).await, ..ServedKinds::default() };
    for path in ["/api", "/apis"] {
        let (content_type, body) = reader.document(path, Accept::Discovery, Patience::Full).await?;
        if content_type.contains("as=APIGroupDiscoveryList") {
            kinds.add_aggregated(from_json(path, &body)?);
        } else if path == "/api" {
            let core: LegacyCoreVersions = from_json(path, &body)?;
            let versions =
                core.versions.into_iter().map(|version| format!("/api/{version}")).collect();
            kinds.add_legacy(reader, vec![(String::new(), versions)]).await;
        } else {
            let groups: LegacyGroupList = from_json(path, &body)?;
            kinds
                .add_legacy(
                    reader,
                    groups.groups.into_iter().map(LegacyGroup::by_preference).collect(),
                )
                .await;
        }
    }
    Ok(kinds)
}

/// Returns why the server may serve more than it lists.
///
/// For half a second after its start an API server lists no custom resources and calls that current;
/// `/readyz` says 500 meanwhile. Where that may not be asked, its own 404 says as much by itself
/// (`is_of_api_server`).
async fn unready(reader: &Reader) -> Option<String> {
    let mut attempts = 0;
    loop {
        attempts += 1;
        let error = match reader.document("/readyz", Accept::Json, Patience::Full).await {
            Ok((_, body)) if body.trim_ascii() == b"ok" => return None,
            Ok(_) => return Some("/readyz is not answered by an API server".to_owned()),
            Err(error) if error.is_forbidden() => return None,
            Err(error) => error,
        };
        let code = error.code();
        if code != Some(500) || attempts >= reader.limits().attempts {
            return Some(match code {
                Some(code) => format!("the API server is not ready: /readyz answers {code}"),
                None => error.to_string(),
            });
        }
        tokio::time::sleep(reader.limits().own_pause(attempts)).await;
    }
}

/// Reads the version of the server.
///
/// # Errors
///
/// [`ReadError`], also if the answer has no version number.
pub async fn version(reader: &Reader) -> Result<DatedAnswer<ServerVersion>, ReadError> {
    let DatedAnswer { value, date } = reader.get_json::<VersionInfo>("/version").await?;
    let value = value
        .parse()
        .ok_or_else(|| ReadError::undecodable("/version", &"it contains no version number"))?;
    Ok(DatedAnswer { value, date })
}

/// Reads the uid of the namespace kube-system, which identifies a cluster; `None` if that is
/// forbidden.
///
/// # Errors
///
/// [`ReadError`], except that access was denied.
pub async fn cluster_uid(reader: &Reader) -> Result<Option<String>, ReadError> {
    let namespace = ObjectRequest::named(Kind::Namespace, None, "kube-system");
    match reader.get_metadata::<KubeSystem>(&namespace).await {
        Ok(answer) => Ok(Some(answer.value.metadata.uid)),
        Err(error) if error.is_forbidden() => Ok(None),
        Err(error) => Err(error),
    }
}

#[derive(Deserialize)]
struct KubeSystem {
    metadata: KubeSystemMetadata,
}

#[derive(Deserialize)]
struct KubeSystemMetadata {
    uid: String,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct VersionInfo {
    major: String,
    minor: String,
    emulation_major: String,
    emulation_minor: String,
    git_version: String,
}

impl VersionInfo {
    fn parse(self) -> Option<ServerVersion> {
        let stated = number(&self.emulation_major).zip(number(&self.emulation_minor));
        let stated = stated.or_else(|| number(&self.major).zip(number(&self.minor)));
        let (major, minor) = stated.or_else(|| {
            let mut parts = self.git_version.trim_start_matches('v').split('.');
            number(parts.next()?).zip(number(parts.next()?))
        })?;
        Some(ServerVersion { major, minor, git: self.git_version })
    }
}

/// Returns the number at the beginning of a text: some providers write `31+`.
fn number(text: &str) -> Option<u32> {
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct AggregatedDiscovery {
    items: Vec<AggregatedGroup>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct AggregatedGroup {
    metadata: GroupMetadata,
    versions: Vec<AggregatedVersion>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct GroupMetadata {
    name: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct AggregatedVersion {
    version: String,
    freshness: String,
    resources: Vec<AggregatedResource>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct AggregatedResource {
    resource: String,
    scope: String,
    response_kind: ResponseKind,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ResponseKind {
    kind: String,
}

#[derive(Deserialize)]
struct LegacyCoreVersions {
    versions: Vec<String>,
}

#[derive(Deserialize)]
struct LegacyGroupList {
    groups: Vec<LegacyGroup>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LegacyGroup {
    name: String,
    versions: Vec<LegacyGroupVersion>,
    preferred_version: Option<LegacyGroupVersion>,
}

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "camelCase")]
struct LegacyGroupVersion {
    group_version: String,
}

/// The resources of one version of a group.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LegacyResourceList {
    pub(super) group_version: String,
    #[serde(default)]
    pub(super) resources: Vec<LegacyResource>,
}

/// A resource of one version of a group.
#[derive(Deserialize)]
pub(super) struct LegacyResource {
    pub(super) name: String,
    pub(super) kind: String,
    namespaced: bool,
}

impl LegacyGroup {
    /// Returns the name of the group and the paths of its versions, preferred first.
    fn by_preference(mut self) -> (String, Vec<String>) {
        let preferred = self.preferred_version.take();
        self.versions.sort_by_key(|version| Some(version) != preferred.as_ref());
        let paths = self
            .versions
            .into_iter()
            .map(|version| format!("/apis/{}", version.group_version))
            .collect();
        (self.name, paths)
    }
}

impl ServedKinds {
    fn add_aggregated(&mut self, list: AggregatedDiscovery) {
        for group in list.items {
            let name = group.metadata.name;
            for AggregatedVersion { version, freshness, resources } in group.versions {
                // A stale document may leave out resources that are served.
                if freshness == "Stale" {
                    self.unseen.insert(name.clone());
                }
                for AggregatedResource { resource, scope, response_kind } in resources {
                    let namespaced = scope == "Namespaced";
                    let version = ServedVersion {
                        version: version.clone(),
                        kind: response_kind.kind,
                        namespaced,
                    };
                    self.add(&name, &resource, version);
                }
            }
        }
    }

    async fn add_legacy(&mut self, reader: &Reader, groups: Vec<(String, Vec<String>)>) {
        for (group, paths) in groups {
            // Not retried: an aggregated server that is down stays down.
            let documents = join_all(
                paths.iter().map(|path| reader.document(path, Accept::Json, Patience::Once)),
            )
            .await;
            for (path, document) in paths.iter().zip(documents) {
                match document.and_then(|(_, body)| from_json::<LegacyResourceList>(path, &body)) {
                    Ok(list) => self.add_resources(&group, list),
                    Err(_) => {
                        self.unseen.insert(group.clone());
                    }
                }
            }
        }
    }

    fn add_resources(&mut self, group: &str, list: LegacyResourceList) {
        let version = list.group_version.rsplit('/').next().unwrap_or_default().to_owned();
        for LegacyResource { name, kind, namespaced } in list.resources {
            // A subresource has a slash in its name.
            if !name.contains('/') {
                self.add(
                    group,
                    &name,
                    ServedVersion { version: version.clone(), kind, namespaced },
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ServerVersion, VersionInfo};

    #[test]
    fn versions_are_read_as_providers_write_them() {
        for (text, minor) in [
            (r#"{"major":"1","minor":"36","gitVersion":"v1.36.3"}"#, 36),
            (r#"{"major":"1","minor":"31+","gitVersion":"v1.31.4-eks-abc"}"#, 31),
            (
                r#"{"major":"1","minor":"36","emulationMajor":"1","emulationMinor":"34","gitVersion":"v1.36.3"}"#,
                34,
            ),
            (r#"{"major":"","minor":"","gitVersion":"v1.29.0+k3s1"}"#, 29),
        ] {
            let info: VersionInfo =
                serde_json::from_str(text).expect("because the texts above are JSON");
            let git = info.git_version.clone();
            assert_eq!(info.parse(), Some(ServerVersion { major: 1, minor, git }), "{text}");
        }
        assert_eq!(VersionInfo::default().parse(), None);
    }
}
