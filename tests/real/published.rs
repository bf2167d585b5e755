//! What the tools of others say about what is ours: csi-sanity of the testbed's driver, krew of the plugin.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;

use crate::documents;
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

/// Serves the files of a folder over HTTP, until the process ends. Returns its URL.
fn serve(folder: PathBuf) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("because loopback has free ports");
    let address = listener.local_addr().expect("because it is bound");
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut request = String::new();
            let mut reader = BufReader::new(&stream);
            while reader.read_line(&mut request).is_ok_and(|it| it > 2) {}
            let path = request.split([' ', '?']).nth(1).unwrap_or_default();
            let (status, body) = match fs::read(folder.join(path.trim_start_matches('/'))) {
                Ok(body) => ("200 OK", body),
                Err(_) => ("404 Not Found", Vec::new()),
            };
            let length = body.len();
            let head = format!(
                "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
            );
            // Who asked may have gone.
            let _ = (&stream).write_all(head.as_bytes()).and_then(|()| (&stream).write_all(&body));
        }
    });
    format!("http://{address}")
}

/// The project's repository as it stands, as a krew index that can be fetched.
struct Index {
    checkout: PathBuf,
    bare: PathBuf,
}

impl Index {
    fn new(checkout: PathBuf, bare: PathBuf) -> Self {
        let packed = checkout.with_extension("tar");
        let mut git = Command::new("git");
        run(git.arg("-C").arg(root()).args(["archive", "--output"]).arg(&packed).arg("HEAD"));
        let file = File::open(packed).expect("because it was just written");
        tar::Archive::new(file).unpack(&checkout).expect("because the folder is ours");
        for (folder, kind) in [(&checkout, &[][..]), (&bare, &["--bare"])] {
            let mut git = Command::new("git");
            run(git.args(["init", "--quiet", "--initial-branch=main"]).args(kind).arg(folder));
        }
        Self { checkout, bare }
    }

    fn git(&self, args: &[&str]) -> String {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=maintainer", "-c", "user.email=maintainer@example.com"]);
        run(git.arg("-C").arg(&self.checkout).args(args))
    }

    /// What the workflow of a release does once its archives are published.
    fn publish(&self, manifest: &Path) {
        let plugins = self.checkout.join("plugins");
        fs::create_dir_all(&plugins).expect("because the folder is ours");
        fs::copy(manifest, plugins.join("storage.yaml")).expect("because it was just made");
        self.git(&["add", "."]);
        self.git(&["commit", "--quiet", "--message", "A release"]);
        self.git(&["push", "--quiet", &self.bare.display().to_string(), "HEAD:main"]);
        run(Command::new("git").arg("-C").arg(&self.bare).arg("update-server-info"));
    }
}

/// The repository is an index of its own: kubectl finds what krew installs and upgrades from it, and what it
/// uninstalls is gone. Archives and manifests are those of a release.
#[test]
#[ignore = "extended suite: tools of others"]
fn krew_installs_upgrades_and_uninstalls_from_the_repository() {
    let folder = tempfile::tempdir().expect("because the temporary folder is writable");
    let place = |name: &str| folder.path().join(name);
    let served = place("served");
    fs::create_dir(&served).expect("because the folder is ours");
    let url = serve(served.clone());
    let index = Index::new(place("checkout"), served.join("index.git"));
    documents::write(&place("out"));
    let binary = place("kubectl-storage");
    let built = env!("CARGO_BIN_EXE_kubectl-storage");
    run(Command::new("strip").arg("-o").arg(&binary).arg(built));

    let release = |script: &str| {
        let mut command = Command::new(root().join("release").join(script));
        command.env("RELEASE_OUT", place("out")).env("SOURCE_DATE_EPOCH", "1700000000");
        command
    };
    let target = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
    let archive = PathBuf::from(run(release("archive").arg(target).arg(&binary)).trim());
    let name = archive.file_name().and_then(|it| it.to_str()).expect("because it was made");
    let publish = |tag: &str| {
        let published =
            served.join(tag).join(name.replace(concat!("v", env!("CARGO_PKG_VERSION")), tag));
        fs::create_dir(served.join(tag)).expect("because the folder is ours");
        fs::copy(&archive, &published).expect("because it was made");
        let mut manifest = release("manifest");
        run(manifest.args(["--incomplete", "--from", &url]).arg(published));
        index.publish(&place("out/storage.yaml"));
    };

    let home = place("krew");
    let krew = |args: &[&str]| {
        let mut krew = Command::new(program("krew"));
        krew.args(args).env("KREW_ROOT", &home).env("HOME", folder.path());
        // Without it, krew fetches its own index first.
        krew.env("KREW_DEFAULT_INDEX_URI", format!("{url}/index.git"));
        run(krew.env("KREW_NO_UPGRADE_CHECK", "1"))
    };
    let first = concat!("v", env!("CARGO_PKG_VERSION"));
    publish(first);
    krew(&["index", "add", "own", &format!("{url}/index.git")]);
    let said = krew(&["install", "own/storage"]);
    assert!(said.contains("kubectl storage completion install"), "the caveats: {said}");
    let path = std::env::join_paths([home.join("bin")]).expect("because it has no colon");
    let kubectl = || {
        let mut kubectl = Command::new(program("kubectl"));
        kubectl.args(["storage", "version"]).env("PATH", &path);
        kubectl
    };
    let said = run(&mut kubectl());
    assert!(said.contains(env!("CARGO_PKG_VERSION")), "{said}");
    let installed = fs::read_dir(home.join("store/storage").join(first)).expect("it is installed");
    let installed: BTreeSet<_> = installed.flatten().map(|it| it.file_name()).collect();
    assert_eq!(installed, ["LICENSE", "kubectl-storage"].map(Into::into).into());

    assert!(krew(&["list"]).lines().any(|it| it == "own/storage"), "as it is called in its index");
    publish("v99.0.0");
    let said = krew(&["upgrade"]);
    assert!(said.contains(&format!("own/storage {first} -> v99.0.0")), "{said}");
    let versions = fs::read_dir(home.join("store/storage")).expect("it is installed").flatten();
    assert_eq!(versions.map(|it| it.file_name()).collect::<Vec<_>>(), ["v99.0.0"]);
    run(&mut kubectl());

    krew(&["uninstall", "storage"]);
    assert!(!home.join("store/storage").exists(), "it is still there");
    let gone = kubectl().output().expect("because kubectl runs");
    assert!(!gone.status.success(), "kubectl still finds it");
}
