//! Paths of collections and objects in the API, every part of them escaped.

use std::fmt::Write as _;

/// Returns the path of a collection.
pub fn collection_path(
    group: &str,
    version: &str,
    namespace: Option<&str>,
    resource: &str,
) -> String {
    let mut path = match group {
        "" => "/api".to_owned(),
        _ => "/apis".to_owned(),
    };
    let namespace = namespace.map(|namespace| ["namespaces", namespace]);
    let group = Some(group).filter(|group| !group.is_empty());
    let parts = group.into_iter().chain([version]).chain(namespace.into_iter().flatten());
    for part in parts.chain([resource]) {
        path.push('/');
        escape(&mut path, part);
    }
    path
}

/// Returns the path of an object. The name may come from a reference, which no server has checked.
pub fn object_path(
    group: &str,
    version: &str,
    namespace: Option<&str>,
    resource: &str,
    name: &str,
) -> String {
    let mut path = collection_path(group, version, namespace, resource);
    path.push('/');
    escape(&mut path, name);
    path
}

/// Returns `apiVersion` of a group and a version: `v1`, `apps/v1`…
pub(super) fn api_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

/// Percent-encodes everything but letters, digits and `-._~`, and a name of dots only, which would
/// lead to another folder of the API.
pub(super) fn escape(path: &mut String, text: &str) {
    let climbs = text.bytes().all(|byte| byte == b'.');
    for byte in text.bytes() {
        let harmless = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        if harmless && !climbs {
            path.push(char::from(byte));
        } else {
            write!(path, "%{byte:02X}").expect("because a String grows");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::object_path;

    #[test]
    fn a_name_stays_one_segment_of_the_path() {
        for (name, wanted) in [
            ("web", "/apis/apps/v1/namespaces/shop/statefulsets/web"),
            ("a.b-c_d", "/apis/apps/v1/namespaces/shop/statefulsets/a.b-c_d"),
            ("../../x", "/apis/apps/v1/namespaces/shop/statefulsets/..%2F..%2Fx"),
            ("..", "/apis/apps/v1/namespaces/shop/statefulsets/%2E%2E"),
            ("a?b#c d%", "/apis/apps/v1/namespaces/shop/statefulsets/a%3Fb%23c%20d%25"),
        ] {
            assert_eq!(object_path("apps", "v1", Some("shop"), "statefulsets", name), wanted);
        }
        assert_eq!(object_path("", "v1", None, "nodes", "n0"), "/api/v1/nodes/n0");
    }
}
