//! Recognition of drivers whose names leave it open: by the images of the pods and workloads that run them.

use super::indexes::EntryChange;
use super::table::Linked;
use super::{Cluster, Dirty};
use crate::drivers::{
    ProvisionerKind, Recognition,
    driver_names::{mentions, provisioner_leases, sanitize},
    family, family_with, is_unknown, recognised_by_images, tell_of_families,
};
use crate::model::{InlineVolumes, Kind, ObjectId, PodUse, Row, Sidecars, Text, Volume, Workload};

/// Whether a driver is not recognised by its name: the name is unknown, or only the usual name of a provisioner, which
/// its installer chooses.
pub(super) fn is_open(driver: &str) -> bool {
    let named = family(driver);
    is_unknown(named) || matches!(named.provisioner.kind, ProvisionerKind::External { .. })
}

impl Cluster {
    /// Recognises a driver or a provisioner: by its name, and where that leaves it open, by
    /// the images of the pods and workloads that carry its name, register it or hold its Lease.
    pub fn recognition(&self, driver: &str) -> Recognition {
        if !is_open(driver) {
            return Recognition::As(family(driver).id);
        }
        let known = self.recognised.get(driver).cloned();
        known.unwrap_or_else(|| self.recognise(driver))
    }

    fn recognise(&self, driver: &str) -> Recognition {
        let names_it = |it: &&Sidecars| it.mentions.iter().any(|text| mentions(text, driver));
        let pods = self.indexes.sidecar_pods.iter().filter_map(|id| self.tables.pods.get(*id));
        let of_pods = pods
            .filter(|pod| !pod.is_finished())
            .filter_map(|pod| Some((pod, pod.sidecars.as_deref()?)))
            .filter(|(pod, sidecars)| names_it(sidecars) || self.leads(pod, driver))
            .map(|(_, sidecars)| sidecars);
        let workloads =
            self.indexes.sidecar_workloads.iter().filter_map(|id| self.tables.workloads.get(*id));
        let of_workloads = workloads
            // Earlier revisions of a Deployment.
            .filter(|it| it.kind != Kind::ReplicaSet || it.replicas != Some(0))
            .filter_map(|it| it.sidecars.as_deref())
            .filter(names_it);
        let images = of_pods.chain(of_workloads).flat_map(|it| it.images.iter().map(|it| &**it));
        let (shown, named) = (recognised_by_images(images), family(driver));
        match shown {
            _ if is_unknown(named) => shown,
            Recognition::Unknown => Recognition::As(named.id),
            Recognition::As(id) if id != named.id => Recognition::Differs(format!(
                "its name is that of {}, and what runs it is {}",
                named.title,
                family_with(id).title
            )),
            Recognition::As(_) | Recognition::Differs(_) => shown,
        }
    }

    /// Whether a pod holds the Lease of a driver's provisioner.
    fn leads(&self, pod: &PodUse, driver: &str) -> bool {
        let is_it = |holder: &str| {
            let rest = holder.strip_prefix(&*pod.name);
            holder == sanitize(&pod.name)
                || rest.is_some_and(|it| it.is_empty() || it.starts_with('_'))
        };
        provisioner_leases(driver).iter().any(|name| {
            let ids = self.indexes.leases_by_name.candidates(&**name);
            let mut leases = ids.filter_map(|id| self.tables.leases.get(id));
            leases.any(|it| {
                *it.metadata.name == **name
                    && it.namespace == pod.namespace
                    && it.holder.as_deref().is_some_and(is_it)
            })
        })
    }

    /// Sets, in a row, the families of drivers that only images show.
    pub(super) fn recognise_row(&mut self, row: &mut Row) {
        match row {
            Row::Volume(volume) => {
                volume.drivers().map(Text::from).collect::<Vec<_>>().iter().for_each(|it| {
                    self.watch_driver(it);
                });
                self.give_family(volume);
            }
            Row::Pod(pod) => {
                pod.inline.iter().for_each(|it| self.watch_driver(&it.backend.driver));
                pod.inline = pod.inline.with_families(|driver| self.shown_family(driver));
            }
            Row::Workload(it) => {
                it.inline.iter().for_each(|it| self.watch_driver(&it.backend.driver));
                it.inline = it.inline.with_families(|driver| self.shown_family(driver));
            }
            _ => {}
        }
    }

    /// Recognises a driver now and after later changes, if its name leaves it open.
    fn watch_driver(&mut self, driver: &Text) {
        if is_open(driver) && !self.recognised.contains_key(driver) {
            let recognition = self.recognise(driver);
            self.recognised.insert(Text::clone(driver), recognition);
        }
    }

    fn give_family(&self, volume: &mut Volume) {
        let family = volume.backend.as_ref().and_then(|it| self.shown_family(&it.driver));
        volume.attributes = std::mem::take(&mut volume.attributes).with_family(family);
    }

