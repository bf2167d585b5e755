//! The scripts of a release: what they fill in, that archives are the same each time, and what they refuse.

mod copied;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Read as _,
    path::Path,
    process::Command,
};

use flate2::read::GzDecoder;
use regex::Regex;
use tempfile::TempDir;

use crate::documents;
use crate::support::{Ran, expect_file, read, root};

/// As old as a commit, so that no repository is needed.
const COMMITTED: &str = "1700000000";
const LINUX: &str = "x86_64-unknown-linux-musl";

/// A folder to release into, which has the documents of archives.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    documents::write(folder.path());
    fs::write(folder.path().join("binary"), "#!/bin/false\n").expect("it is writable");
    folder
}

fn run(script: &str, folder: &Path, args: &[&str]) -> Ran {
    let mut command = Command::new(root().join("release").join(script));
    command.args(args).env("RELEASE_OUT", folder).env("SOURCE_DATE_EPOCH", COMMITTED);
    let output = command.current_dir(folder).output().expect("because bash is there");
    let text = |bytes| String::from_utf8(bytes).expect("because it is text");
    Ran { stdout: text(output.stdout), stderr: text(output.stderr), code: output.status.code() }
}

/// One archive of each platform, with nothing of an archive but the name.
fn archives(folder: &Path) -> Vec<String> {
    let manifest = read(&root().join("krew-manifest.yaml"));
    let names = manifest.lines().filter_map(|it| it.trim().strip_prefix("uri: "));
    let names: Vec<_> = names.filter_map(|it| it.rsplit('/').next()).map(str::to_owned).collect();
    assert_eq!(names.len(), 5, "{names:?}");
    for name in &names {
        fs::write(folder.join(name), name).expect("it is writable");
    }
    names
}

fn words(words: &[String]) -> Vec<&str> {
    words.iter().map(String::as_str).collect()
}

