//! The name under which people call the program, and its place in the texts that they read.
//!
//! Texts say `kubectl storage`; krew may install the program under another name. Whatever prints a text for people
//! passes it through [`in_own_name`] before it breaks it into lines. What programs read keeps the name.

use std::{borrow::Cow, sync::OnceLock};

/// The name of the program in texts, and in all that other programs read.
pub const PROGRAM: &str = "kubectl storage";
/// The name of kubectl, which no plugin has.
const KUBECTL: &str = "kubectl";
/// Commands that kubectl carries out itself (1.36, `kubectl --help`): it looks for no plugin of these names.
const OF_KUBECTL: [&str; 43] = [
    "alpha",
    "annotate",
    "api-resources",
    "api-versions",
    "apply",
    "attach",
    "auth",
    "autoscale",
    "certificate",
    "cluster-info",
    "completion",
    "config",
    "cordon",
    "cp",
    "create",
    "debug",
    "delete",
    "describe",
    "diff",
    "drain",
    "edit",
    "events",
    "exec",
    "explain",
    "expose",
    "get",
    "help",
    "kuberc",
    "kustomize",
    "label",
    "logs",
    "options",
    "patch",
    "plugin",
    "port-forward",
    "proxy",
    "replace",
    "rollout",
    "run",
    "scale",
    "set",
    "taint",
    "top",
];
/// Length of the longest name that is accepted: a command must have room beside it.
const LONGEST: usize = 60;

/// The name under which this process was called.
static CALLED: OnceLock<String> = OnceLock::new();

/// Sets the name of the program in what people read, for as long as the process runs.
pub fn call_program(name: &str) {
    // It is set once: by the command line.
    let _ = CALLED.set(name.to_owned());
}

/// Returns the name of the program in what people read.
pub fn program() -> &'static str {
    CALLED.get().map_or(PROGRAM, String::as_str)
}

/// Whether a name can be typed as it stands, and means this program: words of ASCII letters, digits, `-` and `_`, with
/// one space between them. What kubectl carries out itself is no plugin, and what follows the usual name is a command.
pub fn is_program_name(name: &str) -> bool {
    let plain = |it: char| it.is_ascii_alphanumeric() || matches!(it, '-' | '_');
    let is_word = |it: &str| !it.is_empty() && !it.starts_with('-') && it.chars().all(plain);
    let of_kubectl = name.strip_prefix(KUBECTL).map(|rest| rest.trim_start().split(' ').next());
    let is_own = name == PROGRAM || !format!("{name} ").contains(&format!("{PROGRAM} "));
    let is_other = of_kubectl.flatten().is_some_and(|it| it.is_empty() || OF_KUBECTL.contains(&it));
    name.len() <= LONGEST && is_own && !is_other && name.split(' ').all(is_word)
}

/// Returns a text with the name under which the program was called.
pub fn in_own_name(text: &str) -> Cow<'_, str> {
    renamed(text, program())
}

/// Whether a text begins with a command of kubectl, or of the program.
pub fn begins_command(text: &str) -> bool {
    let begins = |name: &str| text.strip_prefix(name).is_some_and(|rest| rest.starts_with(' '));
    begins(KUBECTL) || begins(program())
}

/// Returns a text with another name of the program, in each of its commands in the text. A path, a context or a handle
/// may have these words as well, and keeps them.
pub fn renamed<'t>(text: &'t str, name: &str) -> Cow<'t, str> {
    if name == PROGRAM || !text.contains(PROGRAM) {
        return Cow::Borrowed(text);
    }
    let mut parts = text.split(PROGRAM);
    let mut renamed = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let begins = renamed.ends_with(|it: char| it.is_whitespace() || "`(\"".contains(it));
        let goes_on = part
            .strip_prefix(' ')
            .is_some_and(|it| it.starts_with(|it: char| it.is_ascii_lowercase()));
        let is_command = (renamed.is_empty() || begins) && goes_on;
        renamed.push_str(if is_command { name } else { PROGRAM });
        renamed.push_str(part);
    }
    Cow::Owned(renamed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_the_name_once_however_often_it_is_renamed() {
        for (name, expected) in [
            ("kubectl storage", "`kubectl storage gc`, then kubectl storage undo"),
            (
                "kubectl volume-doctor",
                "`kubectl volume-doctor gc`, then kubectl volume-doctor undo",
            ),
            (
                "kubectl storage-doctor",
                "`kubectl storage-doctor gc`, then kubectl storage-doctor undo",
            ),
            ("oc storage", "`oc storage gc`, then oc storage undo"),
            ("storage", "`storage gc`, then storage undo"),
            ("storage gc", "`storage gc gc`, then storage gc undo"),
        ] {
            let once = renamed("`kubectl storage gc`, then kubectl storage undo", name);
            assert_eq!(once, expected);
            assert_eq!(renamed(&once, name), expected);
        }
        for same in [
            "kubectl-storage, kubectl get pv",
            "gc --context 'kubectl storage'",
            "Cluster https://a (context kubectl storage), all namespaces",
            "deletes the backend volume /exports/kubectl storage/catalog",
            "retain pv/a -f 'kubectl storage/d.json.gz'",
            "the journal is /a/kubectl storage-of-the-team/journal.jsonl",
        ] {
            assert_eq!(renamed(same, "kubectl volume-doctor"), same);
        }
    }

    #[test]
    fn a_name_is_what_can_be_typed() {
        for name in ["kubectl storage", "kubectl volume-doctor", "oc storage", "k_s", "a1 b2 c3"] {
            assert!(is_program_name(name), "{name}");
        }
        let long = "a".repeat(LONGEST + 1);
        for name in [
            "",
            "kubectl",
            " ",
            "a ",
            " a",
            "a  b",
            "a -n b",
            "a;b",
            "a`b",
            "a'b",
            "$(a)",
            "a\nb",
            "a/b",
            "ü",
            "kubectl delete ns",
            "kubectl get",
            "kubectl storage gc",
            "my kubectl storage",
            &long,
        ] {
            assert!(!is_program_name(name), "{name:?}");
        }
    }
}
