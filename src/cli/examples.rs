//! The examples that stand at the end of each command's help.

use std::fmt::Write as _;

use clap::builder::styling::Styles;

/// What an example does, and what is typed after the program's name.
pub(super) type Example = (&'static str, &'static str);

/// Examples of the program itself, in the order in which a newcomer needs them.
pub(super) const FIRST_STEPS: &[Example] = &[
    ("Report what is wrong, without changing anything", "audit"),
    ("Explain one object: its state, its users, the effects of its deletion", "explain pv/NAME"),
    ("Show what would be reclaimed, and what not, and why", "gc --older-than 30d --dry-run"),
];

/// Examples of `disown`.
const DISOWN: &[Example] = &[
    (
        "Keep a claim that was restored from a backup, whose owner does not exist",
        "disown pvc/data -n shop",
    ),
    (
        "Keep a claim whose owner's custom resource definition was removed for good",
        "disown pvc/data -n shop --owner-kind-gone",
    ),
];

/// Examples of `delete`.
const DELETE: &[Example] = &[
    (
        "Show what uses a claim, and what would become of its data",
        "delete pvc data -n shop --dry-run",
    ),
    (
        "Delete a claim; its volume is set to Retain first and keeps the data",
        "delete pvc data -n shop --keep-data",
    ),
    (
        "Delete all claims of a namespace that nothing uses, and keep their data",
        "delete pvc --all -n shop --keep-data",
    ),
    (
        "Delete a claim, and have its driver destroy the data",
        "delete pvc data -n shop --destroy-data",
    ),
    (
        "Take a snapshot first; large volumes take longer than the default of 5m",
        "delete pvc data -n shop --destroy-data --snapshot-first --timeout 2h",
    ),
];

/// Examples of `guard`.
const GUARD: &[Example] = &[
    ("Show what the guard consists of, without changing anything", "guard install --dry-run"),
    ("Install it; it warns until a namespace is labelled", "guard install"),
    ("Prove that it is in force, and list what it does not stop", "guard status"),
    (
        "Refuse in the rules about volumes too, and guard against a pipeline",
        "guard install --volumes=deny --deny-account ci/deployer",
    ),
    ("Print for a script what is in force", "guard status -o json"),
    ("Deploy it with GitOps", "guard print > guard.yaml"),
];

/// Examples of `retention`.
const RETENTION: &[Example] = &[
    ("Show the claims of the StatefulSets of the current namespace", "retention"),
    ("Show those of one StatefulSet", "retention show sts/web -n shop"),
    ("Show all namespaces, one line for each claim", "retention show -A -o wide"),
    ("Show those of a saved dump", "retention -f today.json.gz"),
    ("Foretell what a scale-down does to each claim", "retention simulate sts/web --replicas 1"),
    (
        "Stop a pipeline whose manifest would destroy data",
        "retention simulate -f web.yaml --fail-if-destroyed",
    ),
    (
        "Retain every claim when the StatefulSet is deleted, also those without a pod",
        "retention set sts/web --when-deleted Retain",
    ),
    (
        "Remove owner references with which claims would be deleted although the policy retains them",
        "retention apply sts/web -n shop",
    ),
    (
        "Delete what scale-downs left 30 days ago, where whenScaled is Delete, and keep the data",
        "retention apply -A --delete-leftovers --older-than 30d --keep-data",
    ),
    ("Go on removing owner references that contradict a policy", "retention apply -A -w --yes"),
];

/// Examples of `watch`.
const WATCH: &[Example] = &[
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
    ("Stop everything that acts, at once", "watch pause --reason restore"),
    ("Show whether it may act, who leads, and what was done last", "watch status"),
];

/// Examples of `rbac`.
const RBAC: &[Example] = &[
    ("Grant what an audit reads", "rbac audit | kubectl apply -f -"),
    ("List the permissions that you lack for gc", "rbac gc --check"),
    (
        "Grant what gc needs when it writes to the journal in the cluster",
        "rbac gc --cluster-journal | kubectl apply -f -",
    ),
    ("List the permissions that you lack to pause watch", "rbac watch-pause --check"),
    ("Grant what a policy needs", "rbac watch -f policy.yaml | kubectl apply -f -"),
    ("List what lacks for reconcilers to act", "rbac watch --act rescue,reclaim --check"),
    ("Also grant reading a Secret that gc must find", "rbac gc --secret kube-system/csi-secret"),
];

/// Examples of `gc`.
const GC: &[Example] = &[
    (
        "Show what would be reclaimed, and why other volumes are refused",
        "gc --older-than 30d --dry-run",
    ),
    ("Show the plan, ask, reclaim, and verify", "gc --older-than 30d"),
    (
        "Delete only the PersistentVolume, and record its backend volume",
        "gc pv/NAME --older-than 30d --keep-backend",
    ),
    ("Save the plan for review; apply carries it out", "gc --older-than 30d --plan-out plan.yaml"),
    (
        "Announce what would be reclaimed, and reclaim nothing yet",
        "gc --older-than 30d --announce 72h",
    ),
    ("Reclaim what was announced for long enough, and not vetoed", "gc --announced"),
    ("Go on announcing and reclaiming", "gc --older-than 30d --announce 72h -w --yes"),
];

