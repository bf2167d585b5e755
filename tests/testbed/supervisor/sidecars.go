package main

import "strings"

// sidecar is a kind of upstream container that stands beside a driver's plugin.
type sidecar struct {
	name   string // of the component, and of the container with "csi-" before it
	binary string
	image  string
	args   []string
	wanted func(*driverStart) bool
	lease  func(driver string) string
	rules  []object // what its ServiceAccount may do in the whole cluster
}

const (
	provisioner = "provisioner"
	attacher    = "attacher"
	snapshotter = "snapshotter"
	resizer     = "resizer"
)

// Failures are tried again soon, so that a test sees the recovery and not the backoff.
var quickRetries = []string{"--retry-interval-start=500ms", "--retry-interval-max=5s"}

// sidecarLeaderElection has the times of leaderElection.
var sidecarLeaderElection = []string{
	"--leader-election",
	"--leader-election-lease-duration=10s",
	"--leader-election-renew-deadline=8s",
	"--leader-election-retry-period=1s",
}

var sidecarKinds = []sidecar{
	{
		name:   provisioner,
		binary: "csi-provisioner",
		image:  "registry.k8s.io/sig-storage/csi-provisioner:v6.3.0",
		args:   append([]string{"--extra-create-metadata", "--timeout=10s"}, quickRetries...),
		wanted: func(o *driverStart) bool { return o.Provisioner == nil || *o.Provisioner },
		lease:  leaseName,
		rules: []object{
			rule("", "persistentvolumes", "get list watch create patch delete"),
			rule("", "persistentvolumeclaims", "get list watch update"),
			rule("", "events", "list watch create update patch"),
			rule("", "nodes", "get list watch"),
			rule("storage.k8s.io", "storageclasses csinodes volumeattachments volumeattributesclasses", "get list watch"),
			rule("snapshot.storage.k8s.io", "volumesnapshots", "get list watch update"),
			rule("snapshot.storage.k8s.io", "volumesnapshotcontents", "get list"),
		},
	},
	{
		name:   attacher,
		binary: "csi-attacher",
		image:  "registry.k8s.io/sig-storage/csi-attacher:v4.13.0",
		args:   quickRetries,
		wanted: func(o *driverStart) bool { return o.Attacher },
		lease:  func(driver string) string { return "external-attacher-leader-" + leaseName(driver) },
		rules: []object{
			rule("", "persistentvolumes", "get list watch patch"),
			rule("storage.k8s.io", "csinodes", "get list watch"),
			rule("storage.k8s.io", "volumeattachments", "get list watch patch"),
			rule("storage.k8s.io", "volumeattachments/status", "patch"),
		},
	},
	{
		name:   snapshotter,
		binary: "csi-snapshotter",
		image:  "registry.k8s.io/sig-storage/csi-snapshotter:v8.7.0",
		args:   quickRetries,
		wanted: func(o *driverStart) bool { return o.Snapshotter },
		lease:  func(driver string) string { return "external-snapshotter-leader-" + leaseName(driver) },
		rules: []object{
			rule("", "events", "list watch create update patch"),
			rule("snapshot.storage.k8s.io", "volumesnapshotclasses", "get list watch"),
			rule("snapshot.storage.k8s.io", "volumesnapshotcontents", "get list watch update patch"),
			rule("snapshot.storage.k8s.io", "volumesnapshotcontents/status", "update patch"),
		},
	},
	{
		name:   resizer,
		binary: "csi-resizer",
		image:  "registry.k8s.io/sig-storage/csi-resizer:v2.3.0",
		args:   quickRetries,
		wanted: func(o *driverStart) bool { return o.Resizer },
		lease:  func(driver string) string { return "external-resizer-" + leaseName(driver) },
		rules: []object{
			rule("", "persistentvolumes", "get list watch patch"),
			rule("", "persistentvolumeclaims pods", "get list watch"),
			rule("", "persistentvolumeclaims/status", "patch"),
			rule("", "events", "list watch create update patch"),
			rule("storage.k8s.io", "volumeattributesclasses", "get list watch"),
		},
	},
}

// leaseName is how the sidecars turn a driver's name into that of an object.
func leaseName(driver string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '-'
	}, driver)
}

// rule is an RBAC rule; resources and verbs are separated by spaces.
func rule(group, resources, verbs string) object {
	return object{
		"apiGroups": []string{group},
		"resources": strings.Fields(resources),
		"verbs":     strings.Fields(verbs),
	}
}
