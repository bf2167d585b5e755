//! Scripts in a copy of the project, in a folder with a blank in its name, and with stand-ins for programs that they call.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use regex::Regex;
use tempfile::TempDir;

use super::{COMMITTED, LINUX};
use crate::support::{Ran, read, root};

struct Copy(TempDir);

impl Copy {
    fn of_scripts() -> Self {
        let copy = Self(tempfile::tempdir().expect("a temporary folder"));
        fs::create_dir(copy.0.path().join("bin")).expect("it is writable");
        for folder in ["release/templates", "release/licenses", "completions"] {
            fs::create_dir_all(copy.root().join(folder)).expect("it is writable");
            for entry in fs::read_dir(root().join(folder)).expect("it is there") {
                copy.take(&format!("{folder}/{}", name(&entry.expect("it is there").path())));
            }
        }
        for entry in fs::read_dir(root().join("release")).expect("it is there") {
            let path = entry.expect("it is there").path();
            if path.is_file() {
                copy.take(&format!("release/{}", name(&path)));
            }
        }
        for file in [".krew.yaml", "Cargo.toml", "Cargo.lock"] {
            copy.take(file);
        }
        copy
    }

    fn root(&self) -> PathBuf {
        self.0.path().join("a project")
    }

    fn take(&self, path: &str) {
        fs::copy(root().join(path), self.root().join(path)).expect("it is writable");
    }

    fn script(path: &Path, text: &str) {
        fs::write(path, format!("#!/usr/bin/env bash\n{text}\n")).expect("it is writable");
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("it is ours");
    }

    /// Something that is called instead of a program.
    fn stand_in(&self, program: &str, text: &str) {
        Self::script(&self.0.path().join("bin").join(program), text);
    }

    /// Something that is called instead of another script.
    fn replace(&self, script: &str, text: &str) {
        Self::script(&self.root().join("release").join(script), text);
    }

    fn commit(&self) {
        let git = |args: &[&str]| {
            let name = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
            let mut git = Command::new("git");
            let ran = git.args(name).args(args).current_dir(self.root()).output();
            assert!(ran.as_ref().is_ok_and(|it| it.status.success()), "{ran:?}");
        };
        git(&["init", "--quiet"]);
        git(&["add", "--all"]);
        git(&["commit", "--quiet", "--message", "all"]);
    }

    /// Runs a script where the copy lies.
    fn run(&self, script: &str, args: &[&str], env: &[(&str, &str)]) -> Ran {
        let path = std::env::var("PATH").expect("there is one");
        let path = format!("{}:{path}", self.0.path().join("bin").display());
        let mut command = Command::new(self.root().join("release").join(script));
        command.args(args).env("PATH", path).env("SOURCE_DATE_EPOCH", COMMITTED);
        command.env("KUBECTL_STORAGE_RELEASE_TOOLS", self.0.path().join("tools"));
        command.env_remove("CARGO_TARGET_DIR").env_remove("RELEASE_OUT").envs(env.iter().copied());
        let output = command.current_dir(self.0.path()).output().expect("because bash is there");
        let text = |bytes| String::from_utf8(bytes).expect("because it is text");
        Ran { stdout: text(output.stdout), stderr: text(output.stderr), code: output.status.code() }
    }
}

fn name(path: &Path) -> String {
    path.file_name().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default()
}

