//! Rows of commands that change nothing in the cluster, or only what `watch` keeps for itself.

use super::{Access, CommandRow, Group, Reads, Record, Right, Role};
use crate::{model::Kind, watch::pause::PAUSE};

/// Right to read the identity of the cluster, by which a copy of the pause record is known: the only right to an object
/// that is in no namespace.
const IDENTITY: &[Right] =
    &[Right { name: Some("kube-system"), ..Right::of("get", Kind::Namespace) }];

/// Role of `audit --watch` and `watch`.
pub(in crate::cli) static WATCH: Role = Role {
    watches: true,
    announcements: Access::Reads,
    ..Role::reader(
        "watch",
        "What `audit --watch` reads and watches; with -f also what `watch` needs where it reports",
    )
};

pub(in crate::cli) static AUDIT: Role = Role {
    announcements: Access::Reads,
    ..Role::reader("audit", "Everything that `audit` and `dump` read")
};

/// Role with which `df` asks the kubelets. No other command, and nothing that runs in a cluster, has this right.
static DF: Role = Role {
    also: &[&[Right { verb: "get", group: "", resource: "nodes/proxy", name: None }]],
    ..Role::reader(
        "df",
        "Everything that `df` reads, kubelets too: with that right one may also run commands in every pod",
    )
};

