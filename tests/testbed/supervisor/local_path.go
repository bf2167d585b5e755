package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
)

const (
	localPath          = "local-path" // the component
	localPathNamespace = "local-path-storage"
	localPathName      = "rancher.io/local-path"
	localPathConfig    = "local-path-config"
)

// localPathStart installs local-path-provisioner, which is not CSI, as its manifests do, and runs it with a token of its
// ServiceAccount. Somebody has to run its helper pods: see helperPods.
type localPathStart struct {
	Cluster string `json:"cluster"`
}

func (o *localPathStart) run(s *supervisor) (any, error) {
	c, err := s.cluster(o.Cluster)
	if err != nil {
		return nil, err
	}
	if !c.runs("kwok") || len(c.nodes) == 0 {
		return nil, errors.New("its helper pods need kwok and a node")
	}
	if _, err := c.component(localPath); err == nil {
		return nil, fmt.Errorf("%s was started already", localPath)
	}
	w := c.localPathWorkload()
	if err := w.install(); err != nil {
		return nil, err
	}
	volumes := filepath.Join(c.dir, localPath)
	if err := c.installLocalPath(volumes); err != nil {
		return nil, err
	}
	kubeconfig, err := w.writeKubeconfig(localPath)
	if err != nil {
		return nil, err
	}
	if err := c.define(localPath, "local-path-provisioner", nil,
		"--debug", "start",
		"--kubeconfig="+kubeconfig,
		"--provisioner-name="+localPathName,
		"--namespace="+localPathNamespace,
		"--configmap-name="+localPathConfig,
		"--service-account-name="+w.serviceAccount,
	); err != nil {
		return nil, err
	}
	if err := c.start(localPath, nil); err != nil {
		return nil, err
	}
	helpers := &helperPods{
		cluster:   c,
		namespace: localPathNamespace,
		dir:       volumes,
		scripts:   filepath.Join(c.dir, "helper-pods"),
		done:      map[string]bool{},
	}
	go helpers.play()
	if err := w.scale(1); err != nil {
		return nil, err
	}
	return object{
		"provisioner": localPathName,
		"volumes":     volumes,
		"namespace":   localPathNamespace,
		"deployment":  w.name,
		"config_map":  localPathConfig,
		"classes":     object{"delete": localPathClasses["Delete"], "retain": localPathClasses["Retain"]},
		"component":   localPath,
	}, nil
}

var localPathClasses = map[string]string{"Delete": "local-path", "Retain": "local-path-retain"}

// installLocalPath creates the ConfigMap and the classes. Each node has a folder of its own, as all of them are this
// machine.
func (c *cluster) installLocalPath(volumes string) error {
	paths := []object{}
	for _, node := range c.nodes {
		paths = append(paths, object{"node": node, "paths": []string{filepath.Join(volumes, node)}})
	}
	config, err := json.Marshal(object{"nodePathMap": paths, "cmdTimeoutSeconds": 30})
	if err != nil {
		return err
	}
	if err := c.api.create("/api/v1/namespaces/"+localPathNamespace+"/configmaps", object{
		"metadata": object{"name": localPathConfig},
		"data": object{
			"config.json":    string(config),
			"setup":          "#!/bin/sh\nset -eu\nmkdir -m 0777 -p \"$VOL_DIR\"\n",
			"teardown":       "#!/bin/sh\nset -eu\nrm -rf \"$VOL_DIR\"\n",
			"helperPod.yaml": helperPodTemplate,
		},
	}); err != nil {
		return err
	}
	for policy, name := range localPathClasses {
		if err := c.api.create("/apis/storage.k8s.io/v1/storageclasses", object{
			"metadata":          object{"name": name},
			"provisioner":       localPathName,
			"reclaimPolicy":     policy,
			"volumeBindingMode": "WaitForFirstConsumer",
		}); err != nil {
			return err
		}
	}
	return nil
}

func (c *cluster) localPathWorkload() *workload {
	const account = "local-path-provisioner-service-account"
	return &workload{
		cluster:        c,
		namespace:      localPathNamespace,
		name:           "local-path-provisioner",
		serviceAccount: account,
		role:           "local-path-provisioner-role",
		clusterRules: func() []object {
			return []object{
				rule("", "nodes persistentvolumeclaims configmaps pods pods/log", "get list watch"),
				rule("", "persistentvolumes", "get list watch create patch update delete"),
				rule("", "events", "create patch"),
				rule("storage.k8s.io", "storageclasses", "get list watch"),
			}
		},
		rules: []object{rule("", "pods", "get list watch create patch update delete")},
		containers: func() []object {
			return []object{{
				"name": "local-path-provisioner", "image": "rancher/local-path-provisioner:v0.0.30",
				"command":      []string{"local-path-provisioner", "--debug", "start", "--config", "/etc/config/config.json"},
				"volumeMounts": []object{{"name": "config-volume", "mountPath": "/etc/config/"}},
			}}
		},
		volumes: []object{{"name": "config-volume", "configMap": object{"name": localPathConfig}}},
	}
}

// helperPodTemplate is the manifests' own.
const helperPodTemplate = `apiVersion: v1
kind: Pod
metadata:
  name: helper-pod
spec:
  priorityClassName: system-node-critical
  tolerations:
    - key: node.kubernetes.io/disk-pressure
      operator: Exists
      effect: NoSchedule
  containers:
  - name: helper-pod
    image: busybox
    imagePullPolicy: IfNotPresent
`
