//! Command lines of containers: the few flags that are read of them.

use crate::drivers::UNREAD;

/// The flags of command lines that are kept, and only of pods that run a sidecar or a provisioner: the rest may hold
/// passwords, and nothing is read of it. The second list has those whose value may be the next argument.
const FLAGS: [&str; 8] = [
    "delete-access-point-root-dir",
    "enable-leader-election",
    "leader-elect",
    "leader-election",
    "leader-election-namespace",
    "multi-zone-volume-handle-enable",
    "node-deployment",
    "type",
];
const FLAGS_WITH_VALUES: [&str; 15] = [
    "csi-address",
    "csi-name",
    "default-ondelete-policy",
    "driver",
    "driver-name",
    "driver_name",
    "drivername",
    "endpoint",
    "feature-gates",
    "kubelet-registration-path",
    "name",
    "plugin-name",
    "plugin-registration-path",
    "provisioner",
    "provisioner-name",
];

/// The flags by which a driver marks the disks of its cluster (semantics#cluster-identity), which are kept only of pods
/// that run a sidecar.
const FLAGS_OF_CLUSTER: [&str; 5] =
    ["--cluster", "--cluster-ownership-id", "--do-tag", "--extra-labels", "--k8s-tag-cluster-id"];

/// Returns the flag by which a word of a command line marks the disks of a cluster, and its value.
pub(super) fn flag_of_cluster(word: &str) -> Option<(&'static str, Option<&str>)> {
    let name = word.strip_prefix('-')?.trim_start_matches('-');
    let (name, value) = name.split_once('=').map_or((name, None), |it| (it.0, Some(it.1)));
    let flag = FLAGS_OF_CLUSTER.into_iter().find(|it| it[2..] == *name)?;
    Some((flag, value))
}

/// Returns what is kept of a command line: a flag and its value as one word, and [`UNREAD`] for a line of
/// a shell or what contains a variable, which may hold any flag. `of_driver` is whether the pod runs a sidecar.
pub(super) fn known_flags(words: &[String], of_driver: bool) -> Vec<String> {
    let flag = |word: &str| {
        let flag = word.strip_prefix('-')?.trim_start_matches('-');
        let (name, value) = flag.split_once('=').map_or((flag, None), |it| (it.0, Some(it.1)));
        let takes_next =
            FLAGS_WITH_VALUES.contains(&name) || of_driver && flag_of_cluster(word).is_some();
        let is_plain = !value.unwrap_or_default().contains(char::is_whitespace);
        (is_plain && (takes_next || FLAGS.contains(&name))).then_some(takes_next && value.is_none())
    };
    let is_of_line = |word: &&str| flag(word).is_some() && flag_of_cluster(word).is_none();
    let is_flag = |word: &str| word.starts_with('-');
    let is_named = |word: &str| {
        let name = word.strip_prefix('-').and_then(|it| it.split_once('=')).map(|it| it.0);
        name.is_some_and(|name| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'))
    };
    let mut kept = Vec::new();
    let mut words = words.iter().peekable();
    while let Some(word) = words.next() {
        match flag(word) {
            Some(takes_next) => {
                let value = words.next_if(|next| takes_next && !is_flag(next));
                kept.push(value.map_or_else(|| word.clone(), |value| format!("{word}={value}")));
            }
            None if word.contains(char::is_whitespace) || word.contains('$') && !is_named(word) => {
                let inner = word.split_whitespace().filter(is_of_line);
                kept.push([UNREAD].into_iter().chain(inner).collect::<Vec<_>>().join(" "));
            }
            None => {}
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_drivers_name_their_cluster() {
        for (words, kept) in [
            (&["--cluster=prod", "-v"][..], &["--cluster=prod"][..]),
            (&["--cluster", "prod", "never"], &["--cluster=prod"]),
            (&["-k8s-tag-cluster-id", "a"], &["-k8s-tag-cluster-id=a"]),
            (&["--extra-labels=a=b,c=d"], &["--extra-labels=a=b,c=d"]),
            (&["--cluster=$(CLUSTER_NAME)"], &["--cluster=$(CLUSTER_NAME)"]),
            (&["--cluster-name=never", "--extra-label=never", "cluster=never"], &[]),
            (&["sh", "-c", "run --cluster=never --extra-labels never"], &[UNREAD]),
        ] {
            let words: Vec<_> = words.iter().map(|it| (*it).to_owned()).collect();
            assert_eq!(known_flags(&words, true), kept, "{words:?}");
            let kept = kept.iter().filter(|it| **it == UNREAD).collect::<Vec<_>>();
            assert_eq!(known_flags(&words, false).iter().collect::<Vec<_>>(), kept, "{words:?}");
        }
    }
}
