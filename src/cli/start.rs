//! Commands to start with, at the end of a report at a terminal, as they can be typed.

use std::path::{Path, PathBuf};

use super::{reading::DumpSourceArgs, terminal};
use crate::{
    facts::quoted,
    model::{FieldSelector, Scope},
    output::{lines::command_lines, repeated::last_command, screen::SameReport},
};

/// Returns the command for the same report in another format; `None` where objects were selected by name.
pub(super) fn again(scope: &Scope, files: &[PathBuf]) -> Option<SameReport> {
    let is_stdin = files.iter().any(|it| it.as_os_str() == "-");
    if is_stdin || !scope.objects.is_empty() || scope.fields != FieldSelector::default() {
        return None;
    }
    let ignored: Vec<&str> = scope.ignored.iter().map(|it| &**it).collect();
    let typed = [("--ignore", ignored.join(",")), ("-l", scope.selector.to_string())];
    let typed = typed.iter().filter(|(_, value)| !value.is_empty());
    let typed = typed.map(|(flag, value)| format!(" {flag} {}", quoted(value)));
    let flags = typed.chain(files.iter().map(|it| format!(" {}", of_dump(it)))).collect();
    let namespaces = scope.namespaces.iter().map(ToString::to_string).collect();
    Some(SameReport { namespaces, flags })
}

fn of_dump(file: &Path) -> String {
    format!("-f {}", quoted(&file.to_string_lossy()))
}

/// Tells the commands to start with, each as it can be typed, with the flags of the dump where the report was of one.
pub(super) fn tell(start: &[String], dump: &DumpSourceArgs) {
    if start.is_empty() || dump.files().iter().any(|it| it.as_os_str() == "-") {
        return;
    }
    terminal::note("Start here:");
    let width = terminal::width().map_or(80, usize::from);
    for command in start {
        let mut command = command.clone();
        let name = last_command(&command).unwrap_or_default().to_owned();
        if READS_DUMPS.contains(&&*name) {
            let files = dump.files().iter().map(|it| format!(" {}", of_dump(it)));
            command.extend(files);
        }
        if TRUSTS_DUMPS.contains(&&*name) {
            command.push_str(&dump.said());
        }
        for line in command_lines(&command, width.saturating_sub(2)) {
            terminal::note(&format!("  {line}"));
        }
    }
}

/// Names of commands that take a dump instead of a cluster.
pub(super) const READS_DUMPS: [&str; 11] = [
    "audit",
    "delete",
    "df",
    "disown",
    "expand",
    "explain",
    "fix-finalizers",
    "gc",
    "rebind",
    "retain",
    "teardown",
];

/// Names of commands that take a dump with `--taken-at` and `--complete`.
pub(super) const TRUSTS_DUMPS: [&str; 9] =
    ["audit", "delete", "df", "expand", "explain", "fix-finalizers", "gc", "rebind", "teardown"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Kind, ObjectKey};

    #[test]
    fn the_same_report_is_asked_for_again() {
        let mut scope = Scope::default();
        let same = |namespaces: &[&str], flags: &str| SameReport {
            namespaces: namespaces.iter().map(|it| (*it).to_owned()).collect(),
            flags: flags.to_owned(),
        };
        assert_eq!(again(&scope, &[]), Some(same(&[], "")));
        scope.namespaces.insert("shop".into());
        scope.ignored.insert("pvc-unused".into());
        assert_eq!(
            again(&scope, &["a b.json".into()]),
            Some(same(&["shop"], " --ignore pvc-unused -f 'a b.json'"))
        );
        scope.objects.insert(ObjectKey::cluster_wide(Kind::PersistentVolume, "pv-1"));
        assert_eq!(again(&scope, &[]), None);
    }
}
