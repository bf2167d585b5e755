//! Rows of commands that write.

use super::{
    Access, CommandRow, ConditionalRight, DELETE_TO_DISOWN, Group, Reads, Record, Right, Role,
};
use crate::{
    model::Kind,
    plan::RETENTION_RECONCILE,
    remedies::{
        ADD_OWNER, CONDEMN, DELETE_CLAIM, DELETE_LEFTOVER, DISOWN, EXPAND, KEEP_BACKEND, REBIND,
        RECLAIM, REMOVE_OWNERS, RETAIN, SET_RETENTION, STOP,
    },
};

const CREATE_VOLUME: Right = Right::of("create", Kind::PersistentVolume);
const PATCH_VOLUME: Right = Right::of("patch", Kind::PersistentVolume);

/// Rights with which finalizers are repaired.
const FINALIZERS: &[Right] = &[
    CREATE_VOLUME,
    PATCH_VOLUME,
    Right::of("patch", Kind::PersistentVolumeClaim),
    Right::of("patch", Kind::VolumeAttachment),
    Right::of("delete", Kind::VolumeAttachment),
];

/// Right to read a `VolumeAttachment` again before it is changed.
const ATTACHMENT: &[Right] = &[Right::of("get", Kind::VolumeAttachment)];

/// Rights to read who owns the owners of a claim: with what a StatefulSet is deleted depends on it.
const OWNERS: &[Right] = &{
    let mut rights = [Right::of("get", Kind::StatefulSet); Kind::WORKLOADS.len()];
    let mut at = 0;
    while at < rights.len() {
        rights[at] = Right::of("get", Kind::WORKLOADS[at]);
        at += 1;
    }
    rights
};

/// Rights to read custom resources that are stopped like workloads.
const CUSTOM_WORKLOADS: &[Right] =
    &[Right::of("get", Kind::Rollout), Right::of("get", Kind::CloneSet)];

/// Rights to read what stands around the workloads that a teardown stops.
const SURROUNDINGS: &[Right] = &[
    Right::list("admissionregistration.k8s.io", "validatingwebhookconfigurations"),
    Right::list("admissionregistration.k8s.io", "mutatingwebhookconfigurations"),
    Right::list("apiregistration.k8s.io", "apiservices"),
    Right { verb: "get", group: "", resource: "services", name: None },
    Right::list("keda.sh", "scaledobjects"),
    Right::list("autoscaling.k8s.io", "verticalpodautoscalers"),
    Right::list("argoproj.io", "applications"),
    Right::list("velero.io", "backups"),
    Right::list("velero.io", "restores"),
    Right::list("velero.io", "datauploads"),
    Right::list("velero.io", "datadownloads"),
];

/// Rights of `--snapshot-first`: the snapshot is read until it is ready, and before each later step.
const SNAPSHOT_FIRST: &[Right] = &[
    Right::of("list", Kind::VolumeSnapshotClass),
    Right::of("watch", Kind::VolumeSnapshotClass),
    Right::of("get", Kind::VolumeSnapshotContent),
];

/// Right of `delete sts NAME`.
const DELETE_SETS: ConditionalRight = ConditionalRight {
    verb: "delete",
    group: "apps",
    resource: "statefulsets",
    reason: "only `delete sts` needs it, which deletes claims with their StatefulSet",
};

/// Right of `delete ns NAME`.
const DELETE_NAMESPACES: ConditionalRight = ConditionalRight {
    verb: "delete",
    group: "",
    resource: "namespaces",
    reason: "only `delete ns` needs it, which deletes everything in the namespace",
};

/// Right to add blocking owner references (`gc_admission.go`, `gcPermissionsEnforcement.Validate`).
const FINALIZERS_TO_ADD_OWNERS: ConditionalRight = ConditionalRight {
    verb: "update",
    group: "apps",
    resource: "statefulsets/finalizers",
    reason: "with the admission plugin OwnerReferencesPermissionEnforcement, which OpenShift enables, retention reconcile \
             --add-owners may only add a reference that blocks the deletion of a StatefulSet whose finalizers you may update",
};

const POLICY: Kind = Kind::ValidatingAdmissionPolicy;
const BINDING: Kind = Kind::ValidatingAdmissionPolicyBinding;

