//! The kinds of custom resources that use claims, the marks by which their operators know claims
//! (semantics#other-users-of-a-claim), and the custom resources of a namespace as they were listed.

use super::{InlineVolumes, Kind, Text, Uid, Workload};

/// A kind of custom resource that uses claims, or from which pods are made that do.
#[derive(Debug, PartialEq, Eq)]
pub struct CustomKind {
    /// API group of the kind.
    pub group: &'static str,
    /// `kind`.
    pub kind: &'static str,
    /// The resource, in the plural.
    pub plural: &'static str,
    /// The way in which objects of the kind use a claim, besides the fields that are the same in every kind.
    pub naming: Naming,
    /// Whether claims in the status count: they do where the status is also a request.
    pub status_counts: bool,
    /// The time from which an object of the kind starts no more pods.
    pub finish: Finish,
    /// Advice that ends the use of a claim by an object of the kind.
    pub ending: &'static str,
}

/// Way in which the objects of a kind use a claim, besides naming it in a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Naming {
    /// By fields only.
    Fields,
    /// By the name of the object, which is that of the claim.
    OwnName,
    /// By claim templates like those of a set: the claim is called after template, object and ordinal.
    SetTemplates,
    /// By a label by which the operator knows the claims of the object ([`OPERATOR_MARKS`]).
    Labels,
}

/// Time from which an object starts no more pods, whatever else is in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// Never, as long as the object exists.
    Never,
    /// Once the object's status has a time of completion.
    Completed,
    /// Once the object's phase is one of these.
    Phases(&'static [&'static str]),
}

const TEMPLATE: &str = "remove the claim from its template, or delete it";
const VOLUME: &str = "remove the volume from it, or delete it";
const DELETE: &str = "delete it";
const RUN: &str = "wait until it has finished, or delete it";
const REPLICATION: &str = "end the replication: delete it";

const fn kind(group: &'static str, kind: &'static str, plural: &'static str) -> CustomKind {
    CustomKind {
        group,
        kind,
        plural,
        naming: Naming::Fields,
        status_counts: false,
        finish: Finish::Never,
        ending: TEMPLATE,
    }
}

impl CustomKind {
    const fn named_by(mut self, naming: Naming) -> Self {
        self.naming = naming;
        self
    }

    const fn with_status(mut self) -> Self {
        self.status_counts = true;
        self
    }

    const fn finished(mut self, finish: Finish) -> Self {
        self.finish = finish;
        self
    }

    const fn ended_by(mut self, ending: &'static str) -> Self {
        self.ending = ending;
        self
    }

    /// Returns the kind of an operator's object, whose claims have a label with its name.
    const fn labelled(self) -> Self {
        self.named_by(Naming::Labels).ended_by("remove it by its operator, or delete it")
    }

    /// Returns the kind with this group and name.
    pub fn find(group: &str, kind: &str) -> Option<&'static Self> {
        CUSTOM_KINDS.iter().find(|it| it.group == group && it.kind == kind)
    }

    /// Returns the kind as that of a workload, if its objects have replicas.
    pub fn workload(&self) -> Option<Kind> {
        Kind::parse(self.group, self.kind).filter(|it| it.is_custom_workload())
    }

    /// Returns an object of the kind as messages name it.
    pub fn object(&self, name: &str) -> String {
        format!("{}.{}/{name}", self.kind.to_ascii_lowercase(), self.group)
    }
}

