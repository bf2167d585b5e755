package main

import (
	"errors"
	"fmt"
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

// setNodeDriver adds a driver to every CSINode or takes it away, as the kubelet does when one (un)registers.
func (c *cluster) setNodeDriver(driver string, present bool) error {
	for _, node := range c.nodes {
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
			others := []any{}
			drivers, _ := spec["drivers"].([]any)
			for _, entry := range drivers {
				if fields, ok := entry.(object); !ok || fields["name"] != driver {
					others = append(others, entry)
				}
			}
			if present {
				others = append(others, object{"name": driver, "nodeID": node, "topologyKeys": []string{}})
			}
			spec["drivers"] = others
			err := c.api.replace(path, csiNode)
			if hasStatus(err, http.StatusConflict) {
				continue // somebody else wrote in between
			}
			if err != nil {
				return err
			}
			break
		}
	}
	return nil
}