/// Role of `gc --announce` and `gc --announced`. The annotation of an announcement is a patch too.
pub(in crate::cli) static GC_ANNOUNCE: Role = Role {
    remedies: &[&RECLAIM],
    custom_users: true,
    announcements: Access::Writes,
    ..Role::writer("gc-announce", "What `gc --announce` and `gc --announced` read, watch and write")
};

pub(super) static ROWS: &[CommandRow] = &[
    CommandRow {
        name: "retain",
        group: Group::Save,
        examples: &[
            ("Stop the deletion of a backend volume", "retain pv/NAME"),
            (
                "Protect the volume of a claim before you delete the claim",
                "retain pvc/data -n shop",
            ),
        ],
        roles: &[&Role {
            remedies: &[&RETAIN],
            ..Role::of_named("retain", "What `retain` reads and writes")
        }],
    },
    CommandRow {
        name: "rebind",
        group: Group::Save,
        examples: &[
            ("Give a Released volume back to the claim that it was bound to", "rebind pv/NAME"),
            ("Give it to another claim, which is created", "rebind pv/NAME --to shop/data-copy"),
            (
                "Recreate the volume of a Lost claim from a saved manifest",
                "rebind pv/NAME --from backup.yaml",
            ),
            (
                "Have a volume that a teardown kept, and its claim, in this cluster",
                "rebind pv/NAME --from record.json",
            ),
        ],
        roles: &[&Role {
            remedies: &[&REBIND],
            // A Lost claim, and what a teardown kept, may need the volume recreated.
            writes: &[CREATE_VOLUME],
            record: Record::Writes,
            ..Role::writer(
                "rebind",
                "What `rebind` reads, watches and writes; it creates volumes only with --from, and for Lost claims",
            )
        }],
    },
    CommandRow {
        name: "adopt",
        group: Group::Save,
        examples: &[
            ("List the disks of a provider", "explain inventory"),
            (
                "Have the data of a listed disk back under a claim, which is created",
                "adopt --driver ebs.csi.aws.com --handle vol-0123456789abcdef0 \\\n      \
                 --to shop/data --inventory disks.json --volume-mode Filesystem",
            ),
        ],
        roles: &[&Role {
            remedies: &[&REBIND],
            writes: &[CREATE_VOLUME],
            custom_users: true,
            ..Role::writer("adopt", "What `adopt` reads, watches and writes")
        }],
    },
    CommandRow {
        name: "expand",
        group: Group::Save,
        examples: &[
            (
                "Show what a fifth more would do, and what has to follow",
                "expand pvc/data -n shop --by 20% --dry-run",
            ),
            (
                "Request 50Gi, and wait until the claim has them",
                "expand pvc/data -n shop --to 50Gi",
            ),
            (
                "Say what the growth costs a month",
                "expand pvc/data -n shop --by 20Gi --price gp3=0.08 --currency USD",
            ),
            (
                "Expand where the control plane hides the resizer of the driver",
                "expand pvc/data --to 50Gi --resizer-alive disk.example.com",
            ),
        ],
        roles: &[&Role {
            remedies: &[&EXPAND],
            ..Role::writer("expand", "What `expand` reads, watches and writes")
        }],
    },
    CommandRow {
        name: "undo",
        group: Group::Save,
        examples: &[
            ("Show what would be reverted", "undo --dry-run"),
            ("Revert the last change that can be reverted", "undo"),
            ("Revert one entry of the journal", "undo 12"),
            ("Revert one that was made from another machine", "undo c12 --cluster-journal"),
        ],
        roles: &[&Role {
            // Also of a retention policy, of an owner reference that was added, or of a request for more room.
            remedies: &[&REBIND, &SET_RETENTION, &EXPAND],
            writes: &[CREATE_VOLUME, PATCH_VOLUME],
            record: Record::Writes,
            ..Role::writer("undo", "What `undo` reads, watches and writes")
        }],
    },
    CommandRow {
        name: "gc",
        group: Group::Reclaim,
        examples: &[
            (
                "Show what would be reclaimed, and why other volumes are refused",
                "gc --older-than 30d --dry-run",
            ),
            ("Show the plan, ask, reclaim, and verify", "gc --older-than 30d"),
            (
                "Announce what would be reclaimed, and reclaim nothing yet",
                "gc --older-than 30d --announce 72h",
            ),
            (
                "Delete only the PersistentVolume, and record its backend volume",
                "gc pv/NAME --older-than 30d --keep-backend",
            ),
            (
                "Save the plan for review; apply carries it out",
                "gc --older-than 30d --plan-out plan.yaml",
            ),
            ("Reclaim what was announced for long enough, and not vetoed", "gc --announced"),
            ("Go on announcing and reclaiming", "gc --older-than 30d --announce 72h --watch --yes"),
        ],
        roles: &[
            &Role {
                remedies: &[&RECLAIM, &KEEP_BACKEND, &CONDEMN],
                custom_users: true,
                record: Record::Creates,
                ..Role::writer("gc", "What `gc` reads, watches and writes")
            },
            &GC_ANNOUNCE,
        ],
    },
    CommandRow {
        name: "delete",
        group: Group::Reclaim,
        examples: &[
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
        ],
        roles: &[&Role {
            also: &[SNAPSHOT_FIRST, OWNERS],
            remedies: &[&DELETE_CLAIM],
            custom_users: true,
            conditional: &[DELETE_SETS, DELETE_NAMESPACES],
            ..Role::writer("delete", "What `delete` reads, watches and writes")
        }],
    },
    CommandRow {
        name: "teardown",
        group: Group::Reclaim,
        examples: &[
            (
                "Show what would be destroyed, what survives and why, and what blocks it",
                "teardown --dry-run -A",
            ),
            (
                "Stop what uses the claims, delete them, and wait until the drivers have deleted the volumes",
                "teardown --destroy-data -A",
            ),
            (
                "Keep every disk for another cluster: the record has a manifest of each",
                "teardown --keep-data -n shop,ci --record disks.json",
            ),
            (
                "In a pipeline, before the cluster is deleted",
                "teardown --destroy-data -A --yes --confirm-cluster UID --max 40 --record torn-down.json",
            ),
            (
                "Afterwards: which of the recorded disks the provider still has",
                "audit --inventory disks.json --record torn-down.json",
            ),
        ],
        roles: &[&Role {
            also: &[OWNERS, CUSTOM_WORKLOADS, SURROUNDINGS],
            remedies: &[&RETAIN, &STOP, &DELETE_CLAIM, &RECLAIM],
            writes: &[Right::of("delete", Kind::VolumeSnapshot)],
            custom_users: true,
            ..Role::writer("teardown", "What `teardown` reads, watches and writes")
        }],
    },
    CommandRow {
        name: "apply",
        group: Group::Reclaim,
        examples: &[
            ("Save a plan", "gc --older-than 30d --plan-out plan.yaml"),
            (
                "Have the API server check each request of the plan",
                "apply -f plan.yaml --dry-run=server",
            ),
            ("Carry out the changes that still come out the same", "apply -f plan.yaml"),
        ],
        roles: &[&Role {
            also: &[SNAPSHOT_FIRST, OWNERS, ATTACHMENT],
            remedies: &[
                &RECLAIM,
                &KEEP_BACKEND,
                &CONDEMN,
                &RETAIN,
                &DELETE_CLAIM,
                &REBIND,
                &DISOWN,
                &EXPAND,
                &SET_RETENTION,
                &REMOVE_OWNERS,
                &ADD_OWNER,
                &DELETE_LEFTOVER,
            ],
            writes: FINALIZERS,
            custom_users: true,
            record: Record::Creates,
            announcements: Access::Writes,
            // It may delete claims anyway.
            conditional: &[FINALIZERS_TO_ADD_OWNERS, DELETE_SETS, DELETE_NAMESPACES],
            ..Role::writer("apply", "What carrying out any saved plan needs")
        }],
    },
    CommandRow {
        name: "destroy-orphan",
        group: Group::Reclaim,
        examples: &[
            ("Find the entry of a backend volume that was kept", "journal"),
            ("Have its driver delete that backend volume", "destroy-orphan --from-journal 12"),
            (
                "Have a driver delete a backend volume that no entry names",
                "destroy-orphan --driver ebs.csi.aws.com \\\n      --handle vol-0123456789abcdef0 --backend-exclusive --no-secret",
            ),
        ],
        roles: &[&Role {
            writes: &[CREATE_VOLUME],
            custom_users: true,
            record: Record::Writes,
            ..Role::writer("destroy-orphan", "What `destroy-orphan` reads, watches and writes")
        }],
    },
    CommandRow {
        name: "fix-finalizers",
        group: Group::Repair,
        examples: &[
            (
                "Show what blocks each deletion, and what would unblock it",
                "fix-finalizers --dry-run",
            ),
            ("Unblock one claim, and keep its data", "fix-finalizers pvc/data -n shop --keep-data"),
            ("Go on unblocking what destroys no data", "fix-finalizers --watch --yes"),
            (
                "Repair after HonorPVReclaimPolicy was disabled, without leaking",
                "fix-finalizers --rolled-back --reclaim",
            ),
            (
                "Unblock one volume, and record its leaked backend volume",
                "fix-finalizers pv/NAME --accept-leak",
            ),
        ],
        roles: &[&Role {
            also: &[ATTACHMENT],
            writes: FINALIZERS,
            record: Record::Creates,
            ..Role::writer("fix-finalizers", "What `fix-finalizers` reads, watches and writes")
        }],
    },
    CommandRow {
        name: "retention",
        group: Group::Repair,
        examples: &[
            ("Show the claims of the StatefulSets of the current namespace", "retention"),
            ("Show those of one StatefulSet", "retention show sts/web -n shop"),
            ("Show all namespaces, one line for each claim", "retention show -A -o wide"),
            ("Show those of a saved dump", "retention -f today.json.gz"),
            (
                "Preview what a scale-down does to each claim",
                "retention simulate sts/web --replicas 1",
            ),
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
                "retention reconcile sts/web -n shop",
            ),
            (
                "Delete what scale-downs left 30 days ago, where whenScaled is Delete, and keep the data",
                "retention reconcile -A --delete-leftovers --older-than 30d --keep-data",
            ),
            (
                "Go on removing owner references that contradict a policy",
                "retention reconcile -A --watch --yes",
            ),
        ],
        roles: &[
            &Role { also: &[OWNERS], ..Role::reader("retention", "What `retention` reads") },
            &Role {
                remedies: &[&SET_RETENTION],
                conditional: &[DELETE_TO_DISOWN],
                ..Role::writer("retention-set", "What `retention set` reads, watches and writes")
            },
            &Role {
                remedies: &[&REMOVE_OWNERS, &ADD_OWNER, &DELETE_LEFTOVER],
                custom_users: true,
                conditional: &[FINALIZERS_TO_ADD_OWNERS],
                ..Role::writer(
                    RETENTION_RECONCILE,
                    "What `retention reconcile` reads, watches and writes",
                )
            },
        ],
    },
    CommandRow {
        name: "disown",
        group: Group::Repair,
        examples: &[
            (
                "Keep a claim that was restored from a backup, whose owner does not exist",
                "disown pvc/data -n shop",
            ),
            (
                "Keep a claim whose owner's custom resource definition was removed for good",
                "disown pvc/data -n shop --owner-kind-gone",
            ),
        ],
        roles: &[&Role {
            // The usual owners of claims.
            also: &[&[Right::of("get", Kind::StatefulSet), Right::of("get", Kind::Pod)]],
            remedies: &[&DISOWN],
            conditional: &[DELETE_TO_DISOWN],
            ..Role::of_named("disown", "What `disown` reads and writes")
        }],
    },
    CommandRow {
        name: "guard",
        group: Group::Prevent,
        examples: &[
            (
                "Show what the guard consists of, without changing anything",
                "guard install --dry-run",
            ),
            ("Install it; it warns until a namespace is labelled", "guard install"),
            ("Prove that it is in force, and list what it does not stop", "guard status"),
            (
                "Refuse in the rules about volumes too, and guard against a pipeline",
                "guard install --volumes=deny --deny-account ci/deployer",
            ),
            ("Print for a script what is in force", "guard status -o json"),
            ("Deploy it with GitOps", "guard print > guard.yaml"),
        ],
        roles: &[&Role {
            // The labels of namespaces decide where it refuses, the uid of kube-system is the cluster's, and Events say
            // which controllers it refuses.
            also: &[&[
                Right::of("list", POLICY),
                Right::of("list", BINDING),
                Right::of("get", Kind::Namespace),
                Right::of("list", Kind::Namespace),
                Right::of("list", Kind::Event),
            ]],
            writes: &[
                Right::of("create", POLICY),
                Right::of("patch", POLICY),
                Right::of("delete", POLICY),
                Right::of("create", BINDING),
                Right::of("patch", BINDING),
                Right::of("delete", BINDING),
            ],
            reads: Reads::Listed,
            record: Record::Unread,
            ..Role::writer(
                "guard",
                "What `guard` reads and writes: admission policies and nothing else",
            )
        }],
    },
];
