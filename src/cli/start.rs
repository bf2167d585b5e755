//! Where to start: the commands that a report at a terminal ends with, as they can be typed.

use std::path::{Path, PathBuf};

use super::terminal;
use crate::{
    facts::quoted,
    model::{FieldSelector, Scope},
    output::lines::command_lines,
};

/// The command that reports the same once more, in another format; `None` where objects were selected by name.
pub(super) fn again(scope: &Scope, files: &[PathBuf]) -> Option<String> {
    if !scope.objects.is_empty() || scope.fields != FieldSelector::default() {
        return None;
    }
    let mut words = vec!["kubectl storage audit".to_owned()];
    for (flag, values) in [("-n", &scope.namespaces), ("--ignore", &scope.ignored)] {
        if !values.is_empty() {
            let values: Vec<&str> = values.iter().map(|it| &**it).collect();
            words.push(format!("{flag} {}", quoted(&values.join(","))));
        }
    }
    let selector = scope.selector.to_string();
    if !selector.is_empty() {
        words.push(format!("-l {}", quoted(&selector)));
    }
    words.extend(files.iter().map(|it| of_dump(it)));
    Some(words.join(" "))
}

fn of_dump(file: &Path) -> String {
    format!("-f {}", quoted(&file.to_string_lossy()))
}

/// Tells the commands with which to begin, each as it can be typed: about a dump where the report was
/// of one.
pub(super) fn tell(start: &[String], files: &[PathBuf]) {
    if start.is_empty() || files.iter().any(|it| it.as_os_str() == "-") {
        return;
    }
    terminal::note("Start here:");
    let width = terminal::width().map_or(80, usize::from);
    for command in start {
        let mut command = command.clone();
        if reads_dumps(&command) {
            let files = files.iter().map(|it| format!(" {}", of_dump(it)));
            command.extend(files);
        }
        for line in command_lines(&command, width.saturating_sub(2)) {
            terminal::note(&format!("  {line}"));
        }
    }
}

/// Commands that take a dump instead of a cluster.
const READS_DUMPS: [&str; 8] =
    ["audit", "delete", "disown", "explain", "fix-finalizers", "gc", "rebind", "retain"];

fn reads_dumps(command: &str) -> bool {
    let last = command.rsplit("kubectl storage ").next().unwrap_or_default();
    last.split_whitespace().next().is_some_and(|name| READS_DUMPS.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Kind, ObjectKey};

    #[test]
    fn commands_that_read_dumps_are_known() {
        for (command, reads) in [
            ("kubectl storage retain pv/a", true),
            ("kubectl storage explain pv/a", true),
            ("kubectl storage audit -o name | xargs -o kubectl storage gc --older-than 7d", true),
            ("kubectl storage undo 12", false),
            ("kubectl storage guard install", false),
        ] {
            assert_eq!(reads_dumps(command), reads, "{command}");
        }
    }

    #[test]
    fn the_same_report_is_asked_for_again() {
        let mut scope = Scope::default();
        assert_eq!(again(&scope, &[]).as_deref(), Some("kubectl storage audit"));
        scope.namespaces.insert("shop".into());
        scope.ignored.insert("pvc-unused".into());
        assert_eq!(
            again(&scope, &["a b.json".into()]).as_deref(),
            Some("kubectl storage audit -n shop --ignore pvc-unused -f 'a b.json'")
        );
        scope.objects.insert(ObjectKey::cluster_wide(Kind::PersistentVolume, "pv-1"));
        assert_eq!(again(&scope, &[]), None);
    }
}
