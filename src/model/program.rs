//! The name under which people call the program, and its place in the texts that they read.
//!
//! Texts say `kubectl storage`; krew may install the program under another name. Whatever prints a text for people
//! passes it through [`in_own_name`] before it breaks it into lines. What programs read keeps the name.

use std::{borrow::Cow, sync::OnceLock};

/// The name in texts, and in all that programs read.
pub const PROGRAM: &str = "kubectl storage";
/// What no plugin of kubectl is called.
const KUBECTL: &str = "kubectl";
/// The longest name that is taken: a command must have room beside it.
const LONGEST: usize = 60;

/// The name under which this process was called.
static CALLED: OnceLock<String> = OnceLock::new();

/// Sets the name in what people read, for as long as the process runs.
pub fn call_program(name: &str) {
    // It is set once: by the command line.
    let _ = CALLED.set(name.to_owned());
}

/// Returns the name in what people read.
pub fn program() -> &'static str {
    CALLED.get().map_or(PROGRAM, String::as_str)
}

/// Whether a name can be typed as it stands: words of ASCII letters, digits, `-` and `_`, with one space between them.
pub fn is_program_name(name: &str) -> bool {
    let plain = |it: char| it.is_ascii_alphanumeric() || matches!(it, '-' | '_');
    let is_word = |it: &str| !it.is_empty() && !it.starts_with('-') && it.chars().all(plain);
    name.len() <= LONGEST && name != KUBECTL && name.split(' ').all(is_word)
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

/// Returns a text with another name of the program. What has it already stays: a name may begin with the one that
/// texts have, and lines are made of lines.
pub fn renamed<'t>(text: &'t str, name: &str) -> Cow<'t, str> {
    if name == PROGRAM || !text.contains(PROGRAM) {
        return Cow::Borrowed(text);
    }
    let parts: Vec<_> = text.split(name).map(|part| part.replace(PROGRAM, name)).collect();
    Cow::Owned(parts.join(name))
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
        ] {
            let once = renamed("`kubectl storage gc`, then kubectl storage undo", name);
            assert_eq!(once, expected);
            assert_eq!(renamed(&once, name), expected);
        }
        let same = "kubectl-storage, kubectl get pv";
        assert_eq!(renamed(same, "kubectl volume-doctor"), same);
    }

    #[test]
    fn a_name_is_what_can_be_typed() {
        for name in ["kubectl storage", "kubectl volume-doctor", "oc storage", "k_s", "a1 b2 c3"] {
            assert!(is_program_name(name), "{name}");
        }
        let long = "a".repeat(LONGEST + 1);
        for name in [
            "", "kubectl", " ", "a ", " a", "a  b", "a -n b", "a;b", "a`b", "a'b", "$(a)", "a\nb",
            "a/b", "ü", &long,
        ] {
            assert!(!is_program_name(name), "{name:?}");
        }
    }
}
