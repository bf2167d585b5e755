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
	gce := flags.Bool("gce-pd", false, "the GCE PD CSI driver too, with snapshots")
	local := flags.Bool("local-path", false, "local-path-provisioner too")
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
	if *gce {
		if err := s.upGCE(cluster.Cluster, out); err != nil {
			return err
		}
	}
	if *local {
		started, err := (&localPathStart{Cluster: cluster.Cluster}).run(s)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "# local-path: classes %s and %s, directories in %s\n",
			localPathClasses["Delete"], localPathClasses["Retain"], started.(object)["volumes"])
	}
	fmt.Fprintf(out, "# audit log: %s\n", cluster.AuditLog)
	fmt.Fprintf(out, "# users without rights: %s\n", filepath.Join(filepath.Dir(cluster.Kubeconfig), "user-N.kubeconfig"))
	fmt.Fprintf(out, "# Ctrl-C stops and removes all of it.\n")
	return nil
}

func (s *supervisor) upGCE(cluster string, out io.Writer) error {
	if _, err := (&snapshotsInstall{Cluster: cluster, Controller: true}).run(s); err != nil {
		return err
	}
	started, err := (&driverStart{Cluster: cluster, Driver: gceDriver, Plugin: "gce-pd", Attacher: true, Snapshotter: true}).run(s)
	if err != nil {
		return err
	}
	driver := started.(object)
	classes := driver["classes"].(object)
	fmt.Fprintf(out, "# GCE PD: classes %s and %s, the cloud is %s\n", classes["delete"], classes["retain"], driver["backend"])
	return nil
}