/// Every custom kind that is looked at, where it is served.
pub static CUSTOM_KINDS: &[CustomKind] = &[
    // KubeVirt: api/core/v1 schema.go, types.go; snapshot and export APIs.
    kind("kubevirt.io", "VirtualMachine", "virtualmachines").with_status().ended_by(VOLUME),
    kind("kubevirt.io", "VirtualMachineInstance", "virtualmachineinstances")
        .with_status()
        .finished(Finish::Phases(&["Succeeded", "Failed"]))
        .ended_by(VOLUME),
    kind("kubevirt.io", "VirtualMachineInstanceReplicaSet", "virtualmachineinstancereplicasets"),
    kind("pool.kubevirt.io", "VirtualMachinePool", "virtualmachinepools"),
    kind("export.kubevirt.io", "VirtualMachineExport", "virtualmachineexports").ended_by(DELETE),
    // CDI: pkg/apis/core/v1beta1 types.go.
    kind("cdi.kubevirt.io", "DataVolume", "datavolumes")
        .named_by(Naming::OwnName)
        .finished(Finish::Phases(&["Succeeded"]))
        .ended_by("delete it, which also deletes the claim that it owns"),
    kind("cdi.kubevirt.io", "DataSource", "datasources").ended_by(DELETE),
    kind("cdi.kubevirt.io", "VolumeCloneSource", "volumeclonesources").ended_by(DELETE),
    // KEDA: spec.jobTargetRef is the spec of a Job.
    kind("keda.sh", "ScaledJob", "scaledjobs"),
    // Operators that make pods and claims themselves.
    kind("postgresql.cnpg.io", "Cluster", "clusters").labelled(),
    kind("postgresql.k8s.enterprisedb.io", "Cluster", "clusters").labelled(),
    kind("planetscale.com", "VitessCluster", "vitessclusters").labelled(),
    kind("apps.kubeblocks.io", "Cluster", "clusters").labelled(),
    // Operators whose pods come from sets that name the claims.
    kind("kafka.strimzi.io", "Kafka", "kafkas").labelled(),
    kind("core.strimzi.io", "StrimziPodSet", "strimzipodsets")
        .ended_by("scale down or delete the cluster that it belongs to"),
    kind("elasticsearch.k8s.elastic.co", "Elasticsearch", "elasticsearches").labelled(),
    kind("acid.zalan.do", "postgresql", "postgresqls").labelled(),
    kind("pxc.percona.com", "PerconaXtraDBCluster", "perconaxtradbclusters").labelled(),
    kind("psmdb.percona.com", "PerconaServerMongoDB", "perconaservermongodbs").labelled(),
    kind("postgres-operator.crunchydata.com", "PostgresCluster", "postgresclusters").labelled(),
    // Replication and backups.
    kind("volsync.backube", "ReplicationSource", "replicationsources").ended_by(REPLICATION),
    kind("volsync.backube", "ReplicationDestination", "replicationdestinations")
        .ended_by(REPLICATION),
    kind("stash.appscode.com", "BackupConfiguration", "backupconfigurations").ended_by(DELETE),
    // Workloads.
    kind("argoproj.io", "Rollout", "rollouts"),
    kind("argoproj.io", "CronWorkflow", "cronworkflows"),
    kind("argoproj.io", "WorkflowTemplate", "workflowtemplates"),
    kind("argoproj.io", "ClusterWorkflowTemplate", "clusterworkflowtemplates"),
    kind("argoproj.io", "Workflow", "workflows").finished(Finish::Completed).ended_by(RUN),
    kind("apps.kruise.io", "StatefulSet", "statefulsets").named_by(Naming::SetTemplates),
    kind("apps.kruise.io", "CloneSet", "clonesets"),
    kind("apps.kruise.io", "DaemonSet", "daemonsets"),
    kind("apps.kruise.io", "BroadcastJob", "broadcastjobs")
        .finished(Finish::Completed)
        .ended_by(RUN),
    kind("apps.kruise.io", "AdvancedCronJob", "advancedcronjobs"),
    kind("apps.kruise.io", "UnitedDeployment", "uniteddeployments"),
    kind("apps.openshift.io", "DeploymentConfig", "deploymentconfigs"),
    kind("batch.volcano.sh", "Job", "jobs")
        .finished(Finish::Phases(&["Completed", "Failed", "Terminated"]))
        .ended_by(RUN),
    kind("jobset.x-k8s.io", "JobSet", "jobsets")
        .finished(Finish::Phases(&["Completed", "Failed"]))
        .ended_by(RUN),
    kind("actions.github.com", "AutoscalingRunnerSet", "autoscalingrunnersets"),
    // Pipelines.
    kind("tekton.dev", "PipelineRun", "pipelineruns").finished(Finish::Completed).ended_by(RUN),
    kind("tekton.dev", "TaskRun", "taskruns").finished(Finish::Completed).ended_by(RUN),
    kind("tekton.dev", "Task", "tasks"),
    kind("triggers.tekton.dev", "TriggerTemplate", "triggertemplates"),
    // Data and machine learning.
    kind("sparkoperator.k8s.io", "SparkApplication", "sparkapplications")
        .finished(Finish::Phases(&["COMPLETED", "FAILED"]))
        .ended_by(RUN),
    kind("sparkoperator.k8s.io", "ScheduledSparkApplication", "scheduledsparkapplications"),
    kind("flink.apache.org", "FlinkDeployment", "flinkdeployments"),
    kind("ray.io", "RayCluster", "rayclusters"),
    kind("ray.io", "RayJob", "rayjobs")
        .finished(Finish::Phases(&["Complete", "Failed"]))
        .ended_by(RUN),
    kind("ray.io", "RayService", "rayservices"),
    kind("kubeflow.org", "Notebook", "notebooks"),
    kind("kubeflow.org", "PVCViewer", "pvcviewers").ended_by(DELETE),
    kind("kubeflow.org", "PyTorchJob", "pytorchjobs").finished(Finish::Completed).ended_by(RUN),
    kind("kubeflow.org", "TFJob", "tfjobs").finished(Finish::Completed).ended_by(RUN),
    kind("kubeflow.org", "MPIJob", "mpijobs").finished(Finish::Completed).ended_by(RUN),
    kind("serving.kserve.io", "InferenceService", "inferenceservices"),
    kind("serving.knative.dev", "Service", "services"),
];