pub(super) static ROWS: &[CommandRow] = &[
    CommandRow {
        name: "audit",
        group: Group::Find,
        examples: &[
            ("Audit the whole cluster", "audit"),
            (
                "Audit one namespace; exit with 3 on findings of high or worse",
                "audit -n shop --fail-on high",
            ),
            ("Audit a saved dump, or a must-gather archive", "audit -f today.json.gz"),
            ("Write a page for people without kubectl", "audit -o html=report.html"),
            ("Show what saved reports say over time", "audit trend reports/"),
            ("Print findings as they appear, change and clear", "audit --watch"),
            (
                "Also write files for a pipeline",
                "audit -o sarif=audit.sarif -o markdown=summary.md",
            ),
            (
                "Exit with 3 only on what is new since a saved report",
                "audit --baseline last.json --new-only --fail-on high",
            ),
            ("Compare two saved reports", "audit diff last.json today.json"),
        ],
        roles: &[&AUDIT],
    },
    CommandRow {
        name: "explain",
        group: Group::Find,
        examples: &[
            ("Explain a volume", "explain pv/NAME"),
            (
                "Explain a claim, and what deleting its StatefulSet would do",
                "explain pvc/data-db-0 -n shop",
            ),
            ("Explain a finding: its danger and its remedy", "explain pv-leak-imminent"),
            ("Show what is known of a driver", "explain driver/ebs.csi.aws.com"),
        ],
        roles: &[],
    },
    CommandRow {
        name: "df",
        group: Group::Find,
        examples: &[
            ("Show the fullest volumes, as kubelets measure them", "df"),
            ("The same by an answer of Prometheus, which needs no right", "df --usage usage.json"),
            ("Print the commands whose answers are read", "explain usage"),
            ("Show what is known of a claim", "df pvc/NAME -n shop --usage usage.json -o yaml"),
        ],
        roles: &[&DF],
    },
    CommandRow {
        name: "watch",
        group: Group::Find,
        examples: &[
            ("Say what a policy would report now, and where", "watch -f policy.yaml --check"),
            ("Watch by it, and log as JSON", "watch -f policy.yaml --log-format json"),
            (
                "Watch by it, and keep what becomes of findings",
                "watch -f policy.yaml -o json > findings.jsonl",
            ),
            ("Run it in the cluster", "watch print -f policy.yaml | kubectl apply -f -"),
            (
                "Also give it the roles with which reconciler rescue acts",
                "watch print --act rescue | kubectl apply -f -",
            ),
            (
                "Have the cluster save a dump every night",
                "watch print --dump-cronjob --to pvc/dumps | kubectl apply -f -",
            ),
            ("Stop everything that acts, at once", "watch pause --reason restore"),
            ("Show whether it may act, who leads, and what was done last", "watch status"),
        ],
        roles: &[
            &WATCH,
            // Where there is no record, everything is paused: it need not be created.
            &Role {
                beside_watch: &[
                    Right::config_map("get", Some(PAUSE)),
                    Right::config_map("update", Some(PAUSE)),
                ],
                ..Role::alone(
                    "watch-pause",
                    "What `watch pause` reads and writes, in the namespace of -n: less than `watch-resume`",
                )
            },
            &Role {
                also: &[IDENTITY],
                // What does not exist yet cannot be named.
                beside_watch: &[
                    Right::config_map("get", Some(PAUSE)),
                    Right::config_map("update", Some(PAUSE)),
                    Right::config_map("create", None),
                ],
                ..Role::alone(
                    "watch-resume",
                    "What `watch resume` reads and writes, in the namespace of -n",
                )
            },
            &Role {
                also: &[IDENTITY],
                journal: Access::Reads,
                // Each policy may have a Lease of its own.
                beside_watch: &[
                    Right::config_map("get", Some(PAUSE)),
                    Right::of("list", Kind::Lease),
                ],
                ..Role::alone(
                    "watch-status",
                    "What `watch status` reads, in the namespace of -n and in that of the journal",
                )
            },
        ],
    },
    CommandRow {
        name: "rbac",
        group: Group::SetUp,
        examples: &[
            ("Grant what an audit reads", "rbac audit | kubectl apply -f -"),
            ("List the permissions that you lack for gc", "rbac gc --check"),
            (
                "Grant what gc needs when it writes to the journal in the cluster",
                "rbac gc --cluster-journal | kubectl apply -f -",
            ),
            ("List the permissions that you lack to pause watch", "rbac watch-pause --check"),
            ("Grant what a policy needs", "rbac watch -f policy.yaml | kubectl apply -f -"),
            ("List missing permissions of reconcilers", "rbac watch --act rescue,reclaim --check"),
            (
                "Also grant reading a Secret that gc must find",
                "rbac gc --secret kube-system/csi-secret",
            ),
        ],
        roles: &[],
    },
    CommandRow {
        name: "dump",
        group: Group::SetUp,
        examples: &[
            ("Save what an audit reads; the dump contains no Secrets", "dump today.json.gz"),
            ("Audit the dump on another machine", "audit -f today.json.gz"),
            ("Keep the last seven dumps of a cluster in a folder", "dump --keep 7 dumps/"),
        ],
        roles: &[],
    },
    CommandRow {
        name: "journal",
        group: Group::SetUp,
        examples: &[
            ("List all changes, and their outcomes", "journal"),
            ("List interrupted changes, and the present state of their objects", "journal --open"),
            ("Show one entry with its request and the object before it", "journal 12 -o yaml"),
            ("List the changes in the journal of the cluster", "journal --cluster-journal"),
        ],
        roles: &[&Role {
            reads: Reads::Named,
            record: Record::Unread,
            journal: Access::Reads,
            ..Role::reader("journal", "What `journal` reads")
        }],
    },
    CommandRow { name: "options", group: Group::SetUp, examples: &[], roles: &[] },
    CommandRow {
        name: "help",
        group: Group::SetUp,
        examples: &[
            ("Show the commands, by what they are for", "help"),
            ("Show the help of a command", "help retention set"),
        ],
        roles: &[],
    },
    CommandRow {
        name: "completion",
        group: Group::SetUp,
        examples: &[
            ("Let kubectl complete the plugin", "completion install"),
            ("Complete kubectl-storage in bash", "completion bash > kubectl-storage.bash"),
        ],
        roles: &[],
    },
    CommandRow {
        name: "version",
        group: Group::SetUp,
        examples: &[("Print the version", "version"), ("Print it for scripts", "version -o json")],
        roles: &[],
    },
];
