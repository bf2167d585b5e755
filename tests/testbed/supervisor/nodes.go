package main

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
)

// createNodes adds what a kubelet would: a Node, and the CSINode that belongs to it.
func (c *cluster) createNodes(n int) error {
	c.nodes = []string{}
	for i := 1; i <= n; i++ {
		name := fmt.Sprintf("node-%d", i)
		node := object{
			"apiVersion": "v1", "kind": "Node",
			"metadata": object{
				"name": name,
				"annotations": object{
					nodeAnnotation: "fake",
					// Without it no VolumeAttachment is made for a pod on this node.
					"volumes.kubernetes.io/controller-managed-attach-detach": "true",
				},
				"labels": object{"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"},
			},
		}
		if err := c.api.create("/api/v1/nodes", node); err != nil {
			return err
		}
		var created struct{ Metadata struct{ UID string } }
		if err := c.api.get("/api/v1/nodes/"+name, &created); err != nil {
			return err
		}
		csiNode := object{
			"apiVersion": "storage.k8s.io/v1", "kind": "CSINode",
			"metadata": object{
				"name":            name,
				"ownerReferences": []object{{"apiVersion": "v1", "kind": "Node", "name": name, "uid": created.Metadata.UID}},
			},
			"spec": object{"drivers": []object{}},
		}
		if err := c.api.create("/apis/storage.k8s.io/v1/csinodes", csiNode); err != nil {
			return err
		}
		c.nodes = append(c.nodes, name)
	}
	return nil
}

// awaitNodes waits until pods can run: kwok has made the nodes Ready and, where there is a controller manager, it
// has taken the not-ready taint away.
func (c *cluster) awaitNodes(untainted bool) error {
	kwok, err := c.component("kwok")
	if err != nil {
		return err
	}
	return kwok.await(func() error {
		var list struct {
			Items []struct {
				Metadata struct{ Name string }
				Spec     struct{ Taints []struct{ Key string } }
				Status   struct {
					Conditions []struct{ Type, Status string }
				}
			}
		}
		if err := c.api.get("/api/v1/nodes", &list); err != nil {
			return err
		}
		for _, node := range list.Items {
			ready := slices.ContainsFunc(node.Status.Conditions, func(condition struct{ Type, Status string }) bool {
				return condition.Type == "Ready" && condition.Status == "True"
			})
			if !ready || untainted && len(node.Spec.Taints) > 0 {
				return fmt.Errorf("%s is not ready", node.Metadata.Name)
			}
		}
		return nil
	})
}

// nodeInfo is what a driver tells of a node when it registers there. The zero value: its name, and no topology.
type nodeInfo struct {
	id       func(node string) string
	topology map[string]string
}

// register adds a driver to every CSINode, and its topology to the labels of every Node, as the kubelet does.
func (c *cluster) register(driver string, info nodeInfo) error {
	for _, node := range c.nodes {
		if len(info.topology) > 0 {
			labels := object{"metadata": object{"labels": info.topology}}
			if err := c.api.merge("/api/v1/nodes/"+node, labels); err != nil {
				return err
			}
		}
		id := node
		if info.id != nil {
			id = info.id(node)
		}
		keys := slices.AppendSeq([]string{}, maps.Keys(info.topology))
		entry := object{"name": driver, "nodeID": id, "topologyKeys": keys}
		if err := c.setNodeDriver(node, driver, entry); err != nil {
			return err
		}
	}
	return nil
}

// unregister takes a driver from every CSINode. The labels stay.
func (c *cluster) unregister(driver string) error {
	for _, node := range c.nodes {
		if err := c.setNodeDriver(node, driver); err != nil {
			return err
		}
	}
	return nil
}

// setNodeDriver replaces what the CSINode of a node has of a driver.
func (c *cluster) setNodeDriver(node, driver string, entries ...any) error {
	path := "/apis/storage.k8s.io/v1/csinodes/" + node
	for {
		csiNode := object{}
		if err := c.api.get(path, &csiNode); err != nil {
			return err
		}
		spec, ok := csiNode["spec"].(object)
		if !ok {
			return errors.New(path + " has no spec")
		}
		drivers, _ := spec["drivers"].([]any)
		others := slices.DeleteFunc(drivers, func(entry any) bool {
			fields, ok := entry.(object)
			return ok && fields["name"] == driver
		})
		spec["drivers"] = append(append([]any{}, others...), entries...)
		err := c.api.replace(path, csiNode)
		if !hasStatus(err, http.StatusConflict) {
			return err
		}
		// Somebody else wrote in between.
	}
}
