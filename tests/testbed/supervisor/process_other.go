//go:build !linux

package main

import "syscall"

// childAttributes gives a child its own process group, so that Ctrl-C reaches only us and we end things in order.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
