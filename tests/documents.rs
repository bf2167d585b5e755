//! The documents that every archive of a release holds, for tests of what packs and installs archives.

use std::{fs, path::Path};

/// Writes them where `release/archive` looks for them. What stands in them does not matter.
pub(crate) fn write(out: &Path) {
    for file in [
        "man/kubectl-storage.1",
        "completions/kubectl-storage.bash",
        "licenses/crates.txt",
        "licenses/rust-standard-library.html",
        "licenses/musl.txt",
        "licenses/mingw-w64.txt",
    ] {
        let path = out.join("documents").join(file);
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("it is writable");
        fs::write(path, file).expect("it is writable");
    }
}
