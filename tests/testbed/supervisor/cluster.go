package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
)

type cluster struct {
	supervisor  *supervisor
	id          string
	dir         string
	version     string
	etcdURL     string
	server      string
	credentials *credentials
	kubeconfigs map[string]string // by user
	api         *api              // as admin
	nodes       []string
	context     context.Context // ends with the cluster
	end         context.CancelFunc

	mutex      sync.Mutex
	components map[string]*component
	drivers    map[string]*driver
	sockets    int    // how many were named
	birth      *birth // nil: it is not used again
}

func (c *cluster) component(name string) (*component, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if found, known := c.components[name]; known {
		return found, nil
	}
	return nil, fmt.Errorf("cluster %s has no component %q, it has %s",
		c.id, name, strings.Join(slices.Sorted(maps.Keys(c.components)), ", "))
}

// runs says whether a component is up.
func (c *cluster) runs(name string) bool {
	found, err := c.component(name)
	return err == nil && found.isRunning()
}

// running returns the components that are up.
func (c *cluster) running() []*component {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	down := func(one *component) bool { return !one.isRunning() }
	return slices.DeleteFunc(slices.Collect(maps.Values(c.components)), down)
}

func (c *cluster) start(name string, extra []string) error {
	found, err := c.component(name)
	if err != nil {
		return err
	}
	return found.start(extra)
}

// halt ends components at once: nothing of a cluster is worth a graceful end.
func (c *cluster) halt(isMeant func(name string) bool) {
	c.end()
	c.mutex.Lock()
	all := maps.Clone(c.components)
	c.mutex.Unlock()
	for _, p := range c.supervisor.proxiesOf(c) {
		c.supervisor.forgetProxy(p)
		p.stop()
	}
	for name, one := range all {
		if isMeant(name) {
			one.kill()
		}
	}
}

// stop ends everything.
func (c *cluster) stop() {
	c.halt(func(string) bool { return true })
	c.supervisor.forget(c)
	if !c.supervisor.keep {
		os.RemoveAll(c.dir)
	}
}

type clusterStart struct {
	Version       string   `json:"version"`
	APIServerArgs []string `json:"apiserver_args"`
	KCM           bool     `json:"kcm"`
	KCMArgs       []string `json:"kcm_args"`
	Scheduler     bool     `json:"scheduler"`
	SchedulerArgs []string `json:"scheduler_args"`
	Kwok          bool     `json:"kwok"`
	Nodes         int      `json:"nodes"`
	EtcdSeed      string   `json:"etcd_seed"`
}

type clusterStarted struct {
	Cluster    string            `json:"cluster"`
	Server     string            `json:"server"`
	Dir        string            `json:"dir"`
	Kubeconfig string            `json:"kubeconfig"`
	Users      map[string]string `json:"users"`
	Tokens     map[string]string `json:"tokens"`
	CA         string            `json:"ca"`
	AuditLog   string            `json:"audit_log"`
	Nodes      []string          `json:"nodes"`
}

// portTaken is what etcd and the API server say when another program was faster.
const portTaken = "address already in use"

func (o *clusterStart) run(s *supervisor) (any, error) {
	if o.Version == "" {
		o.Version = defaultRelease
	}
	if c := s.reuse(o.reuseKind()); c != nil {
		if o.populate(c) == nil {
			return c.describe(), nil
		}
		c.stop()
	}
	for attempt := 1; ; attempt++ {
		c, err := s.newCluster()
		if err != nil {
			return nil, err
		}
		if err = o.start(c); err == nil {
			return c.describe(), nil
		}
		c.stop()
		if attempt == 3 || !strings.Contains(err.Error(), portTaken) {
			return nil, err
		}
	}
}

func (o *clusterStart) start(c *cluster) error {
	programs, err := releaseOf(o.Version)
	if err != nil {
		return err
	}
	if o.Scheduler && programs.scheduler == "" {
		return fmt.Errorf("no scheduler is built for %s: give pods a spec.nodeName", o.Version)
	}
	c.version = o.Version
	if err := o.define(c, programs); err != nil {
		return err
	}
	if err := c.start("etcd", nil); err != nil {
		return err
	}
	if o.EtcdSeed != "" {
		if err := c.seedEtcd(o.EtcdSeed); err != nil {
			return err
		}
	}
	if err := c.start("apiserver", o.APIServerArgs); err != nil {
		return err
	}
	c.remember(o.reuseKind())
	return o.populate(c)
}

// populate starts what is beside an API server.
func (o *clusterStart) populate(c *cluster) error {
	var together errgroup.Group
	if o.KCM {
		together.Go(func() error { return c.start("kcm", o.KCMArgs) })
	}
	if o.Scheduler {
		together.Go(func() error { return c.start("scheduler", o.SchedulerArgs) })
	}
	if o.Kwok {
		together.Go(func() error { return c.start("kwok", nil) })
	}
	together.Go(func() error { return c.createNodes(o.Nodes) })
	if err := together.Wait(); err != nil {
		return err
	}
	if o.Kwok {
		return c.awaitNodes(o.KCM)
	}
	return nil
}

// define registers every component that this version has, started now or not.
func (o *clusterStart) define(c *cluster, programs release) (err error) {
	if c.credentials, err = newCredentials(c.dir + "/credentials"); err != nil {
		return err
	}
	if err := c.defineEtcd(); err != nil {
		return err
	}
	if err := c.defineAPIServer(programs.apiserver); err != nil {
		return err
	}
	if c.kubeconfigs, err = c.credentials.writeKubeconfigs(c.credentials.dir, c.server); err != nil {
		return err
	}
	c.api = newAPI(c.server, c.credentials.tokens["admin"], c.credentials.caPEM)
	if err := c.defineKCM(programs.kcm); err != nil {
		return err
	}
	if programs.scheduler != "" {
		if err := c.defineScheduler(programs.scheduler); err != nil {
			return err
		}
	}
	return c.defineKwok()
}

func (c *cluster) describe() clusterStarted {
	return clusterStarted{
		Cluster:    c.id,
		Server:     c.server,
		Dir:        c.dir,
		Kubeconfig: c.kubeconfigs["admin"],
		Users:      plainOnly(c.kubeconfigs),
		Tokens:     c.credentials.tokens,
		CA:         c.credentials.path("ca.crt"),
		AuditLog:   c.auditLog(),
		Nodes:      c.nodes,
	}
}

// plainOnly are the kubeconfigs of the users who have no rights yet.
func plainOnly(kubeconfigs map[string]string) map[string]string {
	users := map[string]string{}
	for n := 1; n <= plainUsers; n++ {
		user := fmt.Sprintf("user-%d", n)
		users[user] = kubeconfigs[user]
	}
	return users
}

type clusterStop struct {
	Cluster string `json:"cluster"`
	// Failed says that something may still run that uses it.
	Failed bool `json:"failed"`
}

func (o *clusterStop) run(s *supervisor) (any, error) {
	c, err := s.release(o.Cluster)
	if err != nil {
		return nil, err
	}
	if o.Failed {
		c.spoil()
	}
	c.retire()
	return struct{}{}, nil
}
