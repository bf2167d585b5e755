package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
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
	return struct{}{}, c.startSnapshotController()
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

const snapshotController = "snapshot-controller"

// startSnapshotController runs it under its own ServiceAccount; one that was started before is left as it is.
func (c *cluster) startSnapshotController() error {
	if _, err := c.component(snapshotController); err == nil {
		return nil
	}
	args := append([]string{"--leader-election-namespace=kube-system"}, sidecarLeaderElection...)
	w := &workload{
		cluster:        c,
		namespace:      "kube-system",
		name:           snapshotController,
		serviceAccount: snapshotController,
		role:           snapshotController,
		clusterRules:   snapshotControllerRules,
		rules:          []object{rule("coordination.k8s.io", "leases", "get watch list delete update create")},
		containers: func() []object {
			image := "registry.k8s.io/sig-storage/snapshot-controller:v8.7.0"
			return []object{{"name": snapshotController, "image": image, "args": args}}
		},
	}
	if err := w.install(); err != nil {
		return err
	}
	kubeconfig, err := w.writeKubeconfig(snapshotController)
	if err != nil {
		return err
	}
	if err := c.defineLeader(snapshotController, snapshotController, func(_ *component, since time.Time) error {
		return c.leaseRenewed("kube-system", "snapshot-controller-leader", since)
	}, append([]string{"--kubeconfig=" + kubeconfig}, args...)...); err != nil {
		return err
	}
	var together errgroup.Group
	together.Go(func() error { return c.start(snapshotController, nil) })
	together.Go(func() error { return w.scale(1) })
	return together.Wait()
}

func snapshotControllerRules() []object {
	return []object{
		rule("", "persistentvolumes", "get list watch"),
		rule("", "persistentvolumeclaims", "get list watch update"),
		rule("", "events", "list watch create update patch"),
		rule("snapshot.storage.k8s.io", "volumesnapshotclasses", "get list watch"),
		rule("snapshot.storage.k8s.io", "volumesnapshotcontents", "create get list watch update delete patch"),
		rule("snapshot.storage.k8s.io", "volumesnapshotcontents/status", "patch"),
		rule("snapshot.storage.k8s.io", "volumesnapshots", "create get list watch update patch delete"),
		rule("snapshot.storage.k8s.io", "volumesnapshots/status", "update patch"),
		// It waits for half a minute before it goes on without these.
		rule("groupsnapshot.storage.k8s.io", "volumegroupsnapshotclasses", "get list watch"),
		rule("groupsnapshot.storage.k8s.io", "volumegroupsnapshotcontents", "create get list watch update delete patch"),
		rule("groupsnapshot.storage.k8s.io", "volumegroupsnapshotcontents/status", "patch"),
		rule("groupsnapshot.storage.k8s.io", "volumegroupsnapshots", "get list watch update patch"),
		rule("groupsnapshot.storage.k8s.io", "volumegroupsnapshots/status", "update patch"),
	}
}
