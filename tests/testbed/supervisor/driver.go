package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// driver is a CSI driver as a cluster knows it: API objects, a workload, and the processes that do what the containers
// of that workload's pod would do.
type driver struct {
	*workload
	options  driverStart
	plugin   *plugin
	dir      string // the plugin's state
	socket   string
	sidecars []sidecar
	// backendURL is where a backend that is a process listens.
	backendURL string
}

const socketInPod = "/csi/csi.sock"

func newDriver(c *cluster, options driverStart) (*driver, error) {
	plugin, known := plugins[options.Plugin]
	if !known {
		return nil, fmt.Errorf("plugin %q is not one of %q", options.Plugin, slices.Sorted(maps.Keys(plugins)))
	}
	if plugin.driver != "" && plugin.driver != options.Driver {
		return nil, fmt.Errorf("the driver of plugin %s is called %s", options.Plugin, plugin.driver)
	}
	options.Attach = options.Attach || plugin.attaches
	d := &driver{options: options, plugin: plugin, dir: filepath.Join(c.dir, "drivers", options.Driver)}
	namespace := cmp.Or(options.Namespace, plugin.namespace, "csi-"+strings.ReplaceAll(options.Driver, ".", "-"))
	d.workload = &workload{
		cluster:        c,
		namespace:      namespace,
		name:           plugin.deployment,
		serviceAccount: plugin.serviceAccount,
		role:           namespace,
		clusterRules:   func() []object { return d.clusterRules(options.RBACWithout) },
		rules: []object{
			rule("coordination.k8s.io", "leases", "get list watch create update patch delete"),
			rule("", "pods", "get"),
			rule("apps", "replicasets", "get"),
		},
		containers:  d.containers,
		volumes:     []object{{"name": "socket", "emptyDir": object{}}},
		hostNetwork: plugin.hostNetwork,
	}
	for _, kind := range sidecarKinds {
		if kind.wanted(&options) {
			d.sidecars = append(d.sidecars, kind)
		}
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if _, taken := c.drivers[options.Driver]; taken {
		return nil, fmt.Errorf("driver %s runs already", options.Driver)
	}
	c.drivers[options.Driver] = d
	c.sockets++
	d.socket = filepath.Join(c.dir, fmt.Sprintf("csi-%d.sock", c.sockets))
	return d, nil
}

func (s *supervisor) driver(id, name string) (*driver, error) {
	c, err := s.cluster(id)
	if err != nil {
		return nil, err
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if d, known := c.drivers[name]; known {
		return d, nil
	}
	return nil, fmt.Errorf("cluster %s has no driver %q", id, name)
}

// start brings the objects, the processes and the pod up; what is up already is left as it is.
func (d *driver) start() error {
	if err := d.install(); err != nil {
		return err
	}
	if err := d.defineProcesses(); err != nil {
		return err
	}
	var together errgroup.Group
	together.Go(d.startProcesses)
	together.Go(func() error { return d.scale(1) })
	return together.Wait()
}

// forget ends a driver that did not start, so that its name can be used again.
func (d *driver) forget() {
	c := d.cluster
	for _, name := range d.components() {
		if found, err := c.component(name); err == nil {
			found.kill()
		}
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	delete(c.drivers, d.options.Driver)
	for _, name := range d.components() {
		delete(c.components, name)
	}
}

func (d *driver) defineProcesses() error {
	c := d.cluster
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return err
	}
	kubeconfig, err := d.writeKubeconfig(d.options.Driver)
	if err != nil {
		return err
	}
	if _, err := c.component(d.options.Driver); err == nil {
		return nil // resumed
	}
	if err := d.plugin.define(d); err != nil {
		return err
	}
	for _, kind := range d.sidecars {
		up := func(_ *component, since time.Time) error {
			if !d.leaderElection() {
				return nil
			}
			return c.leaseRenewed(d.namespace, kind.lease(d.options.Driver), since)
		}
		args := append(d.sidecarArgs(kind, d.socket), "--kubeconfig="+kubeconfig)
		if err := c.defineLeader(d.component(kind), kind.binary, up, args...); err != nil {
			return err
		}
	}
	return nil
}

// listens says whether the plugin does.
func (d *driver) listens(*component, time.Time) error {
	_, err := os.Stat(d.socket)
	return err
}

func (d *driver) component(kind sidecar) string { return d.options.Driver + "/" + kind.name }

// backends are the names of the processes that stand for what is outside of the cluster.
func (d *driver) backends() []string {
	names := []string{}
	for _, name := range d.plugin.backends {
		names = append(names, d.options.Driver+"/"+name)
	}
	return names
}

// components are the names of the processes in the order in which they start: the plugin before its sidecars, because
// they end when they do not reach it.
func (d *driver) components() []string {
	names := append(d.backends(), d.options.Driver)
	for _, kind := range d.sidecars {
		names = append(names, d.component(kind))
	}
	return names
}

func (d *driver) leaderElection() bool {
	return d.options.LeaderElection == nil || *d.options.LeaderElection
}

// sidecarArgs are the same for the process and for the container, but for the socket's path.
func (d *driver) sidecarArgs(kind sidecar, socket string) []string {
	args := append([]string{"--csi-address=" + socket}, kind.args...)
	args = append(args, d.plugin.sidecarArgs[kind.name]...)
	if d.leaderElection() {
		args = append(args, "--leader-election-namespace="+d.namespace)
		args = append(args, sidecarLeaderElection...)
	}
	if kind.name == provisioner {
		args = append(args, d.options.ProvisionerArgs...)
	}
	return args
}

// startProcesses starts what does not run.
func (d *driver) startProcesses() error {
	for _, name := range d.components() {
		if d.cluster.runs(name) {
			continue
		}
		if name == d.options.Driver {
			os.Remove(d.socket) // its appearance is the sign that the plugin listens
		}
		if err := d.cluster.start(name, nil); err != nil {
			return err
		}
	}
	return nil
}

// endProcesses ends what is in the cluster; the backend outlives that.
func (d *driver) endProcesses(end func(*component), keepPlugin bool) {
	for _, name := range slices.Backward(d.components()) {
		if keepPlugin && name == d.options.Driver || slices.Contains(d.backends(), name) {
			continue
		}
		if found, err := d.cluster.component(name); err == nil {
			end(found)
		}
	}
}

func (d *driver) describe() object {
	leases := object{}
	for _, kind := range d.sidecars {
		if d.leaderElection() {
			leases[kind.name] = kind.lease(d.options.Driver)
		}
	}
	description := object{
		"driver":          d.options.Driver,
		"state":           d.dir,
		"socket":          d.socket,
		"namespace":       d.namespace,
		"service_account": d.serviceAccount,
		"deployment":      d.name,
		"classes":         object{"delete": d.className("Delete"), "retain": d.className("Retain")},
		"lease":           leases[provisioner],
		"leases":          leases,
		"components":      d.components(),
	}
	maps.Copy(description, d.plugin.describe(d))
	return description
}
