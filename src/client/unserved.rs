//! `Discovery`: the versions in which kinds are served, and the proof that a kind is not served.
//!
//! A kind is not served only if the server was ready before, discovery leaves it out, and the server
//! itself answers 404 for it: to a list of it in each known version, or, where it may not be listed and for kinds of which
//! no version is known, to the document of its group. Anything else is unknown.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OnceCell;

use super::api_request::{Accept, api_version, collection_path};
use super::discovery::{LegacyResource, LegacyResourceList, ServedKinds, ServedVersion, discover};
use super::read_error::ReadError;
use super::read_limits::Patience;
use super::reader::{Reader, from_json};
use crate::model::{CustomKind, Kind};

/// Kinds that a server serves, discovered when one is asked for.
pub struct Discovery {
    reader: Reader,
    served: OnceCell<Result<ServedKinds, String>>,
    /// Resources of groups, as the documents of the groups list them.
    groups: Mutex<BTreeMap<String, Arc<OnceCell<GroupResources>>>>,
}

/// The resources of a group, by its own documents: none where the server says that there is no such
/// group. The error is why that is unknown.
type GroupResources = Result<Vec<LegacyResource>, String>;

/// Resource by which objects of a kind are asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OwnerResource {
    /// The kind is served as this resource, which may be namespaced.
    Served {
        /// The resource in the plural, such as `statefulsets`.
        resource: String,
        /// Whether objects of the resource live in namespaces.
        namespaced: bool,
    },
    /// The kind is served in another version only.
    Elsewhere {
        /// The version, such as `v1`.
        version: String,
    },
    /// The server does not serve the kind.
    NotServed,
}

impl Discovery {
    /// Prepares to discover what a server serves.
    pub fn new(reader: &Reader) -> Self {
        Self { reader: reader.clone(), served: OnceCell::new(), groups: Mutex::default() }
    }

    /// Returns the version in which a kind is read: the first that the server prefers and whose
    /// fields are known; `None` where it is proven that the kind is not served.
    ///
    /// # Errors
    ///
    /// Why that is unknown.
    pub async fn version_of(&self, kind: Kind) -> Result<Option<String>, String> {
        let group = kind.group();
        if !kind.is_optional() {
            return Ok(Some(group.version.to_owned()));
        }
        let kinds = self.kinds().await?;
        let Some(versions) = kinds.versions(group.name, kind.plural()) else {
            let unserved = self.prove_unserved(kinds, kind).await;
            return unserved.map(|()| None).map_err(|reason| unknown(&reason));
        };
        known_version(kind, versions).map(Some)
    }

    /// Returns the version in which a kind is read that discovery lists; `None` where it lists none, and where it fails:
    /// that proves nothing.
    ///
    /// # Errors
    ///
    /// Why a kind that is served cannot be read.
    pub async fn listed_version_of(&self, kind: Kind) -> Result<Option<String>, String> {
        let Ok(kinds) = self.kinds().await else { return Ok(None) };
        let versions = kinds.versions(kind.group().name, kind.plural());
        versions.map(|it| known_version(kind, it)).transpose()
    }

    /// Returns the version in which a custom kind is read, whose fields are looked for in any;
    /// `None` where it is proven that the kind is not served.
    ///
    /// # Errors
    ///
    /// Why that is unknown.
    pub async fn version_of_custom(
        &self,
        kind: &CustomKind,
    ) -> Result<Option<ServedVersion>, String> {
        let kinds = self.kinds().await?;
        if let Some([first, ..]) = kinds.versions(kind.group, kind.plural) {
            return Ok(Some(first.clone()));
        }
        let left_out = self.leaves_out(kinds, kind.group, |it| it.name == kind.plural).await;
        left_out.map(|()| None).map_err(|reason| unknown(&reason))
    }

    /// Returns the resource by which objects of any kind are asked for.
    ///
    /// # Errors
    ///
    /// Why that is unknown.
    pub async fn resource_of(
        &self,
        group: &str,
        version: &str,
        kind: &str,
    ) -> Result<OwnerResource, String> {
        let kinds = self.kinds().await?;
        let all = kinds.of_kind(group, kind);
        if let Some((resource, of)) = all.iter().find(|(_, it)| it.version == version) {
            let resource = (*resource).to_owned();
            return Ok(OwnerResource::Served { resource, namespaced: of.namespaced });
        }
        match (kinds.doubt(group), all.first()) {
            (Some(doubt), _) => Err(doubt),
            (None, Some((_, other))) => {
                Ok(OwnerResource::Elsewhere { version: other.version.clone() })
            }
            (None, None) => {
                self.leaves_out(kinds, group, |it| it.kind == kind).await?;
                Ok(OwnerResource::NotServed)
            }
        }
    }

