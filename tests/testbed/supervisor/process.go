package main

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// process is a running child.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
	err  error         // how it ended; read it after done
}

// children are all that run now, and whether more may be started.
var children = struct {
	sync.Mutex
	running map[*process]struct{}
	closed  bool
}{running: map[*process]struct{}{}}

// spawner runs functions on one thread that lives as long as we do. The kernel's parent-death signal is sent when
// the *thread* that forked ends, and Go ends threads at will.
var spawner = func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range work {
			f()
		}
	}()
	return work
}()

func startProcess(path string, args, env []string, log *os.File) (*process, error) {
	children.Lock()
	defer children.Unlock()
	if children.closed {
		return nil, errShutdown
	}
	p := &process{cmd: exec.Command(path, args...), done: make(chan struct{})}
	// What the user works on is none of a test cluster's business.
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "KUBECONFIG=") {
			p.cmd.Env = append(p.cmd.Env, variable)
		}
	}
	// An API server takes a fifth less of a core to start, and a hundred MiB more: machines of tests have memory.
	p.cmd.Env = append(p.cmd.Env, "GOGC=400")
	p.cmd.Env = append(p.cmd.Env, env...)
	p.cmd.Stdout = log
	p.cmd.Stderr = log
	p.cmd.SysProcAttr = childAttributes()
	started := make(chan error)
	spawner <- func() { started <- p.cmd.Start() }
	if err := <-started; err != nil {
		return nil, err
	}
	children.running[p] = struct{}{}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
		children.Lock()
		defer children.Unlock()
		delete(children.running, p)
	}()
	return p, nil
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

func (p *process) signal(signal os.Signal) error {
	err := p.cmd.Process.Signal(signal)
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// stop asks politely, then kills. A stopped (SIGSTOP) process cannot answer until it is continued.
func (p *process) stop(patience time.Duration) {
	p.signal(syscall.SIGTERM)
	p.signal(syscall.SIGCONT)
	select {
	case <-p.done:
	case <-time.After(patience):
		p.kill()
	}
}

func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	<-p.done
}

// killAllProcesses ends every child and lets no new one start.
func killAllProcesses() {
	children.Lock()
	children.closed = true
	running := make([]*process, 0, len(children.running))
	for p := range children.running {
		running = append(running, p)
	}
	children.Unlock()
	for _, p := range running {
		p.signal(syscall.SIGKILL)
	}
	for _, p := range running {
		<-p.done
	}
}
