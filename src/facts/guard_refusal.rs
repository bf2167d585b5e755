//! A controller that the guard refuses: its username does not begin with `system:`, so that the guard
//! takes it for a person. It retries for ever.

use super::{FAILED_DELETE, last_event, quoted};
use crate::cluster::Cx;
use crate::model::{GUARD_NAME, Kind, Volume};

/// The longest name of a user that is believed.
const LONGEST: usize = 253;

/// A refusal by the guard, as the message of an Event of the refused controller has it.
///
/// Whoever may create Events can write one: it is shown, and the reader has to recognise the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuardRefusal {
    /// The user as which the controller acts, if the message names one.
    pub user: Option<String>,
}

impl GuardRefusal {
    /// Reads the message of an Event about a volume; `None` if the guard did not refuse it.
    pub fn of(message: &str) -> Option<Self> {
        let policy =
            format!("ValidatingAdmissionPolicy '{GUARD_NAME}-{}'", Kind::PersistentVolume.plural());
        let (before, after) = message.split_once(&policy)?;
        let says = after.contains("denied request");
        let named = |text: &str| {
            let user = text.split_once("User \"")?.1.split_once('"')?.0;
            let is_printable = |c: char| c.is_ascii_graphic() && c != '\'' && c != '\\';
            let is_name = !user.is_empty() && user.len() <= LONGEST;
            (is_name && user.chars().all(is_printable)).then(|| user.to_owned())
        };
        says.then(|| Self { user: named(after).or_else(|| named(before)) })
    }

    /// The next step. `controller` is who is refused; `passed` are the users that the guard is known to
    /// let pass, which have to be listed again.
    pub fn advice(&self, controller: &str, passed: &[String]) -> String {
        let again = passed.iter().map(|user| format!(" --pass-user {}", quoted(user)));
        let again: String = again.collect();
        let replaced = if passed.is_empty() {
            "; add --pass-user for those that `kubectl storage guard status` lists as passing"
        } else {
            ""
        };
        match &self.user {
            Some(user) => format!(
                "if {user} is the user as which {controller} acts, `kubectl storage guard install{again} --pass-user {}` \
                 lets it pass{replaced}",
                quoted(user)
            ),
            None => format!(
                "`kubectl storage guard install{again} --pass-user USER` lets it pass, where USER is the user as which \
                 {controller} acts: the API server's audit log names it{replaced}"
            ),
        }
    }
}

/// Returns the refusal of a volume's controller by the guard, if that is why its last attempt failed,
/// as far as Events were read.
pub fn guard_refusal(cx: &Cx, volume: &Volume) -> Option<GuardRefusal> {
    let series = last_event(cx, volume, &[FAILED_DELETE]).ok().flatten()?;
    GuardRefusal::of(&series.newest.message)
}

#[cfg(test)]
mod tests {
    use super::*;

    const REFUSED: &str = "persistentvolumes \"a\" is forbidden: ValidatingAdmissionPolicy \
         'kubectl-storage-guard-persistentvolumes' with binding 'kubectl-storage-guard-persistentvolumes' denied \
         request: removing a finalizer by hand can lose data";

    #[test]
    fn only_the_guard_refuses_and_only_a_name_is_a_user() {
        for (message, expected) in [
            (REFUSED.to_owned(), Some(None)),
            (format!("{REFUSED}. User \"eks:csi-provisioner\""), Some(Some("eks:csi-provisioner"))),
            (format!("User \"a\" cannot patch: {REFUSED}"), Some(Some("a"))),
            (format!("{REFUSED} User \"$(rm 'x')\""), Some(None)),
            (format!("{REFUSED} User \"\""), Some(None)),
            (REFUSED.replace("denied request", "warned"), None),
            (REFUSED.replace("kubectl-storage-guard", "other"), None),
            (REFUSED.replace("persistentvolumes'", "persistentvolumeclaims'"), None),
            ("rpc error".to_owned(), None),
        ] {
            let found = GuardRefusal::of(&message);
            let found = found.as_ref().map(|it| it.user.as_deref());
            assert_eq!(found, expected, "{message}");
        }
    }

    #[test]
    fn a_user_is_quoted_and_those_that_pass_already_are_listed_again() {
        let of = |user: &str| GuardRefusal { user: Some(user.to_owned()) };
        let advice = of("a$b").advice("csi-provisioner", &["eks:x".to_owned()]);
        assert!(advice.contains("install --pass-user eks:x --pass-user 'a$b'`"), "{advice}");
        let unknown = GuardRefusal { user: None }.advice("csi-provisioner", &[]);
        assert!(unknown.contains("--pass-user USER` lets it pass, where USER is"), "{unknown}");
    }
}
