//! Probes for a controller: pods, workloads and registration; also the driver that the containers of a pod or a
//! workload serve.

use std::collections::BTreeSet;

use super::{ControllerSearch, ProbeOutcome, is_registered};
use crate::drivers::{self, Name, ProvisionerKind};
use crate::facts::driver_names::{mentions, named_driver, words};
use crate::model::{
    ControllerRole, Kind, ObjectRef, PodPhase, PodUse, SidecarContainer, Sidecars, Text, Workload,
};

impl ControllerSearch<'_, '_> {
    pub(super) fn pods(&mut self) -> ProbeOutcome {
        let mut waiting = None;
        for pod in self.cx.sidecar_pods() {
            let Some(host) = Host::pod(pod).filter(|host| self.may_serve(*host)) else { continue };
            self.runs_in.push(pod.object());
            self.pods_here |= !pod.is_finished();
            if !pod.is_finished() && pod.deleting.is_none() {
                self.objects_to_word(|| format!("{} may run it", pod.object()));
            }
            let runs = pod.phase == PodPhase::Running && pod.ready && pod.deleting.is_none();
            if !runs || !self.serves(host) {
                waiting = Some(format!("{} may run it, phase {}", pod.object(), pod.phase.name()));
            } else if self.has_fresh_lease || self.works_without_lease(host) {
                let found = format!("{} is running and ready", pod.object());
                return self.probe("pod", found, ProbeOutcome::Alive);
            } else {
                // Only the holder of the Lease works; the others wait for it.
                waiting =
                    Some(format!("{} is ready, but no Lease shows that it leads", pod.object()));
            }
        }
        if let Some(found) = waiting {
            return self.probe("pod", found, ProbeOutcome::Trace);
        }
        match self.cx.all_of(Kind::Pod) {
            Ok(()) => self.probe("pod", "no pod runs it", ProbeOutcome::Nothing),
            Err(unseen) => self.probe("pod", unseen.reason.clone(), ProbeOutcome::Unseen(unseen)),
        }
    }

    /// Whether a ready pod works without a Lease: it elects no leader, or, being no CSI provisioner,
    /// holds a lock of another kind and no Lease is known.
    fn works_without_lease(&self, host: Host) -> bool {
        let other_lock =
            || self.external && self.lease.is_none() && self.cx.all_of(Kind::Lease).is_ok();
        self.elects_leader(host.sidecars) == Some(false) || other_lock()
    }

    pub(super) fn workloads(&mut self) -> ProbeOutcome {
        let served = |host: Host| self.may_serve(host);
        let found: Vec<_> = self
            .cx
            .sidecar_workloads()
            .filter(|workload| Host::workload(workload).is_some_and(served))
            .map(|workload| (workload.object(), workload.replicas))
            .collect();
        self.scaled_to_zero = self.scaled_to_zero();
        if let Some((object, replicas)) = found.first() {
            let replicas = replicas.map_or(String::new(), |n| format!(", {n} replicas"));
            let text = format!("{object} would run it{replicas}");
            self.objects_to_word(|| text.clone());
            self.runs_in.extend(found.into_iter().map(|(object, _)| object));
            return self.probe("workload", text, ProbeOutcome::Trace);
        }
        let kinds = [Kind::Deployment, Kind::StatefulSet, Kind::DaemonSet, Kind::ReplicaSet];
        match kinds.into_iter().try_for_each(|kind| self.cx.all_of(kind)) {
            Ok(()) => self.probe("workload", "no workload would run it", ProbeOutcome::Nothing),
            Err(unseen) => {
                self.probe("workload", unseen.reason.clone(), ProbeOutcome::Unseen(unseen))
            }
        }
    }

    /// Returns the workload of the controller that was scaled to zero, unless another one runs it
    /// too. `ReplicaSet`s without replicas are earlier revisions.
    fn scaled_to_zero(&self) -> Option<ObjectRef> {
        let names = |it: &&Workload| Host::workload(it).is_some_and(|it| self.serves(it));
        let own = self.cx.sidecar_workloads().filter(names);
        let mut own = own.filter(|it| it.kind != Kind::ReplicaSet || it.replicas != Some(0));
        let first = own.next()?;
        (first.replicas == Some(0) && own.all(|it| it.replicas == Some(0))).then(|| first.object())
    }