    async fn kinds(&self) -> Result<&ServedKinds, String> {
        let served = self.served.get_or_init(|| async {
            let discovered = discover(&self.reader).await;
            discovered.map_err(|error| format!("the served resources could not be read: {error}"))
        });
        served.await.as_ref().map_err(String::clone)
    }

    /// Proves that a kind which discovery leaves out is not served.
    async fn prove_unserved(&self, kinds: &ServedKinds, kind: Kind) -> Result<(), String> {
        if let Some(doubt) = kinds.doubt(kind.group().name) {
            return Err(doubt);
        }
        let mut is_forbidden = false;
        for version in kind.versions() {
            match list_one(&self.reader, kind, version).await {
                Ok(()) => {
                    return Err(format!("{version} answers, although discovery leaves it out"));
                }
                Err(error) if error.is_not_served() => {}
                Err(error) if error.is_forbidden() => is_forbidden = true,
                Err(error) => return Err(error.to_string()),
            }
        }
        match is_forbidden {
            true => self.leaves_out(kinds, kind.group().name, |it| it.name == kind.plural()).await,
            false => Ok(()),
        }
    }

    /// Proves by the documents of a group that it does not hold a resource.
    async fn leaves_out(
        &self,
        kinds: &ServedKinds,
        group: &str,
        is_wanted: impl Fn(&LegacyResource) -> bool,
    ) -> Result<(), String> {
        if let Some(doubt) = kinds.doubt(group) {
            return Err(doubt);
        }
        let cell = {
            let mut groups = self.groups.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(groups.entry(group.to_owned()).or_default())
        };
        let resources = cell.get_or_init(|| self.resources_of(kinds, group)).await;
        match resources.as_ref().map_err(String::clone)?.iter().any(is_wanted) {
            true => Err(format!("{group} holds it, although discovery leaves it out")),
            false => Ok(()),
        }
    }

    async fn resources_of(&self, kinds: &ServedKinds, group: &str) -> GroupResources {
        let versions = kinds.versions_of_group(group);
        if versions.is_empty() {
            return match get(&self.reader, &format!("/apis/{group}")).await {
                Ok(_) => Err(format!("{group} answers, although discovery leaves it out")),
                Err(error) if error.is_not_served() => Ok(Vec::new()),
                Err(error) => Err(error.to_string()),
            };
        }
        let mut resources = Vec::new();
        for version in versions {
            let version = api_version(group, version);
            let path = format!("{}/{version}", if group.is_empty() { "/api" } else { "/apis" });
            let body = get(&self.reader, &path).await.map_err(|error| error.to_string())?;
            let list: LegacyResourceList =
                from_json(&path, &body).map_err(|error| error.to_string())?;
            if list.group_version != version {
                return Err(format!("{path} was answered with {}", list.group_version));
            }
            resources.extend(list.resources);
        }
        Ok(resources)
    }
}

/// Returns the first version of a kind whose fields are known.
fn known_version(kind: Kind, versions: &[ServedVersion]) -> Result<String, String> {
    let known = versions.iter().find(|it| kind.versions().contains(&it.version.as_str()));
    known.map(|it| it.version.clone()).ok_or_else(|| {
        let versions: Vec<_> = versions.iter().map(|it| it.version.as_str()).collect();
        format!("it is served as {} only, whose fields are not known", versions.join(", "))
    })
}

fn unknown(reason: &str) -> String {
    format!("unknown whether the server serves it: {reason}")
}

/// Whether the server still says that it does not serve a kind that was proven not to be served.
pub async fn is_still_unserved(reader: &Reader, kind: Kind) -> bool {
    for version in kind.versions() {
        let error = match list_one(reader, kind, version).await {
            Err(error) if error.is_forbidden() => {
                let path = format!("/apis/{}", api_version(kind.group().name, version));
                get(reader, &path).await.err()
            }
            other => other.err(),
        };
        if !error.is_some_and(|error| error.is_not_served()) {
            return false;
        }
    }
    true
}

/// Asks for one object of a kind in a version, of which only the answer's code matters.
async fn list_one(reader: &Reader, kind: Kind, version: &str) -> Result<(), ReadError> {
    let path = collection_path(kind.group().name, version, None, kind.plural());
    get(reader, &format!("{path}?limit=1")).await.map(drop)
}

async fn get(reader: &Reader, path: &str) -> Result<bytes::Bytes, ReadError> {
    reader.document(path, Accept::Json, Patience::Full).await.map(|(_, body)| body)
}
