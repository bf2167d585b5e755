package main

import (
	"maps"
	"slices"
	"strings"
)

// install creates the API objects that a driver's manifests would.
func (d *driver) install() error {
	if err := d.workload.install(); err != nil {
		return err
	}
	for _, step := range []struct {
		path string
		o    object
	}{
		{"/apis/storage.k8s.io/v1/csidrivers", object{
			"metadata": object{"name": d.options.Driver},
			"spec":     object{"attachRequired": d.options.Attach, "podInfoOnMount": false},
		}},
		{"/apis/storage.k8s.io/v1/storageclasses", d.storageClass("Delete")},
		{"/apis/storage.k8s.io/v1/storageclasses", d.storageClass("Retain")},
	} {
		if err := d.cluster.api.create(step.path, step.o); err != nil {
			return err
		}
	}
	return d.cluster.register(d.options.Driver, d.plugin.node)
}

// uninstall removes what says that the driver is there. Classes and RBAC stay, as an uninstall often leaves them.
func (d *driver) uninstall() error {
	if err := d.workload.uninstall(); err != nil {
		return err
	}
	paths := []string{"/apis/storage.k8s.io/v1/csidrivers/" + d.options.Driver}
	for _, kind := range d.sidecars {
		paths = append(paths, leasePath(d.namespace, kind.lease(d.options.Driver)))
	}
	for _, path := range paths {
		if err := d.cluster.api.delete(path); err != nil {
			return err
		}
	}
	return d.cluster.unregister(d.options.Driver)
}

// clusterRules are those of all sidecars, without some verbs on persistent volumes.
func (d *driver) clusterRules(without []string) []object {
	all := []object{}
	for _, kind := range d.sidecars {
		for _, r := range kind.rules {
			r = maps.Clone(r)
			if slices.Contains(r["resources"].([]string), "persistentvolumes") {
				r["verbs"] = slices.DeleteFunc(slices.Clone(r["verbs"].([]string)), func(verb string) bool {
					return slices.Contains(without, verb)
				})
			}
			all = append(all, r)
		}
	}
	return all
}

func (d *driver) className(policy string) string {
	return d.options.Driver + "-" + strings.ToLower(policy)
}

func (d *driver) storageClass(policy string) object {
	return object{
		"metadata":             object{"name": d.className(policy)},
		"provisioner":          d.options.Driver,
		"parameters":           d.plugin.parameters,
		"reclaimPolicy":        policy,
		"volumeBindingMode":    "Immediate",
		"allowVolumeExpansion": d.options.Resizer,
	}
}

func (d *driver) containers() []object {
	mounts := []object{{"name": "socket", "mountPath": "/csi"}}
	containers := []object{{
		"name": d.plugin.container, "image": d.plugin.image, "volumeMounts": mounts,
		"args": d.plugin.containerArgs(d),
	}}
	for _, kind := range d.sidecars {
		image := kind.image
		if kind.name == provisioner && d.options.ProvisionerImage != "" {
			image = d.options.ProvisionerImage
		}
		containers = append(containers, object{
			"name": "csi-" + kind.name, "image": image, "volumeMounts": mounts,
			"args": d.sidecarArgs(kind, socketInPod),
		})
	}
	return containers
}
