//! Text from the cluster in shell commands that are only shown.

use crate::model::{ObjectKey, ObjectRef};

/// Whether a text may stand in a command that a reader copies into a shell: names in a dump may be
/// anything, also what a shell would carry out.
pub fn is_plain_word(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | '/' | ':');
    !text.is_empty() && !text.starts_with('-') && text.chars().all(is_plain)
}

/// An object as the arguments of `kubectl storage`: `pvc/data -n shop`.
pub fn on_command_line(object: &ObjectRef) -> String {
    let ObjectKey { kind, namespace, name } = &object.key;
    let named = quoted(&format!("{}/{name}", kind.short()));
    match namespace {
        Some(namespace) => format!("{named} -n {}", quoted(namespace)),
        None => named,
    }
}

/// A word of a command, quoted where a shell would carry it out.
pub fn quoted(word: &str) -> String {
    if is_plain_word(word) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Kind;

    #[test]
    fn what_a_shell_would_carry_out_is_not_plain() {
        for (text, plain) in [
            ("data-web-0", true),
            ("pvc-1.2_3", true),
            ("ip-10-0-1-201.us-west-2.compute.internal", true),
            ("", false),
            ("-n", false),
            ("a b", false),
            ("a;b", false),
            ("a'b", false),
            ("$(a)", false),
            ("a\nb", false),
        ] {
            assert_eq!(is_plain_word(text), plain, "{text:?}");
        }
    }

    #[test]
    fn what_is_not_plain_is_quoted() {
        let key = |name: &str| ObjectKey::cluster_wide(Kind::PersistentVolume, name);
        for (name, words) in [("a", "pv/a"), ("a;b", "'pv/a;b'"), ("a'b", r"'pv/a'\''b'")] {
            let object = ObjectRef { key: key(name), uid: None };
            assert_eq!(on_command_line(&object), words);
        }
    }
}