/// A label by which the software that made a claim knows it again.
#[derive(Debug, PartialEq, Eq)]
pub struct OperatorMark {
    /// The label's key.
    pub label: &'static str,
    /// The label's value, where only one value is the mark.
    pub value: Option<&'static str>,
    /// The software.
    pub operator: &'static str,
    /// The object to which the claim belongs.
    pub owner: Option<MarkedOwner>,
    /// The meaning of the mark for a claim that nothing names.
    pub meaning: MarkMeaning,
}

/// The object that a mark names.
#[derive(Debug, PartialEq, Eq)]
pub struct MarkedOwner {
    /// API group of the object.
    pub group: &'static str,
    /// `kind`.
    pub kind: &'static str,
    /// The label with the object's name.
    pub named_by: &'static str,
}

/// Meaning of a mark for a claim that nothing names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkMeaning {
    /// The claim is in use as long as the object exists; without it, the claim waits for its return.
    UsedByOwner,
    /// The claim waits for a scale-up, or for the object's return: pods that use it would name it.
    KeptForReturn,
    /// The claim is used by pods that are made when a person wants to work, and no object says so.
    UsedOnDemand,
    /// The claim was made for an object that names it, and that would be found.
    History,
}

const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
const INSTANCE: &str = "app.kubernetes.io/instance";

const fn owner(group: &'static str, kind: &'static str, named_by: &'static str) -> MarkedOwner {
    MarkedOwner { group, kind, named_by }
}

const fn mark(
    label: &'static str,
    value: Option<&'static str>,
    operator: &'static str,
    owner: Option<MarkedOwner>,
    meaning: MarkMeaning,
) -> OperatorMark {
    OperatorMark { label, value, operator, owner, meaning }
}

/// The known marks; the first that a claim has counts.
pub static OPERATOR_MARKS: &[OperatorMark] = &[
    mark(
        "cnpg.io/cluster",
        None,
        "CloudNativePG",
        Some(owner("postgresql.cnpg.io", "Cluster", "cnpg.io/cluster")),
        MarkMeaning::UsedByOwner,
    ),
    mark(
        "k8s.enterprisedb.io/cluster",
        None,
        "EDB Postgres for Kubernetes",
        Some(owner("postgresql.k8s.enterprisedb.io", "Cluster", "k8s.enterprisedb.io/cluster")),
        MarkMeaning::UsedByOwner,
    ),
    mark(
        "planetscale.com/cluster",
        None,
        "Vitess",
        Some(owner("planetscale.com", "VitessCluster", "planetscale.com/cluster")),
        MarkMeaning::UsedByOwner,
    ),
    mark(
        MANAGED_BY,
        Some("kubeblocks"),
        "KubeBlocks",
        Some(owner("apps.kubeblocks.io", "Cluster", INSTANCE)),
        MarkMeaning::UsedByOwner,
    ),
    mark(
        "strimzi.io/cluster",
        None,
        "Strimzi",
        Some(owner("kafka.strimzi.io", "Kafka", "strimzi.io/cluster")),
        MarkMeaning::KeptForReturn,
    ),
    mark(
        "elasticsearch.k8s.elastic.co/cluster-name",
        None,
        "Elastic Cloud on Kubernetes",
        Some(owner(
            "elasticsearch.k8s.elastic.co",
            "Elasticsearch",
            "elasticsearch.k8s.elastic.co/cluster-name",
        )),
        MarkMeaning::KeptForReturn,
    ),
    mark(
        "application",
        Some("spilo"),
        "Zalando's postgres-operator",
        Some(owner("acid.zalan.do", "postgresql", "cluster-name")),
        MarkMeaning::KeptForReturn,
    ),
    mark(
        MANAGED_BY,
        Some("percona-xtradb-cluster-operator"),
        "Percona Operator for MySQL",
        Some(owner("pxc.percona.com", "PerconaXtraDBCluster", INSTANCE)),
        MarkMeaning::KeptForReturn,
    ),
    mark(
        MANAGED_BY,
        Some("percona-server-mongodb-operator"),
        "Percona Operator for MongoDB",
        Some(owner("psmdb.percona.com", "PerconaServerMongoDB", INSTANCE)),
        MarkMeaning::KeptForReturn,
    ),
    mark(
        "postgres-operator.crunchydata.com/cluster",
        None,
        "Crunchy Postgres for Kubernetes",
        Some(owner(
            "postgres-operator.crunchydata.com",
            "PostgresCluster",
            "postgres-operator.crunchydata.com/cluster",
        )),
        MarkMeaning::KeptForReturn,
    ),
    mark("ceph.rook.io/DeviceSet", None, "Rook", None, MarkMeaning::KeptForReturn),
    mark("component", Some("singleuser-storage"), "JupyterHub", None, MarkMeaning::UsedOnDemand),
    mark("app", Some("containerized-data-importer"), "KubeVirt CDI", None, MarkMeaning::History),
];

