//! Name under which the program is called: the one place that decides it.

use std::path::Path;

use crate::model::{PROGRAM, is_program_name};

/// Environment variable with the name that people type, where it is not that of the file.
pub(super) const VARIABLE: &str = "KUBECTL_STORAGE_NAME";
/// Note that the name in the variable is ignored, with what a name must be.
pub(super) const IGNORED: &str = "note: $KUBECTL_STORAGE_NAME is ignored: expected words of letters, digits, - and _, \
                                  such as \"kubectl volume-doctor\"";
/// Prefix in the file names of kubectl's plugins.
pub(super) const PLUGIN: &str = "kubectl-";

/// Returns the name under which people call the program: what they say, else by the file that was called; and whether
/// what they say is ignored, since it is no name.
pub(super) fn decide(called: &str, told: Option<&str>) -> (String, bool) {
    // kubectl looks for the words of a command in the name of the file: a dash stands between two of them, and an
    // underscore for a dash within one.
    let words = |file: &str| file.replace('-', " ").replace('_', "-");
    let name = plugin_file(called).map(words).filter(|it| is_program_name(it));
    let name = name.unwrap_or_else(|| PROGRAM.to_owned());
    match told.filter(|it| !it.is_empty()) {
        Some(told) if is_program_name(told) => (told.to_owned(), false),
        ignored => (name, ignored.is_some()),
    }
}

/// Returns the name of the file that was called, if it is that of a plugin.
pub(super) fn plugin_file(called: &str) -> Option<&str> {
    let file = Path::new(called).file_name()?.to_str()?;
    let file = file.strip_suffix(".exe").unwrap_or(file);
    let plugin = file.strip_prefix(PLUGIN)?;
    (!plugin.starts_with('-') && is_program_name(plugin)).then_some(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_that_of_the_plugin() {
        for (called, name) in [
            ("/home/ann/.krew/bin/kubectl-storage", "kubectl storage"),
            ("kubectl-volume_doctor", "kubectl volume-doctor"),
            ("kubectl-volume_doctor.exe", "kubectl volume-doctor"),
            ("kubectl-volume-doctor", "kubectl volume doctor"),
            ("kubectl-", "kubectl storage"),
            ("kubectl-a;b", "kubectl storage"),
            ("kubectl-storage-", "kubectl storage"),
            ("kubectl-storage-1.2", "kubectl storage"),
            ("./kubectl-storage-linux-amd64", "kubectl storage"),
            ("kubectl-delete", "kubectl storage"),
            ("target/debug/it-1234", "kubectl storage"),
            ("", "kubectl storage"),
        ] {
            assert_eq!(decide(called, None), (name.to_owned(), false), "{called}");
        }
    }

    #[test]
    fn what_people_say_comes_first_where_it_can_be_typed() {
        let called = "kubectl-volume_doctor";
        for (told, name) in [
            ("oc storage", ("oc storage", false)),
            ("kubectl-storage", ("kubectl-storage", false)),
            ("", ("kubectl volume-doctor", false)),
            ("rm -rf; kubectl storage", ("kubectl volume-doctor", true)),
            ("kubectl", ("kubectl volume-doctor", true)),
        ] {
            let (decided, is_ignored) = decide(called, Some(told));
            assert_eq!((&*decided, is_ignored), name, "{told}");
        }
    }
}