/// With one folder for what is built, a binary would be compared with itself.
#[test]
fn two_builds_are_compared_wherever_others_are_built() {
    let copy = Copy::of_scripts();
    copy.replace(
        "build",
        "into=${CARGO_TARGET_DIR:-$(dirname \"$0\")/../target}\nmkdir -p \"$into\"\necho $BASHPID $RANDOM $0 > \"$into/binary\"\necho \"$into/binary\"",
    );
    copy.stand_in("cargo", "");
    copy.stand_in("rustc", "");
    copy.commit();
    let elsewhere = copy.0.path().join("elsewhere").display().to_string();
    let ran = copy.run("reproducible", &[LINUX], &[("CARGO_TARGET_DIR", &elsewhere)]);
    assert!(ran.code == Some(1) && ran.stderr.contains("two builds of"), "{ran:?}");

    let copy = Copy::of_scripts();
    copy.replace("build", &format!("echo a > '{elsewhere}'\necho '{elsewhere}'"));
    copy.stand_in("cargo", "");
    copy.commit();
    let ran = copy.run("reproducible", &[LINUX], &[]);
    assert!(ran.code == Some(1) && ran.stderr.contains("one binary, not two"), "{ran:?}");
}

#[test]
fn blanks_in_the_names_of_folders_divide_no_flag() {
    let copy = Copy::of_scripts();
    copy.stand_in("cargo", "[[ $1 != auditable ]] || printf 'rust %s\\nc %s\\n' \"$CARGO_ENCODED_RUSTFLAGS\" \"$CFLAGS\" >&2");
    copy.stand_in("rustup", "");
    copy.stand_in("x86_64-w64-mingw32-gcc", "");
    let ran = copy.run("build", &["x86_64-pc-windows-gnu"], &[("RUSTFLAGS", "-Cnone")]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let given = |what: &str| ran.stderr.lines().find_map(|it| it.strip_prefix(what)).expect(what);
    let real = copy.root().canonicalize().expect("it is there").display().to_string();
    let flags: Vec<_> = given("rust ").split('\x1f').collect();
    assert_eq!(flags[0], format!("--remap-path-prefix={real}=/src"));
    assert_eq!(flags.len(), 4, "{flags:?}");
    let escaped = real.replace(' ', "\\ ");
    assert!(given("c ").contains(&format!(" -ffile-prefix-map={escaped}=/src ")), "{ran:?}");
    assert!(ran.stdout.trim().starts_with(&format!("{real}/target/")), "{ran:?}");
}

#[test]
fn a_compiler_that_could_not_be_installed_is_told() {
    let copy = Copy::of_scripts();
    copy.stand_in("rustup", "");
    copy.stand_in("python3", "");
    copy.stand_in("mv", "exit 1");
    let ran = copy.run("build", &[LINUX], &[]);
    assert!(ran.code == Some(1) && ran.stderr.contains("zig could not be put into"), "{ran:?}");
}

#[test]
fn documents_are_made_beside_those_of_others() {
    let copy = Copy::of_scripts();
    let licence = copy.0.path().join("share/doc/rust/COPYRIGHT-library.html");
    fs::create_dir_all(licence.parent().expect("it has one")).expect("it is writable");
    fs::write(&licence, "licence").expect("it is writable");
    copy.stand_in("cargo", "");
    copy.stand_in("rustc", &format!("echo '{}'", copy.0.path().display()));
    let letter = copy.0.path().join("out/documents/letter.txt");
    fs::create_dir_all(letter.parent().expect("it has one")).expect("it is writable");
    fs::write(&letter, "Dear all").expect("it is writable");
    let relative = [("RELEASE_OUT", "out")];
    let made = copy.0.path().join("out/documents/licenses/crates.txt");

    copy.replace("crate-licenses", "echo the first; exit 1");
    assert_eq!(copy.run("documents", &[], &relative).code, Some(1));
    assert!(!made.exists(), "it is not complete");
    copy.replace("crate-licenses", "echo all");
    let ran = copy.run("documents", &[], &relative);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(read(&made), "all\n");
    assert!(letter.is_file(), "a document of others is gone");
    assert_eq!(fs::read_dir(copy.0.path().join("out")).expect("it is there").count(), 1);
}

#[test]
fn the_index_gets_no_lower_version() {
    let copy = Copy::of_scripts();
    let out = copy.root().join("target/release-out");
    fs::create_dir_all(&out).expect("it is writable");
    let index = |version: &str| {
        let manifest = format!("spec:\n  version: {version}\n");
        fs::write(out.join("storage.yaml"), manifest).expect("it is writable");
        copy.run("index", &[], &[])
    };
    for version in ["v0.9.0", "v0.10.0", "v0.10.0"] {
        let ran = index(version);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(read(Path::new(ran.stdout.trim())).contains(version), "{version}");
    }
    let ran = index("v0.9.1");
    assert!(ran.code == Some(1) && ran.stderr.contains("v0.9.1 is lower than v0.10.0"), "{ran:?}");
    let ran = index("v1.0.0-rc.1");
    assert!(ran.code == Some(1) && ran.stderr.contains("no final version"), "{ran:?}");
    assert!(read(&copy.root().join("plugins/storage.yaml")).contains("v0.10.0"));
}

#[test]
fn what_is_filled_in_may_have_any_sign() {
    let copy = Copy::of_scripts();
    let cargo = copy.root().join("Cargo.toml");
    let text = read(&cargo).replace(env!("CARGO_PKG_DESCRIPTION"), r"one, two & three \1 | four");
    fs::write(&cargo, text).expect("it is writable");
    let names = ["amd64", "arm64"].map(|it| format!("kubectl-storage_v1.2.3_linux_{it}.tar.gz"));
    for name in &names {
        fs::write(copy.0.path().join(name), name).expect("it is writable");
    }
    let ran = copy.run("manifest", &["--incomplete", &names[0], &names[1]], &[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let filled = read(&copy.root().join("target/release-out/PKGBUILD"));
    assert!(filled.contains(r"pkgdesc='one, two & three \1 | four'"), "{filled}");
}

/// They are linked on macOS, and so there is nothing to pack.
#[test]
fn targets_of_apple_alone_can_be_rehearsed() {
    let copy = Copy::of_scripts();
    copy.replace("build", "[[ $1 == --check ]]");
    copy.stand_in("uname", "echo Linux");
    copy.commit();
    let rehearsed = |built: &str| {
        copy.replace("build", built);
        copy.commit();
        copy.run("rehearse", &["aarch64-apple-darwin"], &[("SDKROOT", "")])
    };
    let ran = rehearsed("[[ $1 == --check ]] # it compiles");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("- aarch64-apple-darwin: compiles; is linked on macOS"), "{ran:?}");
    let ran = rehearsed("exit 1");
    assert!(ran.code == Some(1) && ran.stdout.contains("does not compile"), "{ran:?}");
}

/// The lock file names the version, and `--locked` refuses another.
#[test]
fn the_page_says_how_the_version_is_set() {
    let copy = Copy::of_scripts();
    for folder in ["src", "tests", "benches"] {
        symlink(root().join(folder), copy.root().join(folder)).expect("it is writable");
    }
    let cargo = copy.root().join("Cargo.toml");
    let version = |it: &str| format!("\nversion = \"{it}\"\n");
    let text = read(&cargo).replacen(&version(env!("CARGO_PKG_VERSION")), &version("99.9.9"), 1);
    fs::write(&cargo, text).expect("it is writable");
    let update = Regex::new("`cargo (update [^`]*)`").expect("a pattern");
    let page = read(&root().join("docs/release.md"));
    let said = &update.captures(&page).expect("the page says it")[1];
    let call = |more: &[&str]| {
        let mut cargo = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()));
        let ran = cargo.args(said.split(' ')).args(more).current_dir(copy.root()).output();
        ran.expect("because cargo is there")
    };
    assert!(!call(&["--locked"]).status.success(), "the lock file has the version from before");
    let ran = call(&[]);
    assert!(ran.status.success(), "{ran:?}");
    let [before, after] = [root(), copy.root()].map(|it| read(&it.join("Cargo.lock")));
    let own = |it: &str| format!("name = \"kubectl-storage\"{}", version(it));
    assert_eq!(after, before.replace(&own(env!("CARGO_PKG_VERSION")), &own("99.9.9")));
}
