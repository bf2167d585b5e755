//! What `validate-krew-manifest` and the reviewers of krew-index ask of a manifest, as far as no network is needed.
//! krew wants the file to be named after the plugin: the copy that is submitted is `plugins/storage.yaml`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Plugin {
    api_version: String,
    kind: String,
    metadata: Metadata,
    spec: Spec,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Metadata {
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Spec {
    version: String,
    homepage: String,
    short_description: String,
    description: String,
    caveats: String,
    platforms: Vec<Platform>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Platform {
    selector: Selector,
    uri: String,
    sha256: String,
    bin: String,
    files: Vec<FileOperation>,
}

/// krew also takes expressions; ours needs none, and refusing them here keeps the checks below honest.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Selector {
    match_labels: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileOperation {
    from: String,
    to: String,
}

/// The pairs that krew knows and we build for.
const PLATFORMS: [(&str, &str); 5] = [
    ("darwin", "amd64"),
    ("darwin", "arm64"),
    ("linux", "amd64"),
    ("linux", "arm64"),
    ("windows", "amd64"),
];

const TEXT: &str = include_str!("../../krew-manifest.yaml");

fn plugin() -> Plugin {
    serde_yaml::from_str(TEXT).expect("because it is a krew manifest with known fields only")
}

#[test]
fn is_a_plugin_krew_knows() {
    let plugin = plugin();
    assert_eq!(plugin.api_version, "krew.googlecontainertools.github.com/v1alpha2");
    assert_eq!(plugin.kind, "Plugin");
    assert_eq!(plugin.metadata.name, "storage");
    // A dash in the name would be an underscore in the binary.
    assert!(plugin.metadata.name.bytes().all(|b| b.is_ascii_lowercase()));
    assert!(!TEXT.contains("{{"), "templates are for bots: the index takes none");
}

#[test]
fn version_is_the_one_of_the_package() {
    let plugin = plugin();
    let version = plugin.spec.version.strip_prefix('v').expect("because krew wants a leading v");
    let version: semver::Version = version.parse().expect("because krew wants semver");
    assert_eq!(version.to_string(), env!("CARGO_PKG_VERSION"));
    assert_eq!(plugin.spec.homepage, env!("CARGO_PKG_REPOSITORY"));
}

#[test]
fn words_are_as_reviewers_like_them() {
    let spec = plugin().spec;
    assert!(!spec.short_description.is_empty() && !spec.short_description.contains(['\n', '\r']));
    assert!(spec.short_description.chars().count() <= 50, "short description is too long");
    assert!(!spec.short_description.ends_with('.'));
    for word in ["kubectl", "plugin", "kubernetes"] {
        assert!(
            !spec.short_description.to_lowercase().contains(word),
            "every plugin is about {word}"
        );
    }
    for line in spec.description.lines().chain(spec.caveats.lines()) {
        assert!(line.chars().count() <= 80, "wider than 80 columns: {line}");
    }
    assert!(!spec.description.contains("kubectl storage"), "no usage examples in the description");
    assert!(spec.caveats.contains("kubectl storage completion install"));
}

#[test]
fn platforms_are_known_and_do_not_overlap() {
    let mut seen = BTreeSet::new();
    for platform in plugin().spec.platforms {
        let labels = &platform.selector.match_labels;
        let keys: Vec<_> = labels.keys().map(String::as_str).collect();
        assert_eq!(
            keys,
            ["arch", "os"],
            "both keys, and no other, make a selector that cannot overlap"
        );
        assert!(
            seen.insert((labels["os"].clone(), labels["arch"].clone())),
            "selected twice: {labels:?}"
        );
    }
    let seen: Vec<_> = seen.iter().map(|(os, arch)| (os.as_str(), arch.as_str())).collect();
    assert_eq!(seen, PLATFORMS);
}

#[test]
fn archives_can_be_fetched_and_checked() {
    let spec = plugin().spec;
    let release = format!("{}/releases/download/{}/", spec.homepage, spec.version);
    for platform in spec.platforms {
        let (os, arch) =
            (&platform.selector.match_labels["os"], &platform.selector.match_labels["arch"]);
        let extension = if os == "windows" { "zip" } else { "tar.gz" };
        assert_eq!(
            platform.uri,
            format!("{release}kubectl-storage_{}_{os}_{arch}.{extension}", spec.version)
        );
        let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        assert!(
            platform.sha256.len() == 64 && platform.sha256.bytes().all(hex),
            "not a sha256: {}",
            platform.sha256
        );
    }
}

#[test]
fn binary_and_license_are_installed() {
    for platform in plugin().spec.platforms {
        let windows = platform.selector.match_labels["os"] == "windows";
        assert_eq!(platform.bin, if windows { "kubectl-storage.exe" } else { "kubectl-storage" });
        let files: Vec<_> =
            platform.files.iter().map(|file| (file.from.as_str(), file.to.as_str())).collect();
        assert_eq!(files, [(platform.bin.as_str(), "."), ("LICENSE", ".")]);
    }
    let license = Path::new(env!("CARGO_MANIFEST_DIR")).join("LICENSE");
    assert!(license.is_file(), "the archives are to contain it");
}
