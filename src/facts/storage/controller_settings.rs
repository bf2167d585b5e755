//! How the controller of a driver was started.

use crate::cluster::Cx;
use crate::facts::controller::{pod_provisions, workload_provisions};
use crate::model::{ControllerSettings, Fact, FactKey, Text};

/// Returns the arguments and images of the controller of a driver; `None` where no pod and no
/// workload of it was found.
pub fn controller_settings(cx: &Cx, driver: &Text) -> Option<ControllerSettings> {
    let key = FactKey::ControllerSettings(Text::clone(driver));
    match &*cx.fact(key, || Fact::ControllerSettings(derive(cx, driver))) {
        Fact::ControllerSettings(settings) => settings.clone(),
        _ => derive(cx, driver),
    }
}

/// Collects them from all pods and workloads that surely run its provisioner: one that is about to
/// start counts as well. A node plugin, which has the same image, tells nothing of the controller.
pub fn derive(cx: &Cx, driver: &Text) -> Option<ControllerSettings> {
    let of_pods = cx
        .sidecar_pods()
        .filter(|pod| pod_provisions(cx, driver, pod))
        .filter_map(|pod| pod.sidecars.as_deref());
    let of_workloads = cx
        .sidecar_workloads()
        .filter(|workload| workload_provisions(cx, driver, workload))
        .filter_map(|workload| workload.sidecars.as_deref());
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
