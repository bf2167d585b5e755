//! Why the guard does not look at somebody's requests: what the match condition decides, in words.

use super::options::{GuardOptions, PEOPLE};

/// Returns why every request of a user passes the guard; `None` if it does not. The policies decide
/// by themselves: this only explains what was seen.
pub fn passes(options: &GuardOptions, user: &str, groups: &[String]) -> Option<String> {
    let in_group = |group: &str| groups.iter().any(|it| it == group);
    let is_denied = |(namespace, name): &(String, String)| {
        user.strip_prefix("system:serviceaccount:") == Some(&*format!("{namespace}:{name}"))
    };
    if in_group(&options.break_glass) {
        return Some(format!("{user} is in the break-glass group {}", options.break_glass));
    }
    if options.passed_users.contains(user) {
        return Some(format!("--pass-user lists {user}"));
    }
    if PEOPLE.contains(&user) || options.denied_accounts.iter().any(is_denied) {
        return None;
    }
    if in_group("system:serviceaccounts") {
        return Some(format!("{user} is a service account that --deny-account does not list"));
    }
    user.starts_with("system:").then(|| format!("{user} begins with system:, as controllers do"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controllers_pass_and_people_do_not() {
        let mut options = GuardOptions::default();
        options.denied_accounts.insert(("ci".to_owned(), "deployer".to_owned()));
        options.passed_users.insert("eks:addon-manager".to_owned());
        let accounts = ["system:serviceaccounts", "system:authenticated"];
        for (user, groups, pass) in [
            ("kubernetes-admin", &["system:masters"][..], false),
            ("ann@example.com", &["system:authenticated"], false),
            ("system:admin", &["system:masters"], false),
            ("system:anonymous", &["system:unauthenticated"], false),
            ("system:kube-controller-manager", &["system:authenticated"], true),
            ("system:node:n1", &["system:nodes"], true),
            ("system:serviceaccount:kube-system:generic-garbage-collector", &accounts, true),
            ("system:serviceaccount:ci:deployer", &accounts, false),
            ("system:serviceaccount:ci:deployer2", &accounts, true),
            ("eks:addon-manager", &[], true),
            ("ann@example.com", &["storage.kubectl.dev:break-glass"], true),
        ] {
            let groups: Vec<_> = groups.iter().map(|it| (*it).to_owned()).collect();
            assert_eq!(passes(&options, user, &groups).is_some(), pass, "{user}");
        }
    }
}
