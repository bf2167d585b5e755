package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

const crdsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// snapshotsInstall creates the CRDs of the snapshot API and, if asked, starts its controller.
type snapshotsInstall struct {
	Cluster    string `json:"cluster"`
	Controller bool   `json:"controller"`
}

func (o *snapshotsInstall) run(s *supervisor) (any, error) {
	c, err := s.cluster(o.Cluster)
	if err != nil {
		return nil, err
	}
	if err := c.installSnapshotCRDs(); err != nil {
		return nil, err
	}
	if !o.Controller {
		return struct{}{}, nil
	}
	if err := c.defineSnapshotController(); err != nil {
		return nil, err
	}
	return struct{}{}, c.start("snapshot-controller", nil)
}

func (c *cluster) installSnapshotCRDs() error {
	files, err := filepath.Glob(filepath.Join(c.supervisor.share, "snapshot-crds", "*storage.k8s.io_*.yaml"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("the snapshot CRDs are not in %s: run tests/testbed/build", c.supervisor.share)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := c.api.createYAML(crdsPath, text); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	apiserver, err := c.component("apiserver")
	if err != nil {
		return err
	}
	return apiserver.await(c.snapshotAPIServed)
}

func (c *cluster) snapshotAPIServed() error {
	for _, resource := range []string{"volumesnapshots", "volumesnapshotcontents", "volumesnapshotclasses"} {
		if err := c.api.get("/apis/snapshot.storage.k8s.io/v1/"+resource, nil); err != nil {
			return err
		}
	}
	return nil
}

func (c *cluster) defineSnapshotController() error {
	return c.define("snapshot-controller", "snapshot-controller", func(_ *component, since time.Time) error {
		return c.leaseRenewed("kube-system", "snapshot-controller-leader", since)
	}, append([]string{
		"--kubeconfig=" + c.kubeconfigs["snapshot-controller"],
		"--leader-election-namespace=kube-system",
	}, sidecarLeaderElection...)...)
}
