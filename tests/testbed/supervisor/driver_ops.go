package main

import "fmt"

type driverStart struct {
	Cluster          string   `json:"cluster"`
	Driver           string   `json:"driver"`
	Plugin           string   `json:"plugin"` // empty: our own
	Namespace        string   `json:"namespace"`
	Attach           bool     `json:"attach"`
	Attacher         bool     `json:"attacher"`
	Snapshotter      bool     `json:"snapshotter"`
	Resizer          bool     `json:"resizer"`
	Provisioner      *bool    `json:"provisioner"`     // default true
	LeaderElection   *bool    `json:"leader_election"` // default true
	ProvisionerArgs  []string `json:"provisioner_args"`
	ProvisionerImage string   `json:"provisioner_image"`
	RBACWithout      []string `json:"rbac_without"`
}

func (o *driverStart) run(s *supervisor) (any, error) {
	c, err := s.cluster(o.Cluster)
	if err != nil {
		return nil, err
	}
	if o.Driver == "" {
		return nil, fmt.Errorf("a driver name is needed")
	}
	d, err := newDriver(c, *o)
	if err != nil {
		return nil, err
	}
	if err := d.start(); err != nil {
		d.forget()
		return nil, err
	}
	return d.describe(), nil
}

type driverStop struct {
	Cluster    string `json:"cluster"`
	Driver     string `json:"driver"`
	How        string `json:"how"`
	KeepPlugin bool   `json:"keep_plugin"`
}

func (o *driverStop) run(s *supervisor) (any, error) {
	d, err := s.driver(o.Cluster, o.Driver)
	if err != nil {
		return nil, err
	}
	switch o.How {
	case "kill":
		d.endProcesses((*component).kill, o.KeepPlugin)
		return struct{}{}, nil
	case "scale-to-zero":
		d.endProcesses((*component).stop, o.KeepPlugin)
		return struct{}{}, d.scale(0)
	case "uninstall":
		d.endProcesses((*component).stop, o.KeepPlugin)
		if err := d.scale(0); err != nil {
			return nil, err
		}
		return struct{}{}, d.uninstall()
	}
	return nil, fmt.Errorf("how %q is not one of kill, scale-to-zero, uninstall", o.How)
}

type driverResume struct {
	Cluster string `json:"cluster"`
	Driver  string `json:"driver"`
}

func (o *driverResume) run(s *supervisor) (any, error) {
	d, err := s.driver(o.Cluster, o.Driver)
	if err != nil {
		return nil, err
	}
	if err := d.start(); err != nil {
		return nil, err
	}
	return d.describe(), nil
}

// driverRBAC sets what the ServiceAccount may not do with persistent volumes; nothing gives all rights back.
type driverRBAC struct {
	Cluster string   `json:"cluster"`
	Driver  string   `json:"driver"`
	Without []string `json:"without"`
}

func (o *driverRBAC) run(s *supervisor) (any, error) {
	d, err := s.driver(o.Cluster, o.Driver)
	if err != nil {
		return nil, err
	}
	return struct{}{}, d.setClusterRules(d.clusterRules(o.Without))
}
