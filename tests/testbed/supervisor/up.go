package main

import (
	"flag"
	"fmt"
	"io"
	"path/filepath"
)

const upDriver = "testbed.csi.example"

// up starts one cluster with everything in it, for somebody who wants to try things by hand, and says how to reach
// it. What it prints can be given to a shell's eval.
func (s *supervisor) up(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("up", flag.ContinueOnError)
	version := flags.String("version", defaultRelease, "the Kubernetes version")
	nodes := flags.Int("nodes", 3, "how many nodes")
	if err := flags.Parse(args); err != nil {
		return err
	}
	programs, err := releaseOf(*version)
	if err != nil {
		return err
	}
	started, err := (&clusterStart{
		Version: *version, KCM: true, Scheduler: programs.scheduler != "", Kwok: true, Nodes: *nodes,
	}).run(s)
	if err != nil {
		return err
	}
	cluster := started.(clusterStarted)
	csi, err := (&driverStart{Cluster: cluster.Cluster, Driver: upDriver}).run(s)
	if err != nil {
		return err
	}
	driver := csi.(object)
	classes := driver["classes"].(object)
	fmt.Fprintf(out, "export KUBECONFIG=%s\n", cluster.Kubeconfig)
	fmt.Fprintf(out, "export PATH=%s:$PATH\n", s.bin)
	fmt.Fprintf(out, "# Kubernetes %s at %s, storage classes %s and %s\n", *version, cluster.Server, classes["delete"], classes["retain"])
	fmt.Fprintf(out, "# volumes:   %s\n", driver["volumes"])
	fmt.Fprintf(out, "# audit log: %s\n", cluster.AuditLog)
	fmt.Fprintf(out, "# users without rights: %s\n", filepath.Join(filepath.Dir(cluster.Kubeconfig), "user-N.kubeconfig"))
	fmt.Fprintf(out, "# Ctrl-C stops and removes all of it.\n")
	return nil
}