/// The custom resources of a namespace that use claims, or whose operator knows claims by a label with its name: of the
/// kinds that are served, at one time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CustomUsers {
    /// The objects.
    pub users: Vec<CustomUser>,
    /// The kinds that are served, but could not be listed.
    pub unlisted: Vec<UnlistedKind>,
}

/// A custom resource that uses claims.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CustomUser {
    /// The resource's kind.
    pub kind: &'static CustomKind,
    /// The resource's name.
    pub name: Box<str>,
    /// Whether the resource has no namespace, so that it can be used in every one.
    pub cluster_wide: bool,
    /// Whether the resource starts no more pods.
    pub finished: bool,
    /// The claims that the resource names.
    pub claims: Box<[NamedClaim]>,
    /// `metadata.uid` of a resource that has replicas.
    pub uid: Option<Uid>,
    /// `spec.replicas` of a resource that has them.
    pub replicas: Option<i32>,
}

/// A claim that a custom resource names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NamedClaim {
    /// The name of the claim, or of the template from which claims are made.
    pub name: Box<str>,
    /// The way in which the resource names the claim.
    pub by: NamedBy,
    /// The field that names the claim.
    pub field: Box<str>,
}

/// Way in which a custom resource names a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NamedBy {
    /// By its own name, which is that of the claim.
    OwnName,
    /// By a field that holds the name of the claim.
    Field,
    /// By a template from which its claims are made.
    Template,
}

/// Reason for which a kind is not listed from a dump of another tool, which may hold more: there is no server to ask.
pub const OF_A_DUMP: &str = "the dump does not show that it holds all of them";

/// A kind that is served, but could not be listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnlistedKind {
    /// The kind.
    pub kind: &'static CustomKind,
    /// The reason for which the kind was not listed.
    pub reason: Box<str>,
}

/// Whether a name contains a placeholder that is filled in only when pods are made.
pub fn is_placeholder(name: &str) -> bool {
    name.contains("{{") || name.contains("$(") || name.contains("${")
}

impl CustomUser {
    /// Returns the object as messages name it.
    pub fn object(&self) -> String {
        self.kind.object(&self.name)
    }

    /// Returns the resource as a workload of this namespace, if its kind has replicas.
    pub fn as_workload(&self, namespace: &Text) -> Option<Workload> {
        let named = self.claims.iter().filter(|it| it.by == NamedBy::Field);
        let mut claims: Vec<_> = named.map(|it| it.name.clone()).collect();
        claims.dedup();
        Some(Workload {
            kind: self.kind.workload()?,
            namespace: Text::clone(namespace),
            name: self.name.clone(),
            uid: self.uid.clone(),
            replicas: self.replicas,
            suspended: false,
            finished: self.finished,
            controller: None,
            claims: claims.into(),
            inline: InlineVolumes::default(),
            sidecars: None,
            set: None,
        })
    }

    /// Returns the way in which the resource names a claim of its namespace, if it does.
    pub fn names(&self, claim: &str) -> Option<&NamedClaim> {
        self.claims.iter().find(|it| match it.by {
            NamedBy::OwnName | NamedBy::Field => *it.name == *claim,
            NamedBy::Template => self.is_of_template(&it.name, claim),
        })
    }

    /// Whether the name of a claim is that of one of this template: `TEMPLATE-SET-ORDINAL`.
    fn is_of_template(&self, template: &str, claim: &str) -> bool {
        let rest = claim.strip_prefix(template).and_then(|it| it.strip_prefix('-'));
        let ordinal = rest.and_then(|it| it.strip_prefix(&*self.name)?.strip_prefix('-'));
        ordinal.is_some_and(|it| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit()))
    }
}
