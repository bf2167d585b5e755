package main

import (
	"fmt"
	"slices"
)

type proxyStart struct {
	Cluster string `json:"cluster"`
}

func (o *proxyStart) run(s *supervisor) (any, error) {
	c, err := s.cluster(o.Cluster)
	if err != nil {
		return nil, err
	}
	p, err := s.newProxy(c)
	if err != nil {
		return nil, err
	}
	return object{
		"proxy": p.id, "server": p.address, "kubeconfig": p.kubeconfigs["admin"], "users": plainOnly(p.kubeconfigs),
	}, nil
}

type proxyStop struct {
	Proxy string `json:"proxy"`
}

func (o *proxyStop) run(s *supervisor) (any, error) {
	p, err := s.proxy(o.Proxy)
	if err != nil {
		return nil, err
	}
	s.forgetProxy(p)
	p.stop()
	return struct{}{}, nil
}

type proxyFault struct {
	Proxy string `json:"proxy"`
	faultSpec
}

func (o *proxyFault) run(s *supervisor) (any, error) {
	p, err := s.proxy(o.Proxy)
	if err != nil {
		return nil, err
	}
	f, err := newFault(o.faultSpec)
	if err != nil {
		return nil, err
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if _, err := p.fault(f.Fault); err == nil {
		return nil, fmt.Errorf("proxy %s has a fault %s already", p.id, f.Fault)
	}
	p.faults = append(p.faults, f)
	return struct{}{}, nil
}

// fault finds a fault. The proxy's mutex is held.
func (p *proxy) fault(name string) (*fault, error) {
	for _, f := range p.faults {
		if f.Fault == name {
			return f, nil
		}
	}
	return nil, fmt.Errorf("proxy %s has no fault %q", p.id, name)
}

type proxyClear struct {
	Proxy string `json:"proxy"`
	Fault string `json:"fault"` // all, when empty
}

func (o *proxyClear) run(s *supervisor) (any, error) {
	p, err := s.proxy(o.Proxy)
	if err != nil {
		return nil, err
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if o.Fault != "" {
		if _, err := p.fault(o.Fault); err != nil {
			return nil, err
		}
	}
	p.faults = slices.DeleteFunc(p.faults, func(f *fault) bool {
		cleared := o.Fault == "" || o.Fault == f.Fault
		if cleared {
			f.letGo(false)
		}
		return cleared
	})
	return struct{}{}, nil
}

type proxyHeld struct {
	Proxy string `json:"proxy"`
	Fault string `json:"fault"`
}

func (o *proxyHeld) run(s *supervisor) (any, error) {
	p, err := s.proxy(o.Proxy)
	if err != nil {
		return nil, err
	}
	held, err := p.awaitHeld(o.Fault)
	return object{"requests": held}, err
}

type proxyRelease struct {
	Proxy string `json:"proxy"`
	Fault string `json:"fault"`
}

func (o *proxyRelease) run(s *supervisor) (any, error) {
	p, err := s.proxy(o.Proxy)
	if err != nil {
		return nil, err
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	f, err := p.fault(o.Fault)
	if err != nil {
		return nil, err
	}
	released := f.letGo(true)
	if released == 0 {
		return nil, fmt.Errorf("fault %s holds nothing now", o.Fault)
	}
	return object{"released": released}, nil
}

type proxyRequests struct {
	Proxy string `json:"proxy"`
}

func (o *proxyRequests) run(s *supervisor) (any, error) {
	p, err := s.proxy(o.Proxy)
	if err != nil {
		return nil, err
	}
	return object{"requests": p.requests()}, nil
}

// newProxy registers a proxy of a cluster.
func (s *supervisor) newProxy(c *cluster) (*proxy, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.closed {
		return nil, errShutdown
	}
	s.proxiesStarted++
	p, err := newProxy(c, fmt.Sprintf("p%d", s.proxiesStarted))
	if err != nil {
		return nil, err
	}
	s.proxies[p.id] = p
	return p, nil
}

func (s *supervisor) proxy(id string) (*proxy, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if p, known := s.proxies[id]; known {
		return p, nil
	}
	return nil, fmt.Errorf("no proxy is called %q", id)
}

func (s *supervisor) forgetProxy(p *proxy) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delete(s.proxies, p.id)
}

// proxiesOf are the proxies in front of a cluster.
func (s *supervisor) proxiesOf(c *cluster) []*proxy {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var all []*proxy
	for _, p := range s.proxies {
		if p.cluster == c {
			all = append(all, p)
		}
	}
	return all
}