    /// Looks for the driver's `CSIDriver` and `CSINode`: a driver that is registered is not absent.
    pub(super) fn registration(&mut self) -> ProbeOutcome {
        if matches!(self.role, ControllerRole::ControllerManager | ControllerRole::Snapshotter) {
            return ProbeOutcome::Nothing;
        }
        match self.cx.csi_driver(self.driver) {
            // Its volumes are not attached: the registration is no evidence of an
            // external-attacher.
            Ok(Some(driver))
                if self.role == ControllerRole::Attacher && !driver.attach_required =>
            {
                let found = format!("CSIDriver {} has attachRequired: false", self.driver);
                return self.probe("registration", found, ProbeOutcome::Nothing);
            }
            Ok(Some(_)) => {
                let found = format!("CSIDriver {} exists", self.driver);
                return self.probe("registration", found, ProbeOutcome::Trace);
            }
            Ok(None) => {}
            Err(unseen) => {
                return self.probe(
                    "registration",
                    unseen.reason.clone(),
                    ProbeOutcome::Unseen(unseen),
                );
            }
        }
        match self.cx.csi_nodes_of(self.driver) {
            Ok(nodes) if nodes.is_empty() => {
                let found = "neither a CSIDriver nor a CSINode references it";
                self.probe("registration", found, ProbeOutcome::Nothing)
            }
            Ok(nodes) => {
                let found = format!("registered on {} nodes", nodes.len());
                self.probe("registration", found, ProbeOutcome::Trace)
            }
            Err(unseen) => {
                self.probe("registration", unseen.reason.clone(), ProbeOutcome::Unseen(unseen))
            }
        }
    }
}

/// The sidecars of a pod or a workload, with the place where they run.
#[derive(Clone, Copy)]
pub(super) struct Host<'a> {
    namespace: &'a Text,
    /// The name of the workload: for a pod, of the one that controls it.
    workload: &'a str,
    /// The node, if it is a pod's.
    node: Option<&'a Text>,
    pub(super) sidecars: &'a Sidecars,
}

impl<'a> Host<'a> {
    pub(super) fn pod(pod: &'a PodUse) -> Option<Self> {
        let owner = pod.controller.as_deref();
        let workload = owner.map_or(&*pod.name, |owner| match &*owner.kind {
            "ReplicaSet" => of_revision(&owner.name),
            _ => &owner.name,
        });
        let (namespace, node) = (&pod.namespace, pod.node.as_ref());
        Some(Self { namespace, workload, node, sidecars: pod.sidecars.as_deref()? })
    }

    /// Returns the same sidecars without their node.
    pub(super) fn anywhere(self) -> Self {
        Self { node: None, ..self }
    }

    pub(super) fn workload(workload: &'a Workload) -> Option<Self> {
        let of_deployment =
            workload.controller.as_ref().is_some_and(|it| &*it.kind == "Deployment");
        let name = match workload.kind {
            Kind::ReplicaSet if of_deployment => of_revision(&workload.name),
            _ => &workload.name,
        };
        let sidecars = workload.sidecars.as_deref()?;
        Some(Self { namespace: &workload.namespace, workload: name, node: None, sidecars })
    }
}

/// Returns the name of the Deployment of a `ReplicaSet`.
fn of_revision(name: &str) -> &str {
    name.rsplit_once('-').map_or(name, |(deployment, _)| deployment)
}

impl ControllerSearch<'_, '_> {
    /// Whether these sidecars have the role for the driver: they mention it, or they mention none
    /// and are those of its family, or run beside its node plugin.
    pub(super) fn serves(&self, host: Host) -> bool {
        if self.external {
            return self.configured(host) == Some(true);
        }
        host.sidecars.containers.iter().any(|it| it.plays(self.role))
            && (self.serves_all()
                || host.sidecars.mentions.iter().any(|text| mentions(text, self.driver))
                || self.named(host.sidecars).is_empty()
                    && (self.is_of_family(host) || self.is_beside_node_plugin(host)))
    }