    /// The family of a driver of unknown name, as images show it.
    fn shown_family(&self, driver: &str) -> Option<&'static str> {
        match self.recognised.get(driver)? {
            Recognition::As(id) if is_unknown(family(driver)) => Some(id),
            Recognition::As(_) | Recognition::Unknown | Recognition::Differs(_) => None,
        }
    }

    /// Whether a row shows, or did show, which images run a driver.
    pub(super) fn shows_what_runs(&self, row: &Row) -> bool {
        if self.recognised.is_empty() {
            return false;
        }
        match row {
            Row::Pod(pod) => match self.tables.pods.find(Kind::Pod, &pod.namespace, &pod.name) {
                Some(known) => pod.sidecars.is_some() || self.indexes.sidecar_pods.contains(&known),
                None => pod.sidecars.as_deref().is_some_and(|sidecars| {
                    self.shows_another(sidecars, |driver| self.leads(pod, driver))
                }),
            },
            Row::Workload(it) => {
                match self.tables.workloads.find(it.kind, &it.namespace, &it.name) {
                    Some(known) => {
                        it.sidecars.is_some() || self.indexes.sidecar_workloads.contains(&known)
                    }
                    None => it
                        .sidecars
                        .as_deref()
                        .is_some_and(|sidecars| self.shows_another(sidecars, |_| false)),
                }
            }
            // They are renewed all the time.
            Row::Lease(lease) => {
                let name = &*lease.metadata.name;
                let known = self.tables.leases.named(Kind::Lease, &lease.namespace, name);
                known.is_none_or(|known| known.holder != lease.holder)
                    && self
                        .recognised
                        .keys()
                        .any(|driver| provisioner_leases(driver).iter().any(|it| it == name))
            }
            _ => false,
        }
    }

    /// Whether the sidecars of a new row show another family of a driver than the known one: on each of very many nodes
    /// the same plugin runs.
    fn shows_another(&self, sidecars: &Sidecars, leads: impl Fn(&str) -> bool) -> bool {
        let images = || sidecars.images.iter().map(|it| &**it);
        let shown = recognised_by_images(images());
        let names_it = |driver: &str| {
            sidecars.mentions.iter().any(|text| mentions(text, driver)) || leads(driver)
        };
        tell_of_families(images())
            && self.recognised.iter().any(|(driver, known)| {
                // Of others it may rest on the name alone.
                let by_images = matches!(known, Recognition::As(_)) && is_unknown(family(driver));
                !(by_images && shown == *known) && names_it(driver)
            })
    }

    /// Recognises drivers again after rows of a kind were removed.
    pub(super) fn recognise_without(&mut self, kind: Kind, dirty: &mut Dirty) {
        if Kind::WORKLOADS.contains(&kind) || matches!(kind, Kind::Pod | Kind::Lease) {
            self.recognise_again(dirty);
        }
    }

    /// Recognises the watched drivers again, after a change of the pods and workloads that run them.
    pub(super) fn recognise_again(&mut self, dirty: &mut Dirty) {
        let drivers: Vec<Text> = self.recognised.keys().cloned().collect();
        for driver in drivers {
            let recognition = self.recognise(&driver);
            if self.recognised.get(&driver) == Some(&recognition) {
                continue;
            }
            self.recognised.insert(Text::clone(&driver), recognition);
            self.touch_driver(&driver, dirty);
            let ids: Vec<ObjectId> = self.indexes.volumes_by_driver.candidates(&*driver).collect();
            for id in ids {
                self.replace::<Volume>(id, Self::give_family, dirty);
            }
            let is_its =
                |inline: &InlineVolumes| inline.iter().any(|it| it.backend.driver == driver);
            let pods = self.tables.pods.iter().filter(|(_, pod)| is_its(&pod.inline));
            let pods: Vec<ObjectId> = pods.map(|(id, _)| id).collect();
            let workloads = self.tables.workloads.iter().filter(|(_, it)| is_its(&it.inline));
            let workloads: Vec<ObjectId> = workloads.map(|(id, _)| id).collect();
            for id in pods {
                let give = |cluster: &Self, pod: &mut PodUse| {
                    pod.inline = pod.inline.with_families(|driver| cluster.shown_family(driver));
                };
                self.replace(id, give, dirty);
            }
            for id in workloads {
                let give = |cluster: &Self, it: &mut Workload| {
                    it.inline = it.inline.with_families(|driver| cluster.shown_family(driver));
                };
                self.replace(id, give, dirty);
            }
        }
    }

    /// Changes a row and its index entries, and marks the subjects that rest on it.
    fn replace<R: Linked + Clone>(
        &mut self,
        id: ObjectId,
        change: impl FnOnce(&Self, &mut R),
        dirty: &mut Dirty,
    ) {
        let Some(before) = R::table(&self.tables).get(id) else { return };
        let mut after = before.clone();
        change(self, &mut after);
        if after == *before {
            return;
        }
        self.touch(id, before, dirty);
        before.index(EntryChange::Remove, id, &mut self.indexes);
        after.index(EntryChange::Add, id, &mut self.indexes);
        R::table_mut(&mut self.tables).change(id, |row| *row = after);
        self.touch_row::<R>(id, dirty);
    }
}
