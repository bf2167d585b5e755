package main

import "syscall"

// childAttributes gives a child its own process group, so that Ctrl-C reaches only us and we end things in order,
// and lets the kernel kill it should we be killed ourselves.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