    /// Whether these sidecars may have the role for the driver: they mention it, or their driver is
    /// unknown. Each of them serves one driver, so that if more sidecars run than drivers are
    /// mentioned, one may belong to this driver. Any word that is the name of a registered driver
    /// counts as a mention.
    pub(super) fn may_serve(&self, host: Host) -> bool {
        if self.external {
            return self.configured(host) != Some(false);
        }
        let plays = |container: &&SidecarContainer| container.may_play(self.role);
        let running = host.sidecars.containers.iter().filter(plays).count();
        if running == 0 {
            return false;
        }
        let mentioned = || host.sidecars.mentions.iter().any(|text| mentions(text, self.driver));
        let mut named = self.named(host.sidecars);
        if named.is_empty() {
            named.extend(driver_of_family(host));
        }
        running > named.len() || named.contains(&**self.driver) || self.serves_all() || mentioned()
    }

    /// Whether one controller has the role for all drivers.
    fn serves_all(&self) -> bool {
        matches!(self.role, ControllerRole::ControllerManager | ControllerRole::Snapshotter)
    }

    /// Returns the drivers that sidecars mention.
    fn named<'s>(&self, sidecars: &'s Sidecars) -> BTreeSet<&'s str> {
        let mut named: BTreeSet<_> =
            sidecars.mentions.iter().filter_map(|it| named_driver(it)).collect();
        let registered = |word: &&str| word.contains('.') && is_registered(self.cx, word);
        named.extend(sidecars.mentions.iter().flat_map(|it| words(it)).filter(registered));
        named
    }

    /// Whether sidecars that mention no driver are those of the family of the driver.
    fn is_of_family(&self, host: Host) -> bool {
        driver_of_family(host) == Some(&**self.driver)
    }

    /// Whether the one driver that node plugins register in the namespace is this one.
    fn is_beside_node_plugin(&self, host: Host) -> bool {
        let mut registered = BTreeSet::new();
        for workload in self.cx.sidecar_workloads() {
            let Some(sidecars) = workload.sidecars.as_deref() else { continue };
            if workload.namespace != *host.namespace
                || !sidecars.containers.iter().any(SidecarContainer::registers)
            {
                continue;
            }
            let named = sidecars.mentions.iter().filter_map(|it| named_driver(it));
            let named: Vec<_> = named.collect();
            if named.is_empty() {
                return false; // It does not say which driver it registers.
            }
            registered.extend(named);
        }
        registered.len() == 1 && registered.contains(&**self.driver)
    }

    /// Whether a provisioner that is not CSI is configured with the name of this driver; `None` where a variable
    /// decides it.
    fn configured(&self, host: Host) -> Option<bool> {
        let mut found = Some(false);
        for container in &host.sidecars.containers {
            for family in drivers::external_provisioners(&container.image) {
                let (configured_by, default_name) = match family.provisioner.kind {
                    ProvisionerKind::External { configured_by, default_name } => {
                        (configured_by, default_name)
                    }
                    ProvisionerKind::PerNode => match self.is_of_node(family, host.node) {
                        Some(false) => continue,
                        Some(true) => return Some(true),
                        None => {
                            found = None;
                            continue;
                        }
                    },
                    ProvisionerKind::Csi | ProvisionerKind::Nobody => continue,
                };
                match configured_name(configured_by, container, host.sidecars) {
                    Configured::Name(name) if name == **self.driver => return Some(true),
                    Configured::Nothing if default_name == Some(&**self.driver) => {
                        return Some(true);
                    }
                    Configured::Name(_) | Configured::Nothing => {}
                    Configured::Unclear => found = None,
                }
            }
        }
        found
    }

    /// Whether a per-node provisioner of a family has this driver's name on a node: the name of the node, with or
    /// without its uid. `None` where the node was not read.
    fn is_of_node(&self, family: &drivers::Family, node: Option<&Text>) -> Option<bool> {
        let mut names = family.names.iter();
        let rest = names.find_map(|name| match name {
            Name::BeginsWith(prefix) => self.driver.strip_prefix(prefix),
            Name::Is(_) | Name::EndsWith(_) | Name::Chart(_) => None,
        });
        let (Some(rest), Some(node)) = (rest, node) else { return Some(rest.is_some()) };
        let Some(uid) = rest.strip_prefix(&**node) else { return Some(false) };
        if uid.is_empty() {
            return Some(true);
        }
        let node = self.cx.node(node, Kind::Pod).ok()?;
        let known = node.and_then(|it| it.metadata.uid.as_ref())?;
        Some(uid.strip_prefix('-') == Some(known.to_string().as_str()))
    }

    /// Whether the role's containers among these sidecars wait for a Lease before they work. `None`
    /// if a variable decides it.
    pub(super) fn elects_leader(&self, sidecars: &Sidecars) -> Option<bool> {
        if self.external {
            let families = sidecars.containers.iter();
            let mut families = families.flat_map(|it| drivers::external_provisioners(&it.image));
            let default = families.any(|it| it.provisioner.elects_leader);
            return leader_election(default, sidecars.mentions.iter());
        }
        let containers = sidecars.containers.iter().filter(|it| it.plays(self.role));
        // The sidecars are published with it switched off.
        let default = self.role == ControllerRole::ControllerManager;
        let mut elects = Some(false);
        for container in containers {
            match leader_election(default, container.args.iter()) {
                Some(false) => {}
                // One that works without a Lease may serve another driver than one that waits.
                other => elects = elects.and(other),
            }
        }
        elects
    }
}

