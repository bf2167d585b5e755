package main

import (
	"maps"
	"slices"
	"strings"
)

// install creates the API objects that a driver's manifests would.
func (d *driver) install() error {
	api := d.cluster.api
	for _, step := range []struct {
		path string
		o    object
	}{
		{"/api/v1/namespaces", object{"metadata": object{"name": d.namespace}}},
		{"/api/v1/namespaces/" + d.namespace + "/serviceaccounts", object{"metadata": object{"name": serviceAccount}}},
		{"/apis/rbac.authorization.k8s.io/v1/clusterroles", d.clusterRole()},
		{"/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", d.binding("ClusterRole", d.namespace)},
		{"/apis/rbac.authorization.k8s.io/v1/namespaces/" + d.namespace + "/roles", object{
			"metadata": object{"name": serviceAccount},
			"rules": []object{
				rule("coordination.k8s.io", "leases", "get list watch create update patch delete"),
				rule("", "pods", "get"),
				rule("apps", "replicasets", "get"),
			},
		}},
		{"/apis/rbac.authorization.k8s.io/v1/namespaces/" + d.namespace + "/rolebindings", d.binding("Role", serviceAccount)},
		{"/apis/storage.k8s.io/v1/csidrivers", object{
			"metadata": object{"name": d.options.Driver},
			"spec":     object{"attachRequired": d.options.Attach, "podInfoOnMount": false},
		}},
		{"/apis/storage.k8s.io/v1/storageclasses", d.storageClass("Delete")},
		{"/apis/storage.k8s.io/v1/storageclasses", d.storageClass("Retain")},
		{"/apis/apps/v1/namespaces/" + d.namespace + "/deployments", d.deployment()},
	} {
		if err := api.create(step.path, step.o); err != nil {
			return err
		}
	}
	return d.cluster.setNodeDriver(d.options.Driver, true)
}

// uninstall removes what says that the driver is there. Classes and RBAC stay, as an uninstall often leaves them.
func (d *driver) uninstall() error {
	api := d.cluster.api
	paths := []string{
		"/apis/apps/v1/namespaces/" + d.namespace + "/deployments/" + deployment,
		"/apis/storage.k8s.io/v1/csidrivers/" + d.options.Driver,
	}
	for _, kind := range d.sidecars {
		paths = append(paths, leasePath(d.namespace, kind.lease(d.options.Driver)))
	}
	for _, path := range paths {
		if err := api.delete(path); err != nil {
			return err
		}
	}
	return d.cluster.setNodeDriver(d.options.Driver, false)
}

func (d *driver) clusterRole() object {
	return object{"metadata": object{"name": d.namespace}, "rules": d.rules(d.options.RBACWithout)}
}

// rules are those of all sidecars, without some verbs on persistent volumes.
func (d *driver) rules(without []string) []object {
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

func (d *driver) binding(roleKind, role string) object {
	return object{
		"metadata": object{"name": role},
		"subjects": []object{{"kind": "ServiceAccount", "name": serviceAccount, "namespace": d.namespace}},
		"roleRef":  object{"apiGroup": "rbac.authorization.k8s.io", "kind": roleKind, "name": role},
	}
}

func (d *driver) className(policy string) string {
	return d.options.Driver + "-" + strings.ToLower(policy)
}

func (d *driver) storageClass(policy string) object {
	return object{
		"metadata":          object{"name": d.className(policy)},
		"provisioner":       d.options.Driver,
		"reclaimPolicy":     policy,
		"volumeBindingMode": "Immediate",
	}
}

func (d *driver) deployment() object {
	return object{
		"metadata": object{"name": deployment},
		"spec": object{
			"replicas": 1,
			// The old pod must be gone before the new one comes, as one process stands for both.
			"strategy": object{"type": "Recreate"},
			"selector": object{"matchLabels": d.labels()},
			"template": d.podTemplate(),
		},
	}
}

func (d *driver) labels() object { return object{"app": deployment} }

func (d *driver) podTemplate() object {
	mounts := []object{{"name": "socket", "mountPath": "/csi"}}
	containers := []object{{
		"name": "driver", "image": pluginImage, "volumeMounts": mounts,
		"args": []string{"--name=" + d.options.Driver, "--socket=" + socketInPod},
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
	spec := object{
		"serviceAccountName": serviceAccount,
		"containers":         containers,
		"volumes":            []object{{"name": "socket", "emptyDir": object{}}},
	}
	if !d.cluster.runs("scheduler") && len(d.cluster.nodes) > 0 {
		spec["nodeName"] = d.cluster.nodes[0]
	}
	return object{"metadata": object{"labels": d.labels()}, "spec": spec}
}

// requestToken asks for a token of the ServiceAccount that outlives any test.
func (d *driver) requestToken() (string, error) {
	var answer struct{ Status struct{ Token string } }
	err := d.cluster.api.do("POST",
		"/api/v1/namespaces/"+d.namespace+"/serviceaccounts/"+serviceAccount+"/token", "application/json",
		object{"spec": object{"expirationSeconds": 7 * 24 * 3600}}, &answer)
	return answer.Status.Token, err
}
