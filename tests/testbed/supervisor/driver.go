package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// driver is a CSI driver as a cluster knows it: API objects, a Deployment whose pod kwok plays, and the processes
// that do what the containers of that pod would do.
type driver struct {
	cluster   *cluster
	options   driverStart
	namespace string
	dir       string // the plugin's state
	socket    string
	sidecars  []sidecar
}

const (
	serviceAccount = "csi-controller"
	deployment     = "csi-controller"
	pluginImage    = "registry.example/testbed-csi-driver:v1.0.0"
	socketInPod    = "/csi/csi.sock"
	podPatience    = 60 * time.Second
)

func newDriver(c *cluster, options driverStart) (*driver, error) {
	d := &driver{
		cluster:   c,
		options:   options,
		namespace: options.Namespace,
		dir:       filepath.Join(c.dir, "drivers", options.Driver),
	}
	if d.namespace == "" {
		d.namespace = "csi-" + strings.ReplaceAll(options.Driver, ".", "-")
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
	d.endProcesses((*component).kill, false)
	c := d.cluster
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
	kubeconfig := filepath.Join(c.dir, "credentials", d.options.Driver+".kubeconfig")
	token, err := d.requestToken()
	if err != nil {
		return err
	}
	if err := c.credentials.writeKubeconfig(kubeconfig, c.server, serviceAccount, token); err != nil {
		return err
	}
	if _, err := c.component(d.options.Driver); err == nil {
		return nil // resumed
	}
	pluginUp := func(*component, time.Time) error {
		_, err := os.Stat(d.socket)
		return err
	}
	if err := c.define(d.options.Driver, "testbed-csi-driver", pluginUp, d.pluginArgs()...); err != nil {
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
		if err := c.define(d.component(kind), kind.binary, up, args...); err != nil {
			return err
		}
	}
	return nil
}

func (d *driver) component(kind sidecar) string { return d.options.Driver + "/" + kind.name }

// components are the names of the processes: the plugin, then its sidecars.
func (d *driver) components() []string {
	names := []string{d.options.Driver}
	for _, kind := range d.sidecars {
		names = append(names, d.component(kind))
	}
	return names
}

func (d *driver) leaderElection() bool {
	return d.options.LeaderElection == nil || *d.options.LeaderElection
}

func (d *driver) pluginArgs() []string {
	args := []string{"--name=" + d.options.Driver, "--socket=" + d.socket, "--state=" + d.dir}
	if len(d.cluster.nodes) > 0 {
		args = append(args, "--nodes="+strings.Join(d.cluster.nodes, ","))
	}
	if d.options.Attach {
		args = append(args, "--attach")
	}
	return args
}

// sidecarArgs are the same for the process and for the container, but for the socket's path.
func (d *driver) sidecarArgs(kind sidecar, socket string) []string {
	args := append([]string{"--csi-address=" + socket}, kind.args...)
	if d.leaderElection() {
		args = append(args, "--leader-election-namespace="+d.namespace)
		args = append(args, sidecarLeaderElection...)
	}
	if kind.name == provisioner {
		args = append(args, d.options.ProvisionerArgs...)
	}
	return args
}

// startProcesses starts what does not run: the plugin first, because sidecars end when they do not reach it.
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

func (d *driver) endProcesses(end func(*component), keepPlugin bool) {
	for _, name := range slices.Backward(d.components()) {
		if keepPlugin && name == d.options.Driver {
			continue
		}
		if found, err := d.cluster.component(name); err == nil {
			end(found)
		}
	}
}

// podsPlayed says whether a pod of the Deployment can come up and go away at all.
func (d *driver) podsPlayed() bool { return d.cluster.runs("kwok") && len(d.cluster.nodes) > 0 }

// scale sets the number of pods, and waits for them.
func (d *driver) scale(replicas int) error {
	c := d.cluster
	path := "/apis/apps/v1/namespaces/" + d.namespace + "/deployments/" + deployment
	if err := c.api.merge(path, object{"spec": object{"replicas": replicas}}); err != nil {
		return err
	}
	if !c.runs("kcm") {
		if err := d.standInForDeployment(replicas); err != nil {
			return err
		}
	}
	if !d.podsPlayed() {
		return nil
	}
	for deadline := time.Now().Add(podPatience); ; time.Sleep(pollInterval) {
		phases, err := d.podPhases()
		if err != nil {
			return err
		}
		running := !slices.ContainsFunc(phases, func(phase string) bool { return phase != "Running" })
		if len(phases) == replicas && running {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s: %d pods that run are wanted, the phases after %v are %v", d.options.Driver, replicas, podPatience, phases)
		}
	}
}

func (d *driver) podsPath() string { return "/api/v1/namespaces/" + d.namespace + "/pods" }

func (d *driver) podPhases() ([]string, error) {
	var list struct {
		Items []struct{ Status struct{ Phase string } }
	}
	if err := d.cluster.api.get(d.podsPath(), &list); err != nil {
		return nil, err
	}
	phases := []string{}
	for _, pod := range list.Items {
		phases = append(phases, pod.Status.Phase)
	}
	return phases, nil
}

// standInForDeployment makes or removes the pod that the Deployment's controller would.
func (d *driver) standInForDeployment(replicas int) error {
	const name = deployment + "-0"
	if replicas == 0 {
		return d.cluster.api.delete(d.podsPath() + "/" + name)
	}
	template := d.podTemplate()
	pod := object{"apiVersion": "v1", "kind": "Pod", "metadata": template["metadata"], "spec": template["spec"]}
	pod["metadata"].(object)["name"] = name
	return d.cluster.api.create(d.podsPath(), pod)
}

func (d *driver) describe() object {
	leases := object{}
	for _, kind := range d.sidecars {
		if d.leaderElection() {
			leases[kind.name] = kind.lease(d.options.Driver)
		}
	}
	return object{
		"driver":          d.options.Driver,
		"state":           d.dir,
		"volumes":         filepath.Join(d.dir, "volumes"),
		"snapshots":       filepath.Join(d.dir, "snapshots"),
		"calls":           filepath.Join(d.dir, "calls.jsonl"),
		"faults":          filepath.Join(d.dir, "faults.json"),
		"socket":          d.socket,
		"namespace":       d.namespace,
		"service_account": serviceAccount,
		"deployment":      deployment,
		"classes":         object{"delete": d.className("Delete"), "retain": d.className("Retain")},
		"lease":           leases[provisioner],
		"leases":          leases,
		"components":      d.components(),
	}
}