/// Returns the examples of a command.
pub(super) fn examples(command: &str) -> &'static [Example] {
    match command {
        "audit" => &[
            ("Audit the whole cluster", "audit"),
            (
                "Audit one namespace; exit with 3 on findings of high or worse",
                "audit -n shop --fail-on high",
            ),
            (
                "Save what the audit reads, and repeat it without a cluster",
                "audit --save today.json.gz",
            ),
            ("Audit a saved dump, or a must-gather archive", "audit -f today.json.gz"),
            ("Print findings as they appear, change and clear", "audit --watch"),
        ],
        "gc" => GC,
        "fix-finalizers" => &[
            (
                "Show what blocks each deletion, and what would unblock it",
                "fix-finalizers --dry-run",
            ),
            ("Unblock one claim, and keep its data", "fix-finalizers pvc/data -n shop --keep-data"),
            ("Go on unblocking what destroys no data", "fix-finalizers -w --yes"),
            (
                "Repair after HonorPVReclaimPolicy was disabled, without leaking",
                "fix-finalizers --rolled-back --reclaim",
            ),
            (
                "Unblock one volume, and record its leaked backend volume",
                "fix-finalizers pv/NAME --accept-leak",
            ),
        ],
        "retention" => RETENTION,
        "retain" => &[
            ("Stop the deletion of a backend volume", "retain pv/NAME"),
            (
                "Protect the volume of a claim before you delete the claim",
                "retain pvc/data -n shop",
            ),
        ],
        "delete" => DELETE,
        "disown" => DISOWN,
        "guard" => GUARD,
        "rebind" => &[
            ("Give a Released volume back to the claim that it was bound to", "rebind pv/NAME"),
            ("Give it to another claim, which is created", "rebind pv/NAME --to shop/data-copy"),
            (
                "Recreate the volume of a Lost claim from a saved manifest",
                "rebind pv/NAME --from backup.yaml",
            ),
        ],
        "apply" => &[
            ("Save a plan", "gc --older-than 30d --plan-out plan.yaml"),
            (
                "Have the API server check each request of the plan",
                "apply plan.yaml --dry-run=server",
            ),
            ("Carry out the changes that still come out the same", "apply plan.yaml"),
        ],
        "destroy-orphan" => &[
            ("Find the entry of a backend volume that was kept", "journal"),
            ("Have its driver delete that backend volume", "destroy-orphan --from-journal 12"),
            (
                "Have a driver delete a backend volume that no entry names",
                "destroy-orphan --driver ebs.csi.aws.com \\\n      --handle vol-0123456789abcdef0 --backend-exclusive --no-secret",
            ),
        ],
        "undo" => &[
            ("Show what would be reverted", "undo --dry-run"),
            ("Revert the last change that can be reverted", "undo"),
            ("Revert one entry of the journal", "undo 12"),
            ("Revert one that was made from another machine", "undo c12 --cluster-journal"),
        ],
        "journal" => &[
            ("List all changes, and their outcomes", "journal"),
            ("List interrupted changes, and the present state of their objects", "journal --open"),
            ("Show one entry with its request and the object before it", "journal 12 -o yaml"),
            ("List the changes in the journal of the cluster", "journal --cluster-journal"),
        ],
        "dump" => &[
            ("Save what an audit reads; the dump contains no Secrets", "dump today.json.gz"),
            ("Audit the dump on another machine", "audit -f today.json.gz"),
        ],
        "explain" => &[
            ("Explain a volume", "explain pv/NAME"),
            (
                "Explain a claim, and what deleting its StatefulSet would do",
                "explain pvc/data-db-0 -n shop",
            ),
            ("Explain a finding: its danger and its remedy", "explain pv-leak-imminent"),
            ("Show what is known of a driver", "explain driver/ebs.csi.aws.com"),
        ],
        "watch" => WATCH,
        "rbac" => RBAC,
        "completion" => &[
            ("Let kubectl complete the plugin", "completion install"),
            ("Complete kubectl-storage in bash", "completion bash > kubectl-storage.bash"),
        ],
        "version" => {
            &[("Print the version", "version"), ("Print it for scripts", "version -o json")]
        }
        _ => &[],
    }
}

/// Returns the end of the program's help.
pub(super) fn of_program(name: &str) -> String {
    shown(FIRST_STEPS, name)
}

/// Returns the end of a command's help.
pub(super) fn of_command(command: &str, name: &str) -> String {
    shown(examples(command), name)
}

fn shown(examples: &[Example], name: &str) -> String {
    let styles = Styles::styled();
    let header = styles.get_header();
    let mut text = format!("{header}Examples:{header:#}");
    for (what, typed) in examples {
        let _ = write!(text, "\n  # {what}\n  {name} {typed}");
    }
    text
}
