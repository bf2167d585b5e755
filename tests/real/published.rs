//! What the tools of others say about what is ours: csi-sanity of the testbed's driver, krew of the plugin.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Output};

use flate2::{Compression, write::GzEncoder};
use sha2::{Digest, Sha256};

use crate::support::{program, say};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Runs a command, which must succeed, and returns what it said.
fn run(command: &mut Command) -> String {
    let Output { status, stdout, stderr } =
        command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = format!("{}{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{command:?} failed: {said}");
    said
}

#[test]
#[ignore = "extended suite: tools of others"]
fn csi_sanity_accepts_our_driver() {
    let said = run(&mut Command::new(root().join("tests/testbed/sanity")));
    let judged: Vec<_> = said.lines().filter(|line| line.contains("Passed")).collect();
    assert_eq!(judged.len(), 2, "without and with attaching: {said}");
    for line in judged {
        assert!(line.contains("SUCCESS"), "{said}");
        say(line);
    }
}

/// As far as no network is needed: whether the archives can be fetched is for a release to say.
#[test]
#[ignore = "extended suite: tools of others"]
fn krew_validates_the_manifest() {
    let folder = tempfile::tempdir().expect("because the temporary folder is writable");
    let manifest = folder.path().join("storage.yaml"); // as the plugin is called
    fs::copy(root().join("krew-manifest.yaml"), &manifest).expect("because it is there");
    let mut krew = Command::new(program("validate-krew-manifest"));
    let said = run(krew.arg("-skip-install").arg("-manifest").arg(&manifest));
    assert!(said.contains("structural validation OK"), "{said}");
    assert!(said.contains("no overlapping"), "{said}");
}

/// Packs the plugin and its licence as a release does, but uncompressed; returns the SHA-256 of the archive.
fn pack(archive: &Path) -> String {
    let file = File::create(archive).expect("because the folder is ours");
    let mut packer = tar::Builder::new(GzEncoder::new(file, Compression::none()));
    packer.sparse(false); // krew cannot read sparse entries
    let plugin = Path::new(env!("CARGO_BIN_EXE_kubectl-storage"));
    for (path, name) in [(plugin, "kubectl-storage"), (&root().join("LICENSE"), "LICENSE")] {
        packer.append_path_with_name(path, name).expect("because it is there");
    }
    let written = packer.into_inner().and_then(GzEncoder::finish);
    written.expect("because the folder is ours");
    let bytes = fs::read(archive).expect("because it was just written");
    let digits = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>();
    digits.concat()
}

/// krew installs an archive made as a release makes it, and kubectl then finds the plugin.
#[test]
#[ignore = "extended suite: tools of others"]
fn krew_installs_the_plugin() {
    let folder = tempfile::tempdir().expect("because the temporary folder is writable");
    let archive = folder.path().join("storage.tar.gz");
    let sum = pack(&archive);
    let manifest = fs::read_to_string(root().join("krew-manifest.yaml")).expect("it is there");
    let manifest = manifest
        .lines()
        .map(|line| match line.split_once("sha256: ") {
            Some((indent, _)) => format!("{indent}sha256: {sum}\n"),
            None => format!("{line}\n"),
        })
        .collect::<String>();
    let local = folder.path().join("storage.yaml");
    fs::write(&local, manifest).expect("because the folder is ours");

    let home = folder.path().join("krew");
    let mut krew = Command::new(program("krew"));
    krew.arg("install").arg("--manifest").arg(&local).arg("--archive").arg(&archive);
    let said = run(krew.env("KREW_ROOT", &home).env("HOME", folder.path()));
    assert!(said.contains("Installed plugin: storage"), "{said}");
    assert!(said.contains("kubectl storage completion install"), "the caveats: {said}");
    let path = std::env::join_paths([home.join("bin")]).expect("because it has no colon");
    let mut kubectl = Command::new(program("kubectl"));
    let said = run(kubectl.args(["storage", "version"]).env("PATH", path));
    assert!(said.contains(env!("CARGO_PKG_VERSION")), "{said}");
}
