//! The reason of a gap: why a list or a watch failed, in the words of a report.

use crate::client::ReadError;

/// Returns why not everything was read.
pub(in crate::sources) fn gap_reason(error: &ReadError) -> String {
    match error {
        ReadError::Api { code: 403, message, .. } => format!("forbidden: {}", denial(message)),
        _ => error.to_string(),
    }
}

/// Returns the part of an authorizer's denial that matters: who may not do what, and where.
fn denial(message: &str) -> String {
    let said = message.split_once(" is forbidden: ").map_or(message, |(_, said)| said);
    match said.split_once(" in API group ") {
        // `"" at the cluster scope`, or `"apps" in the namespace "x"`.
        Some((what, rest)) => match rest.split_once("\" ") {
            Some((_, place)) => format!("{what} {place}"),
            None => said.to_owned(),
        },
        None => said.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::denial;

    #[test]
    fn a_denial_says_who_may_not_do_what() {
        let message = "persistentvolumes is forbidden: User \"u\" cannot list resource \"persistentvolumes\" in API group \"\" at the cluster scope";
        assert_eq!(
            denial(message),
            "User \"u\" cannot list resource \"persistentvolumes\" at the cluster scope"
        );
        assert_eq!(denial("a webhook says no"), "a webhook says no");
    }
}
