// testbed starts and stops clusters for tests. It reads one JSON request per line on stdin and writes one JSON
// reply per line on stdout (see protocol.go, and README.md for every operation). When stdin closes, for whatever
// reason, it kills all that it started and removes their state. `testbed up` starts one cluster for hand use instead.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

func main() {
	bin := flag.String("bin", filepath.Dir(os.Args[0]), "the folder with the binaries; their files are in ../share")
	state := flag.String("state", "", "where to keep the state of the clusters (default: a new temporary folder)")
	keep := flag.Bool("keep", false, "leave the state behind on exit")
	flag.Parse()

	s, err := newSupervisor(*bin, *state, *keep)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testbed:", err)
		os.Exit(1)
	}
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	done := make(chan error, 1)
	go func() {
		if flag.Arg(0) != "up" {
			done <- s.serve(os.Stdin, os.Stdout)
		} else if err := s.up(flag.Args()[1:], os.Stdout); err != nil {
			done <- err
		}
	}()
	select {
	case <-interrupted:
	case err = <-done:
	}
	s.close()
	if err != nil {
		fmt.Fprintln(os.Stderr, "testbed:", err)
		os.Exit(1)
	}
}