/// The template of krew-release-bot, filled for this version, but without sums.
#[test]
fn the_manifest_is_what_the_template_makes() {
    let tag = concat!("v", env!("CARGO_PKG_VERSION"));
    let template = read(&root().join(".krew.yaml"));
    let archive = Regex::new(r#"\{\{addURIAndSha "(.*)" \.TagName \}\}"#).expect("a pattern");
    let zeros = format!("uri: $1\n    sha256: \"{}\"", "0".repeat(64));
    let manifest = archive.replace_all(&template, zeros.as_str());
    let manifest = manifest.replace("{{ .TagName }}", tag);
    expect_file(&root().join("krew-manifest.yaml"), &manifest);
}

#[test]
fn sums_are_filled_in() {
    let folder = folder();
    let names = archives(folder.path());
    let ran = run("manifest", folder.path(), &words(&names));
    assert_eq!((ran.code, &*ran.stderr), (Some(0), ""));
    let made: Vec<_> = ran.stdout.lines().filter_map(|it| it.rsplit('/').next()).collect();
    assert_eq!(made, ["storage.yaml", "kubectl-storage.rb", "PKGBUILD", "checksums.txt"]);

    let sums = read(&folder.path().join("checksums.txt"));
    let sums: BTreeMap<_, _> = sums.lines().filter_map(|it| it.split_once("  ")).collect();
    let sums: BTreeMap<_, _> = sums.into_iter().map(|(sum, name)| (name, sum)).collect();
    assert_eq!(sums.keys().copied().collect::<BTreeSet<_>>(), words(&names).into_iter().collect());
    // Nothing differs from the manifest that the tests hold but the sums, in their order.
    let plugin = read(&folder.path().join("storage.yaml"));
    let mut expected = read(&root().join("krew-manifest.yaml"));
    for name in &names {
        let zeros = format!("{name}\n    sha256: \"{}\"", "0".repeat(64));
        assert!(expected.contains(&zeros), "{name}");
        expected = expected.replace(&zeros, &format!("{name}\n    sha256: \"{}\"", sums[&**name]));
    }
    assert_eq!(plugin, expected);
    // Each archive that another package manager names is beside its sum.
    for (file, count) in [("kubectl-storage.rb", 4), ("PKGBUILD", 2)] {
        let text = read(&folder.path().join(file));
        let linked = names.iter().filter(|name| text.contains(&format!("/{name}"))).count();
        let summed = sums.values().filter(|sum| text.contains(**sum)).count();
        assert_eq!((linked, summed), (count, count), "{file}: {text}");
        assert!(!text.contains('@'), "{file}: {text}");
        assert!(text.contains(env!("CARGO_PKG_DESCRIPTION")), "{file}: {text}");
    }
}

#[test]
fn what_was_not_made_is_left_out_only_if_asked() {
    let folder = folder();
    let names = archives(folder.path());
    let ran = run("manifest", folder.path(), &[&names[0]]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("no archives for: linux_arm64 darwin_amd64"), "{}", ran.stderr);
    let args = ["--incomplete", "--from", "http://127.0.0.1:1/here", &names[0]];
    let ran = run("manifest", folder.path(), &args);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let plugin = read(&folder.path().join("storage.yaml"));
    assert_eq!(plugin.matches("- selector:").count(), 1, "{plugin}");
    assert!(plugin.contains("uri: http://127.0.0.1:1/here/v"), "{plugin}");
    assert!(!folder.path().join("PKGBUILD").exists(), "it needs an archive that is not there");
}

fn entries(archive: &Path) -> Vec<(String, u32, u64, u64)> {
    let file = fs::File::open(archive).expect("because it was made");
    let mut archive = tar::Archive::new(GzDecoder::new(file));
    let mut found = Vec::new();
    for entry in archive.entries().expect("because it is a tar archive") {
        let mut entry = entry.expect("because it is a tar archive");
        entry.read_to_end(&mut Vec::new()).expect("because it is whole");
        let (path, head) = (entry.path().expect("a path").display().to_string(), entry.header());
        let owner = head.uid().expect("a number") + head.gid().expect("a number");
        found.push((path, head.mode().expect("a mode"), head.mtime().expect("a time"), owner));
    }
    found
}

#[test]
fn an_archive_is_the_same_each_time() {
    let (first, second) = (folder(), folder());
    let pack = |folder: &TempDir| {
        let ran = run("archive", folder.path(), &[LINUX, "binary"]);
        assert_eq!((ran.code, &*ran.stderr), (Some(0), ""));
        folder.path().join(ran.stdout.trim().rsplit('/').next().expect("a path"))
    };
    let archive = pack(&first);
    let found = entries(&archive);
    let paths: Vec<_> = found.iter().map(|it| &*it.0).collect();
    let expected = [
        "LICENSE",
        "completions/kubectl-storage.bash",
        "kubectl-storage",
        "licenses/crates.txt",
        "licenses/musl.txt",
        "licenses/rust-standard-library.html",
        "man/kubectl-storage.1",
    ];
    assert_eq!(paths, expected, "sorted, and without what other platforms need");
    for (path, mode, time, owner) in &found {
        let expected = if path == "kubectl-storage" { 0o755 } else { 0o644 };
        assert_eq!(
            (*mode, time.to_string(), *owner),
            (expected, COMMITTED.to_owned(), 0),
            "{path}"
        );
    }
    // Later, elsewhere, and by somebody whose files look different.
    let binary = second.path().join("binary");
    let copied = fs::read(&binary).expect("it is there");
    fs::remove_file(&binary).expect("it is there");
    fs::write(&binary, copied).expect("it is writable");
    assert!(
        fs::read(pack(&second)).expect("it was made") == fs::read(archive).expect("it was made")
    );
}

#[test]
fn what_cannot_be_released_is_refused() {
    let folder = folder();
    let mut names = archives(folder.path());
    fs::write(folder.path().join("other.tar.gz"), "").expect("it is writable");
    let later = names[1].replace(concat!("v", env!("CARGO_PKG_VERSION")), "v9.9.9");
    fs::write(folder.path().join(&later), "").expect("it is writable");
    names.truncate(1);
    let first = &*names[0];
    let refused: [(&str, &[&str], &str); 18] = [
        ("archive", &[], "usage: release/archive TARGET [BINARY]"),
        ("archive", &["x86_64-unknown-freebsd", "binary"], "no target is called"),
        ("archive", &["riscv64gc-unknown-linux-gnu", "binary"], "no target is called"),
        ("rehearse", &["x86_64-unknown-freebsd"], "no target is called"),
        ("archive", &[LINUX, "nowhere"], "there is no binary 'nowhere'"),
        ("documents", &["x"], "takes no arguments"),
        ("crate-licenses", &["x"], "takes no arguments"),
        ("sbom", &["x"], "takes no arguments"),
        ("index", &["x"], "takes no arguments"),
        ("index", &[], "storage.yaml: run release/pack"),
        ("manifest", &[], "usage: release/manifest"),
        ("manifest", &["--complete", first], "unknown argument '--complete'"),
        ("manifest", &["nowhere.tar.gz"], "there is no archive 'nowhere.tar.gz'"),
        ("manifest", &["other.tar.gz"], "is not called like an archive"),
        ("manifest", &[first, &later], "archives of two versions"),
        ("manifest", &[first, first], "two archives for linux_amd64"),
        ("pack", &[LINUX], "copy there what release/build x86_64-unknown-linux-musl makes"),
        ("reproducible", &[LINUX, LINUX], "usage: release/reproducible [TARGET]"),
    ];
    for (script, args, reason) in refused {
        let ran = run(script, folder.path(), args);
        assert_eq!(ran.code, Some(1), "{script} {args:?}: {}{}", ran.stdout, ran.stderr);
        let said = ran.stderr.starts_with(&format!("{script}: "));
        assert!(said && ran.stderr.contains(reason), "{script} {args:?}: {}", ran.stderr);
    }
    // A document that every archive holds.
    let needed = folder.path().join("documents/licenses/crates.txt");
    fs::write(needed, "").expect("it is writable");
    let ran = run("archive", folder.path(), &[LINUX, "binary"]);
    assert!(
        ran.code == Some(1) && ran.stderr.contains("licenses/crates.txt is missing"),
        "{ran:?}"
    );
}

/// Scanners could not see what it is made of.
#[test]
fn a_binary_without_the_list_of_its_crates_is_refused() {
    let folder = folder();
    fs::create_dir(folder.path().join(LINUX)).expect("it is writable");
    fs::copy(folder.path().join("binary"), folder.path().join(LINUX).join("kubectl-storage"))
        .expect("it is writable");
    let ran = run("pack", folder.path(), &[LINUX]);
    let refused = ran.stderr.contains("does not carry the list of its crates");
    assert!(ran.code == Some(1) && refused, "{ran:?}");
}

#[test]
fn what_is_not_ready_is_told() {
    let folder = folder();
    let ran = run("ready", folder.path(), &["v9.9.9-rc.1"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    for point in [
        "which is not that of tag v9.9.9-rc.1",
        "v9.9.9-rc.1 is no final version",
        "CHANGELOG.md has no heading '## 9.9.9-rc.1 (YYYY-MM-DD)'",
        "deploy/base does not run the image of v9.9.9-rc.1",
        concat!(
            "docs/github-action.md name ",
            env!("CARGO_PKG_VERSION"),
            " where they should name 9.9.9-rc.1"
        ),
        "deploy/github-action/action.yaml has another default than 9.9.9-rc.1",
        "deploy/chart/Chart.yaml has another version than 9.9.9-rc.1",
        "deploy/chart/Chart.yaml has another appVersion than 9.9.9-rc.1",
    ] {
        assert!(ran.stdout.contains(point), "{point}: {}", ran.stdout);
    }
}

/// `cargo binstall` downloads the archives that krew does.
#[test]
fn binstall_downloads_what_is_published() {
    let text = read(&root().join("Cargo.toml"));
    let section = Regex::new(
        r#"\[package\.metadata\.binstall\.overrides\.([a-z0-9_-]+)\]\npkg-url = "(.*)"\n(pkg-fmt)?"#,
    );
    let manifest = read(&root().join("krew-manifest.yaml"));
    let mut named = BTreeSet::new();
    for found in section.expect("a pattern").captures_iter(&text) {
        let url = found[2].replace("{ repo }", env!("CARGO_PKG_REPOSITORY"));
        let url = url.replace("{ version }", env!("CARGO_PKG_VERSION"));
        assert!(manifest.contains(&format!("uri: {url}\n")), "{}: {url}", &found[1]);
        assert_eq!(found.get(3).is_some(), url.contains("windows"), "{url}");
        named.insert(url);
    }
    assert_eq!(named.len(), manifest.matches("uri: ").count(), "{named:?}");
}
