//! What differs between operating systems: no other file asks which one it runs on
//! (`tests/it/architecture.rs` holds that), and `docs/platforms.md` tells users what is different.

use std::{
    env,
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io,
    path::{Path, PathBuf},
};

/// Returns how a file is opened to be written that only its owner may read.
///
/// On Windows it has the permissions of its folder.
pub(crate) fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Creates a folder that only its owner may enter, and those above it.
///
/// On Windows it has the permissions of the folder above it.
pub(crate) fn create_private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Waits until the names in a folder are on disk, as far as the file system supports that.
///
/// Windows does not open folders: its file systems record names by themselves.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(windows) {
        return Ok(());
    }
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        Err(error)
            if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) =>
        {
            Ok(())
        }
        other => other,
    }
}

/// Returns the folder in which programs keep what must outlive a run: `$XDG_STATE_HOME`, else
/// `~/.local/state`, on Windows `%LOCALAPPDATA%`.
pub(crate) fn state_folder() -> Option<PathBuf> {
    let named = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    named("XDG_STATE_HOME").or_else(|| match cfg!(windows) {
        true => named("LOCALAPPDATA"),
        false => env::home_dir().map(|home| home.join(".local/state")),
    })
}

/// Returns the folder in which kubectl looks for `.kube/config`.
///
/// Windows has three home folders: kubectl takes the first that contains the file.
pub(crate) fn kubeconfig_home() -> Option<PathBuf> {
    let homes = if cfg!(windows) { homes(|name| env::var_os(name)) } else { Vec::new() };
    let has_one = |home: &PathBuf| home.join(".kube").join("config").exists();
    homes.into_iter().find(has_one).or_else(env::home_dir)
}

/// The home folders of Windows, in kubectl's order.
fn homes(variable: impl Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    let on_drive = variable("HOMEDRIVE").zip(variable("HOMEPATH")).map(|(mut drive, path)| {
        drive.push(path);
        drive
    });
    let homes = [variable("HOME"), on_drive, variable("USERPROFILE")];
    homes.into_iter().flatten().filter(|home| !home.is_empty()).map(PathBuf::from).collect()
}

/// Returns the program that a command means.
///
/// By itself, Windows finds `NAME.exe` only; kubectl also finds scripts, such as `NAME.cmd`.
pub(crate) fn program(command: &str) -> PathBuf {
    let found = || {
        let folders = env::var_os("PATH").unwrap_or_default();
        let endings = env::var("PATHEXT").unwrap_or_else(|_| ".com;.exe;.bat;.cmd".to_owned());
        ending_in_one_of(&endings, Path::new(command), env::split_paths(&folders))
    };
    let found = if cfg!(windows) { found() } else { None };
    found.unwrap_or_else(|| command.into())
}

/// Finds the file of a command that is written without its ending, as Go does. The current folder is not searched.
fn ending_in_one_of(
    endings: &str,
    command: &Path,
    folders: impl Iterator<Item = PathBuf>,
) -> Option<PathBuf> {
    let is_path = command.components().count() > 1;
    let folders: Vec<_> = match is_path {
        true => vec![PathBuf::new()],
        false => folders.filter(|folder| folder.is_absolute()).collect(),
    };
    let as_it_is = command.extension().map(|_| "");
    let endings: Vec<_> = as_it_is.into_iter().chain(endings.split_terminator(';')).collect();
    let ending_in = |path: &Path, ending: &str| {
        let mut path = path.as_os_str().to_owned();
        path.push(ending);
        PathBuf::from(path)
    };
    folders.into_iter().map(|folder| folder.join(command)).find_map(|path| {
        endings.iter().map(|ending| ending_in(&path, ending)).find(|path| path.is_file())
    })
}

/// Returns the path under which this program was found: the link that krew made, not what it leads to.
///
/// On Windows `called` may lack the ending, and the system tells the path as it was found.
pub(crate) fn called_program(called: &str) -> io::Result<PathBuf> {
    let called = Path::new(called);
    if cfg!(windows) {
        return env::current_exe();
    }
    if called.components().count() > 1 {
        return std::path::absolute(called);
    }
    let folders = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&folders)
        .map(|folder| folder.join(called))
        .find(|path| path.is_file())
        .map_or_else(env::current_exe, Ok)
}

/// What [`add_name`] makes.
pub(crate) const ADDED_NAME: &str = if cfg!(windows) { "copy" } else { "symbolic link" };

