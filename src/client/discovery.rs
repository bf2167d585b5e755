//! What the server is and what it serves.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::join_all;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::question::Accept;
use super::read_error::ReadError;
use super::reader::{Answer, Reader};
use super::retry::Patience;

/// Which resources a server serves, and in which versions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServedKinds {
    served: BTreeMap<(String, String), Vec<ServedVersion>>,
    /// Groups of which something could not be found out, for instance because their aggregated server is down.
    unseen: BTreeSet<String>,
}

/// One version of a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedVersion {
    /// Such as `v1`.
    pub version: String,
    /// Such as `PersistentVolume`.
    pub kind: String,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// What can be done with it.
    pub verbs: Vec<String>,
}

/// Whether a resource is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Served<'a> {
    /// In these versions, preferred first; never empty.
    Versions(&'a [ServedVersion]),
    /// It is not.
    Not,
    /// That could not be found out.
    Unseen,
}

/// The version of an API server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerVersion {
    /// The major version whose behaviour is to be expected.
    pub major: u32,
    /// The minor version whose behaviour is to be expected: the emulated one, where one is.
    pub minor: u32,
    /// The whole version as the server writes it.
    pub git: String,
}

impl ServedKinds {
    /// Says whether and how a resource is served.
    pub fn served(&self, group: &str, resource: &str) -> Served<'_> {
        match self.served.get(&(group.to_owned(), resource.to_owned())) {
            Some(versions) => Served::Versions(versions),
            None if self.unseen.contains(group) => Served::Unseen,
            None => Served::Not,
        }
    }

    /// The groups of which something could not be found out.
    pub fn unseen(&self) -> impl Iterator<Item = &str> {
        self.unseen.iter().map(String::as_str)
    }

    /// Every resource of every group, with its versions.
    pub fn all(&self) -> impl Iterator<Item = (&str, &str, &[ServedVersion])> {
        self.served.iter().map(|((group, resource), versions)| {
            (group.as_str(), resource.as_str(), versions.as_slice())
        })
    }

    fn add(&mut self, group: &str, resource: &str, version: ServedVersion) {
        self.served.entry((group.to_owned(), resource.to_owned())).or_default().push(version);
    }
}

/// Finds out what is served, in two requests where the server can (1.26 and later), else in one for each group version.
///
/// # Errors
///
/// [`ReadError`] if `/api` or `/apis` cannot be read. A group that cannot is merely unseen.
pub async fn discover(reader: &Reader) -> Result<ServedKinds, ReadError> {
    let mut kinds = ServedKinds::default();
    for path in ["/api", "/apis"] {
        let (content_type, body) = reader.document(path, Accept::Discovery, Patience::Full).await?;
        if content_type.contains("as=APIGroupDiscoveryList") {
            kinds.add_aggregated(parse(path, &body)?);
        } else if path == "/api" {
            let core: CoreVersions = parse(path, &body)?;
            let versions =
                core.versions.into_iter().map(|version| format!("/api/{version}")).collect();
            kinds.add_legacy(reader, vec![(String::new(), versions)]).await;
        } else {
            let groups: GroupList = parse(path, &body)?;
            kinds
                .add_legacy(reader, groups.groups.into_iter().map(Group::by_preference).collect())
                .await;
        }
    }
    Ok(kinds)
}

/// Asks which version the server is.
///
/// # Errors
///
/// [`ReadError`], also if what it says is no version.
pub async fn version(reader: &Reader) -> Result<Answer<ServerVersion>, ReadError> {
    let Answer { value, date } = reader.get_json::<VersionInfo>("/version").await?;
    let value = value.parse().ok_or_else(|| ReadError::Undecodable {
        path: "/version".to_owned(),
        detail: "it holds no version number".to_owned(),
    })?;
    Ok(Answer { value, date })
}

/// Asks for the uid of the namespace kube-system, which serves as the identity of a cluster; `None` when we may not.
///
/// # Errors
///
/// [`ReadError`], except that access was denied.
pub async fn cluster_uid(reader: &Reader) -> Result<Option<String>, ReadError> {
    match reader.get_metadata::<Identified>("/api/v1/namespaces/kube-system").await {
        Ok(answer) => Ok(Some(answer.value.metadata.uid)),
        Err(error) if error.is_forbidden() => Ok(None),
        Err(error) => Err(error),
    }
}

#[derive(Deserialize)]
struct Identified {
    metadata: Uid,
}

#[derive(Deserialize)]
struct Uid {
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

/// The number at the beginning: some providers write `31+`.
fn number(text: &str) -> Option<u32> {
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Aggregated {
    items: Vec<AggregatedGroup>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct AggregatedGroup {
    metadata: Name,
    versions: Vec<AggregatedVersion>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Name {
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
    verbs: Vec<String>,
    response_kind: Kind,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Kind {
    kind: String,
}

#[derive(Deserialize)]
struct CoreVersions {
    versions: Vec<String>,
}

#[derive(Deserialize)]
struct GroupList {
    groups: Vec<Group>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Group {
    name: String,
    versions: Vec<GroupVersion>,
    preferred_version: Option<GroupVersion>,
}

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "camelCase")]
struct GroupVersion {
    group_version: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResourceList {
    group_version: String,
    #[serde(default)]
    resources: Vec<LegacyResource>,
}

#[derive(Deserialize)]
struct LegacyResource {
    name: String,
    kind: String,
    namespaced: bool,
    #[serde(default)]
    verbs: Vec<String>,
}

impl Group {
    /// The group, and the paths of its versions, preferred first.
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
    fn add_aggregated(&mut self, list: Aggregated) {
        for group in list.items {
            let name = group.metadata.name;
            for AggregatedVersion { version, freshness, resources } in group.versions {
                // What a stale document leaves out may well be served.
                if freshness == "Stale" {
                    self.unseen.insert(name.clone());
                }
                for AggregatedResource { resource, scope, verbs, response_kind } in resources {
                    let namespaced = scope == "Namespaced";
                    let version = ServedVersion {
                        version: version.clone(),
                        kind: response_kind.kind,
                        namespaced,
                        verbs,
                    };
                    self.add(&name, &resource, version);
                }
            }
        }
    }

    async fn add_legacy(&mut self, reader: &Reader, groups: Vec<(String, Vec<String>)>) {
        for (group, paths) in groups {
            // An aggregated server that is down stays down: once is enough.
            let documents = join_all(
                paths.iter().map(|path| reader.document(path, Accept::Json, Patience::Once)),
            )
            .await;
            for (path, document) in paths.iter().zip(documents) {
                match document.and_then(|(_, body)| parse::<ResourceList>(path, &body)) {
                    Ok(list) => self.add_resources(&group, list),
                    Err(_) => {
                        self.unseen.insert(group.clone());
                    }
                }
            }
        }
    }

    fn add_resources(&mut self, group: &str, list: ResourceList) {
        let version = list.group_version.rsplit('/').next().unwrap_or_default().to_owned();
        for LegacyResource { name, kind, namespaced, verbs } in list.resources {
            // A subresource has a slash in its name.
            if !name.contains('/') {
                self.add(
                    group,
                    &name,
                    ServedVersion { version: version.clone(), kind, namespaced, verbs },
                );
            }
        }
    }
}

fn parse<T: DeserializeOwned>(path: &str, body: &[u8]) -> Result<T, ReadError> {
    serde_json::from_slice(body).map_err(|error| ReadError::Undecodable {
        path: path.to_owned(),
        detail: error.to_string(),
    })
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
