//! Names of drivers in arguments, paths and Leases, by which controllers are recognised.

/// Replaces the characters that neither finalizers nor Leases may contain (external-attacher
/// `SanitizeDriverName`; csi-lib-utils `sanitizeName`).
pub fn sanitize(driver: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '-' };
    let mut name: String = driver.chars().map(plain).collect();
    if name.ends_with('-') {
        name.push('X');
    }
    name
}

/// Returns the possible names of the Lease of a driver's provisioner: those of csi-provisioner, and of provisioners
/// that use the leader election of the library.
pub fn provisioner_leases(driver: &str) -> Vec<String> {
    vec![sanitize(driver), driver.replace('/', "-")]
}

/// Whether the name of a driver can contain this character.
fn part(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_')
}

/// Returns the words of a text that could be the name of a driver.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c| !part(c)).filter(|word| !word.is_empty())
}

/// Whether a text contains the name of a driver as a whole word: `ebs.csi.aws.com` is not in
/// `my-ebs.csi.aws.com`.
pub fn mentions(text: &str, driver: &str) -> bool {
    text.match_indices(driver).any(|(start, _)| {
        let before = text[..start].chars().next_back();
        let after = text[start + driver.len()..].chars().next();
        !before.is_some_and(part) && !after.is_some_and(part)
    })
}

/// Returns the driver in a text of one of the usual forms: `--drivername=X`, `--driver-name=X`, or
/// a kubelet plugin folder. A variable is no name, and the folder of kubelet itself belongs to all
/// drivers.
pub fn named_driver(text: &str) -> Option<&str> {
    let flag = text.trim_start_matches('-');
    for name in [
        "drivername=",
        "driver-name=",
        "driver_name=",
        "DRIVER_NAME=",
        "CSI_DRIVER_NAME=",
        "PROVISIONER_NAME=",
    ] {
        if let Some(driver) = flag.strip_prefix(name) {
            return (!driver.contains('$') && !driver.is_empty()).then_some(driver);
        }
    }
    let (_, rest) = text.split_once("/kubelet/plugins/")?;
    let folder = rest.split('/').next()?;
    let is_name = folder.contains('.') && !folder.contains('$') && folder != "kubernetes.io";
    is_name.then_some(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sanitised_as_upstream_does() {
        for (driver, name) in [
            ("ebs.csi.aws.com", "ebs-csi-aws-com"),
            ("k8s.io/minikube-hostpath", "k8s-io-minikube-hostpath"),
            ("odd.", "odd-X"),
        ] {
            assert_eq!(sanitize(driver), name);
        }
    }

    #[test]
    fn a_driver_is_mentioned_as_a_whole_word_only() {
        assert!(mentions("--drivername=a.example", "a.example"));
        assert!(mentions("/var/lib/kubelet/plugins/a.example/csi.sock", "a.example"));
        assert!(!mentions("--drivername=not-a.example", "a.example"));
        assert!(!mentions("--drivername=a.example.org", "a.example"));
        assert_eq!(named_driver("--drivername=b"), Some("b"));
        assert_eq!(named_driver("/var/lib/kubelet/plugins/b.example/"), Some("b.example"));
        for nobody in [
            "--v=5",
            "--drivername=$(DRIVER)",
            "/var/lib/kubelet/plugins/kubernetes.io",
            "/var/lib/kubelet/plugins/$(DRIVER).x/",
            "/var/lib/kubelet/plugins/csi-hostpath",
        ] {
            assert_eq!(named_driver(nobody), None, "{nobody}");
        }
    }
}
