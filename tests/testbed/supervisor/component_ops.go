package main

import (
	"fmt"
	"syscall"
	"time"
)

type componentStart struct {
	Cluster   string   `json:"cluster"`
	Component string   `json:"component"`
	Args      []string `json:"args"`
}

func (o *componentStart) run(s *supervisor) (any, error) {
	found, err := s.component(o.Cluster, o.Component)
	if err != nil {
		return nil, err
	}
	if err := found.start(o.Args); err != nil {
		return nil, err
	}
	return found.describe(), nil
}

func (c *component) describe() object {
	return object{"pid": c.running().cmd.Process.Pid, "log": c.log}
}

type clusterRestartAPIServer struct {
	Cluster string `json:"cluster"`
	How     string `json:"how"`
}

func (o *clusterRestartAPIServer) run(s *supervisor) (any, error) {
	found, err := s.component(o.Cluster, "apiserver")
	if err != nil {
		return nil, err
	}
	ends := map[string]func(*component){"": (*component).kill, "kill": (*component).kill, "stop": (*component).stop}
	end, known := ends[o.How]
	if !known {
		return nil, fmt.Errorf("%q is not one of kill, stop", o.How)
	}
	cluster, err := s.cluster(o.Cluster)
	if err != nil {
		return nil, err
	}
	others := cluster.running()
	if err := found.restart(end); err != nil {
		return nil, err
	}
	since := time.Now()
	for _, other := range others {
		if other == found || other.ready == nil {
			continue
		}
		if err := other.await(func() error { return other.ready(other, since) }); err != nil {
			return nil, err
		}
	}
	return found.describe(), nil
}

type componentStop struct {
	Cluster   string `json:"cluster"`
	Component string `json:"component"`
}

func (o *componentStop) run(s *supervisor) (any, error) {
	found, err := s.component(o.Cluster, o.Component)
	if err != nil {
		return nil, err
	}
	found.stop()
	return struct{}{}, nil
}

type componentSignal struct {
	Cluster   string `json:"cluster"`
	Component string `json:"component"`
	Signal    string `json:"signal"`
}

var signals = map[string]syscall.Signal{
	"STOP": syscall.SIGSTOP,
	"CONT": syscall.SIGCONT,
	"TERM": syscall.SIGTERM,
	"KILL": syscall.SIGKILL,
}

func (o *componentSignal) run(s *supervisor) (any, error) {
	found, err := s.component(o.Cluster, o.Component)
	if err != nil {
		return nil, err
	}
	signal, known := signals[o.Signal]
	if !known {
		return nil, fmt.Errorf("signal %q is not one of STOP, CONT, TERM, KILL", o.Signal)
	}
	p := found.running()
	if signal == syscall.SIGKILL || signal == syscall.SIGTERM {
		found.want(false)
	}
	if !found.isRunning() {
		return nil, fmt.Errorf("%s does not run", o.Component)
	}
	if signal == syscall.SIGKILL {
		p.kill() // returns when it is gone
		return struct{}{}, nil
	}
	return struct{}{}, p.signal(signal)
}

// component finds what a test starts, stops or signals by itself.
func (s *supervisor) component(id, name string) (*component, error) {
	c, err := s.cluster(id)
	if err != nil {
		return nil, err
	}
	if name == "etcd" || name == "apiserver" {
		c.spoil()
	}
	return c.component(name)
}
