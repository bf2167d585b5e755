//! How the controller of a driver was started.

use crate::cluster::Cx;
use crate::drivers;
use crate::facts::driver_names::mentions;
use crate::model::{ControllerSettings, Fact, FactKey, Sidecars, Text, image_name};

/// Returns the arguments and images of the controller of a driver; `None` where no pod and no
/// workload of it was found.
pub(super) fn controller_settings(cx: &Cx, driver: &Text) -> Option<ControllerSettings> {
    let key = FactKey::ControllerSettings(Text::clone(driver));
    match &*cx.fact(key, || Fact::ControllerSettings(derive(cx, driver))) {
        Fact::ControllerSettings(settings) => settings.clone(),
        _ => derive(cx, driver),
    }
}

/// Collects them from all pods and workloads: one that is about to start counts as well.
pub fn derive(cx: &Cx, driver: &Text) -> Option<ControllerSettings> {
    let evidence = &drivers::family(driver).provisioner;
    let is_its = |sidecars: &Sidecars, workload: &str| {
        sidecars.mentions.iter().any(|text| mentions(text, driver))
            || sidecars.images.iter().any(|it| evidence.images.contains(&image_name(it)))
            || evidence.workloads.contains(&workload)
    };
    let of_pods = cx.sidecar_pods().filter_map(|pod| {
        let owner = pod.controller.as_ref().map_or("", |it| &*it.name);
        pod.sidecars.as_deref().filter(|it| is_its(it, owner))
    });
    let of_workloads = cx
        .sidecar_workloads()
        .filter_map(|it| it.sidecars.as_deref().filter(|sidecars| is_its(sidecars, &it.name)));
    let mut found: Option<ControllerSettings> = None;
    for sidecars in of_pods.chain(of_workloads) {
        let settings = found.get_or_insert_default();
        settings.arguments.extend(sidecars.mentions.iter().cloned());
        settings.images.extend(sidecars.images.iter().cloned());
    }
    if let Some(settings) = &mut found {
        for list in [&mut settings.arguments, &mut settings.images] {
            list.sort_unstable();
            list.dedup();
        }
    }
    found
}
