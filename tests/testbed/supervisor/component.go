package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

const (
	startPatience = 90 * time.Second // a busy machine is slow, a broken component ends by itself
	stopPatience  = 2 * time.Second  // an API server would wait a minute for its watchers
	pollInterval  = 50 * time.Millisecond
	tailLines     = 25
)

// component is one program of a cluster, which can be started and stopped any number of times.
type component struct {
	name string
	path string
	args []string
	env  []string // beside our own environment
	log  string
	// prepare, where set, is called before each start.
	prepare func() error
	// ready says whether the component does its work yet; since is when it was started. nil: it is, once it runs.
	ready func(c *component, since time.Time) error
	// leads is true of a program that ends itself when it cannot renew its Lease: a busy machine is enough. Where
	// nobody asked it to end, it is started again, as a kubelet does.
	leads bool

	mutex   sync.Mutex
	extra   []string // appended to args; the later flag wins
	process *process
	wanted  bool // its end was not asked for
}

// start runs the program and waits until it is ready.
func (c *component) start(extra []string) error {
	if c.prepare != nil && !c.isRunning() {
		if err := c.prepare(); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	since := time.Now()
	if err := c.launch(extra); err != nil {
		return fmt.Errorf("%s: %w", c.name, err)
	}
	if c.ready == nil {
		return nil
	}
	if err := c.await(func() error { return c.ready(c, since) }); err != nil {
		return err
	}
	if c.leads {
		go c.keep(c.want(true))
	}
	return nil
}

// want says whether the program is to run, and returns its process.
func (c *component) want(wanted bool) *process {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.wanted = wanted
	return c.process
}

// keep starts the program again whenever it ends unasked.
func (c *component) keep(process *process) {
	for {
		<-process.done
		time.Sleep(time.Second)
		c.mutex.Lock()
		if !c.wanted || c.process != process || c.launchLocked(c.extra) != nil {
			c.mutex.Unlock()
			return
		}
		process = c.process
		c.mutex.Unlock()
	}
}

func (c *component) launch(extra []string) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.launchLocked(extra)
}

func (c *component) launchLocked(extra []string) error {
	if c.process != nil && !c.process.ended() {
		return errors.New("it runs already")
	}
	if err := os.MkdirAll(filepath.Dir(c.log), 0o700); err != nil {
		return err
	}
	log, err := os.OpenFile(c.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	args := append(append([]string{}, c.args...), extra...)
	fmt.Fprintf(log, "--- %s %s\n", c.path, strings.Join(args, " "))
	c.extra = extra
	c.process, err = startProcess(c.path, args, c.env, log)
	return err
}

// await polls a condition, and gives up when the component ends for good or time is over; both errors show its log.
func (c *component) await(condition func() error) error {
	deadline := time.Now().Add(startPatience)
	for {
		err := condition()
		if err == nil {
			return nil
		}
		if !c.isRunning() && !c.isWanted() {
			return fmt.Errorf("%s ended while it started%s", c.name, c.tail())
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s is not ready after %v: %w%s", c.name, startPatience, err, c.tail())
		}
		time.Sleep(pollInterval)
	}
}

func (c *component) running() *process {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.process
}

func (c *component) isRunning() bool {
	p := c.running()
	return p != nil && !p.ended()
}

func (c *component) isWanted() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.wanted
}

// restart starts it anew with the arguments that it had.
func (c *component) restart(end func(*component)) error {
	end(c)
	c.mutex.Lock()
	extra := c.extra
	c.mutex.Unlock()
	return c.start(extra)
}

// stop does nothing if the component does not run.
func (c *component) stop() {
	if p := c.want(false); p != nil {
		p.stop(stopPatience)
	}
}

func (c *component) kill() {
	if p := c.want(false); p != nil {
		p.kill()
	}
}

func (c *component) hasFlag(flag string) bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, arg := range c.extra {
		if arg == flag {
			return true
		}
	}
	return false
}

func (c *component) tail() string {
	text, err := os.ReadFile(c.log)
	if err != nil {
		return ""
	}
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	lines = lines[max(0, len(lines)-tailLines):]
	return fmt.Sprintf("; the end of %s:\n%s", c.log, bytes.Join(lines, []byte("\n")))
}
