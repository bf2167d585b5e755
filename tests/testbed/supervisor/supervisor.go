package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

type supervisor struct {
	bin   string
	share string
	state string
	keep  bool

	mutex    sync.Mutex
	closed   bool
	started  int
	clusters map[string]*cluster
	// API servers without a cluster, and by what another could ask for: those that will be, and who waits for one.
	idle      []*cluster
	resetting map[string]int
	awaited   map[string]int

	proxiesStarted int
	proxies        map[string]*proxy
}

func newSupervisor(bin, state string, keep bool) (*supervisor, error) {
	bin, err := filepath.Abs(bin)
	if err != nil {
		return nil, err
	}
	if state == "" {
		// Short, because Unix sockets live in it and their paths may have no more than 107 bytes.
		if state, err = os.MkdirTemp("", "kst-"); err != nil {
			return nil, err
		}
	} else if err = os.MkdirAll(state, 0o700); err != nil {
		return nil, err
	}
	if state, err = filepath.Abs(state); err != nil {
		return nil, err
	}
	return &supervisor{
		bin:       bin,
		share:     filepath.Join(filepath.Dir(bin), "share"),
		state:     state,
		keep:      keep,
		clusters:  map[string]*cluster{},
		resetting: map[string]int{},
		awaited:   map[string]int{},
		proxies:   map[string]*proxy{},
	}, nil
}

// binary finds a program, and says how to build it if it is not there.
func (s *supervisor) binary(name string) (string, error) {
	path := filepath.Join(s.bin, name)
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%s is not built: run tests/testbed/build, with --with for what is not built by default (%w)", name, err)
	}
	return path, nil
}

// newCluster registers a cluster before anything of it is started, so that close finds it.
func (s *supervisor) newCluster() (*cluster, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.closed {
		return nil, errShutdown
	}
	c := s.registered()
	return c, os.Mkdir(c.dir, 0o700)
}

// registered returns a cluster with a name of its own. The caller has the lock.
func (s *supervisor) registered() *cluster {
	s.started++
	id := fmt.Sprintf("c%d", s.started)
	c := &cluster{
		supervisor: s,
		id:         id,
		dir:        filepath.Join(s.state, id),
		components: map[string]*component{},
		drivers:    map[string]*driver{},
	}
	c.context, c.end = context.WithCancel(context.Background())
	s.clusters[id] = c
	return c
}

// release returns a cluster that nobody finds from now on.
func (s *supervisor) release(id string) (*cluster, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	c, known := s.clusters[id]
	if !known {
		return nil, fmt.Errorf("no cluster is called %q", id)
	}
	delete(s.clusters, id)
	return c, nil
}

func (s *supervisor) cluster(id string) (*cluster, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if c, known := s.clusters[id]; known {
		return c, nil
	}
	return nil, fmt.Errorf("no cluster is called %q", id)
}

func (s *supervisor) forget(c *cluster) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delete(s.clusters, c.id)
}

// close kills everything. It may be called more than once and while operations run: what they start afterwards
// is refused.
func (s *supervisor) close() {
	s.mutex.Lock()
	s.closed = true
	s.mutex.Unlock()
	killAllProcesses()
	if s.keep {
		fmt.Fprintln(os.Stderr, "testbed: the state is left in", s.state)
		return
	}
	os.RemoveAll(s.state)
}