/// Returns the driver of the family in whose workload sidecars run, or beside whose controller. Only where that family
/// has one driver, of one name.
fn driver_of_family(host: Host) -> Option<&'static str> {
    // Longhorn, among others, calls its Deployment like the sidecar.
    let generic = ControllerRole::ALL.into_iter().any(|role| role.is_called(host.workload));
    let of_workload = (!generic).then(|| drivers::family_of_workload(host.workload)).flatten();
    let of_images = host.sidecars.images.iter().filter_map(|it| drivers::family_of_image(it));
    let mut names = of_workload.into_iter().chain(of_images).map(|family| family.names);
    let first = names.next()?;
    match (first, names.all(|it| it == first)) {
        ([Name::Is(name)], true) => Some(name),
        _ => None,
    }
}

/// The name that a provisioner is configured to have.
enum Configured {
    Nothing,
    Name(String),
    /// A variable decides the name, or there are several names.
    Unclear,
}

fn configured_name(by: &[&str], container: &SidecarContainer, sidecars: &Sidecars) -> Configured {
    let mut names = BTreeSet::new();
    for setting in by {
        if let Some(flag) = setting.strip_prefix('-').map(|it| it.trim_start_matches('-')) {
            let mut args = container.args.iter();
            while let Some(arg) = args.next() {
                let Some(given) = arg.strip_prefix('-') else { continue };
                match given.trim_start_matches('-').split_once('=') {
                    Some((name, value)) if name == flag => drop(names.insert(value)),
                    None if given.trim_start_matches('-') == flag => {
                        names.insert(args.next().map_or("$", |value| &**value));
                    }
                    _ => {}
                }
            }
        } else {
            let prefix = |it: &Text| it.strip_prefix(setting)?.strip_prefix('=').map(str::len);
            let set = sidecars.mentions.iter().filter_map(|it| Some((it, prefix(it)?)));
            names.extend(set.map(|(it, length)| &it[it.len() - length..]));
        }
    }
    match (names.len(), names.first()) {
        (0, _) | (_, None) => Configured::Nothing,
        (1, Some(name)) if !name.contains('$') => Configured::Name((*name).to_owned()),
        _ => Configured::Unclear,
    }
}

/// Whether arguments or variables switch leader election on. `None` if a variable decides it.
fn leader_election<'a>(default: bool, args: impl Iterator<Item = &'a Text>) -> Option<bool> {
    let mut on = Some(default);
    for arg in args {
        let flag = arg.trim_start_matches('-');
        let (name, value) = flag.split_once('=').unwrap_or((flag, "true"));
        if matches!(
            name,
            "leader-election"
                | "enable-leader-election"
                | "leader-elect"
                | "ENABLE_LEADER_ELECTION"
                | "LEADER_ELECTION_ENABLED"
        ) {
            on = match &*value.to_ascii_lowercase() {
                "true" | "t" | "1" => Some(true),
                "false" | "f" | "0" => Some(false),
                _ => None,
            };
        }
    }
    on
}
