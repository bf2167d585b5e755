package main

import (
	"path/filepath"
	"strings"
)

// plugin is the program of a driver that implements CSI, and what is particular about the driver that it makes.
type plugin struct {
	driver         string // its only name; empty: any
	namespace      string // empty: made from the driver's name
	deployment     string
	serviceAccount string
	container      string
	image          string
	containerArgs  func(d *driver) []string
	// hostNetwork is the pod's. Leaders in it call themselves after the node, and not after the pod.
	hostNetwork bool
	// attaches says that its volumes always need to be attached.
	attaches bool
	node     nodeInfo
	// parameters are those of its classes.
	parameters object
	// sidecarArgs are added to those of a sidecar.
	sidecarArgs map[string][]string
	// backends are the names of the components beside it that stand for what is outside of the cluster.
	backends []string
	// define registers its component, which has the driver's name, and those of its backends.
	define func(d *driver) error
	// describe says where the backend can be looked at.
	describe func(d *driver) object
}

var plugins = map[string]*plugin{"": &ourPlugin, "gce-pd": &gcePD}

// ourPlugin is testbed-csi-driver.
var ourPlugin = plugin{
	deployment:     "csi-controller",
	serviceAccount: "csi-controller",
	container:      "driver",
	image:          "registry.example/testbed-csi-driver:v1.0.0",
	containerArgs: func(d *driver) []string {
		return []string{"--name=" + d.options.Driver, "--socket=" + socketInPod}
	},
	define: func(d *driver) error {
		args := []string{"--name=" + d.options.Driver, "--socket=" + d.socket, "--state=" + d.dir}
		if len(d.cluster.nodes) > 0 {
			args = append(args, "--nodes="+strings.Join(d.cluster.nodes, ","))
		}
		if d.options.Attach {
			args = append(args, "--attach")
		}
		return d.cluster.define(d.options.Driver, "testbed-csi-driver", d.listens, args...)
	},
	describe: func(d *driver) object {
		return object{
			"volumes":   filepath.Join(d.dir, "volumes"),
			"snapshots": filepath.Join(d.dir, "snapshots"),
			"calls":     filepath.Join(d.dir, "calls.jsonl"),
			"faults":    filepath.Join(d.dir, "faults.json"),
		}
	},
}