/// Gives a program another name, in the place of one that was added earlier. `Ok(false)` if something else has it.
///
/// A link, on Windows a copy: links need a privilege there.
pub(crate) fn add_name(program: &Path, name: &Path) -> io::Result<bool> {
    match fs::symlink_metadata(name) {
        Ok(found) if found.is_symlink() => fs::remove_file(name)?,
        Ok(found) if cfg!(windows) && found.is_file() => {}
        Ok(_) => return Ok(false),
        Err(_) => {}
    }
    #[cfg(unix)]
    std::os::unix::fs::symlink(program, name)?;
    #[cfg(not(unix))]
    fs::copy(program, name)?;
    Ok(true)
}

/// Returns a path with `/` between its parts.
pub(crate) fn with_slashes(path: &Path) -> String {
    let shown = path.display().to_string();
    if cfg!(windows) { shown.replace('\\', "/") } else { shown }
}

/// Waits until the system asks for the end: SIGTERM, on Windows Ctrl-Break, a closed window or a shutdown.
#[cfg(unix)]
pub(crate) async fn terminated() {
    use tokio::signal::unix::{SignalKind, signal};
    match signal(SignalKind::terminate()) {
        Ok(mut asked) => {
            asked.recv().await;
        }
        Err(_) => std::future::pending().await,
    }
}

/// Waits until the system asks for the end: SIGTERM, on Windows Ctrl-Break, a closed window or a shutdown.
#[cfg(windows)]
pub(crate) async fn terminated() {
    use tokio::signal::windows::{ctrl_break, ctrl_close, ctrl_shutdown};
    match (ctrl_break(), ctrl_close(), ctrl_shutdown()) {
        (Ok(mut stopped), Ok(mut closed), Ok(mut shut_down)) => tokio::select! {
            _ = stopped.recv() => {}
            _ = closed.recv() => {}
            _ = shut_down.recv() => {}
        },
        _ => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn homes_of_windows_are_in_the_order_of_kubectl() {
        let set = |name: &str| match name {
            "HOME" => Some(r"D:\git".into()),
            "HOMEDRIVE" => Some("H:".into()),
            "HOMEPATH" => Some(r"\ann".into()),
            "USERPROFILE" => Some(r"C:\Users\ann".into()),
            _ => None,
        };
        let of = |homes: &[&str]| homes.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(homes(set), of(&[r"D:\git", r"H:\ann", r"C:\Users\ann"]));
        assert_eq!(homes(|name| set(name).filter(|_| name != "HOMEPATH")).len(), 2);
        let empty = |name: &str| set(name).map(|it| if name == "HOME" { "".into() } else { it });
        assert_eq!(homes(empty), of(&[r"H:\ann", r"C:\Users\ann"]));
    }

    #[test]
    fn commands_of_windows_are_found_without_their_ending() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        for name in ["aws.cmd", "kubelogin-1.2.exe", "both.exe", "both.cmd", "plain"] {
            fs::write(at(name), "").expect("it is writable");
        }
        fs::create_dir(at("folder.exe")).expect("it is writable");
        let find = |command: &str| {
            let folders = ["relative".into(), folder.path().join("none"), folder.path().into()];
            ending_in_one_of(".exe;.cmd", Path::new(command), folders.into_iter())
        };
        for (command, found) in [
            ("aws", Some("aws.cmd")),
            ("aws.cmd", Some("aws.cmd")),
            ("kubelogin-1.2", Some("kubelogin-1.2.exe")),
            ("both", Some("both.exe")),
            ("plain", None),
            ("folder", None),
            ("none", None),
        ] {
            assert_eq!(find(command), found.map(at), "{command}");
        }
        // A path is not searched for.
        assert_eq!(find(&at("aws").to_string_lossy()), Some(at("aws.cmd")));
        assert_eq!(find("below/aws"), None);
    }

    #[test]
    fn another_name_takes_the_place_of_an_earlier_one_only() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        fs::write(at("old"), "old").expect("it is writable");
        fs::write(at("new"), "new").expect("it is writable");
        for program in ["old", "new"] {
            assert!(add_name(&at(program), &at("name")).expect("it is writable"), "{program}");
            assert_eq!(fs::read_to_string(at("name")).expect("readable"), program);
        }
        fs::create_dir(at("taken")).expect("it is writable");
        assert!(!add_name(&at("new"), &at("taken")).expect("it can be read"));
        if cfg!(unix) {
            fs::write(at("file"), "mine").expect("it is writable");
            assert!(!add_name(&at("new"), &at("file")).expect("it can be read"));
            assert_eq!(fs::read_to_string(at("file")).expect("readable"), "mine");
        }
    }
}
