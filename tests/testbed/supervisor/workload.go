package main

import (
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"time"
)

const podPatience = 60 * time.Second

// workload is a Deployment of one pod, which kwok plays. Processes of ours do what its containers would, under the
// ServiceAccount of that pod.
type workload struct {
	cluster        *cluster
	namespace      string
	name           string // of the Deployment, and the label of its pod
	serviceAccount string
	role           string          // the name of its ClusterRole
	clusterRules   func() []object // what its ServiceAccount may do in the whole cluster
	rules          []object        // what it may do in its namespace
	containers     func() []object
	volumes        []object
	hostNetwork    bool
}

// install creates the API objects, and keeps those that are there.
func (w *workload) install() error {
	const rbac = "/apis/rbac.authorization.k8s.io/v1"
	for _, step := range []struct {
		path string
		o    object
	}{
		{"/api/v1/namespaces", object{"metadata": object{"name": w.namespace}}},
		{"/api/v1/namespaces/" + w.namespace + "/serviceaccounts", object{"metadata": object{"name": w.serviceAccount}}},
		{rbac + "/clusterroles", object{"metadata": object{"name": w.role}, "rules": w.clusterRules()}},
		{rbac + "/clusterrolebindings", w.binding("ClusterRole", w.role)},
		{rbac + "/namespaces/" + w.namespace + "/roles", object{"metadata": object{"name": w.serviceAccount}, "rules": w.rules}},
		{rbac + "/namespaces/" + w.namespace + "/rolebindings", w.binding("Role", w.serviceAccount)},
		{"/apis/apps/v1/namespaces/" + w.namespace + "/deployments", w.deployment()},
	} {
		if err := w.cluster.api.create(step.path, step.o); err != nil {
			return err
		}
	}
	return nil
}

// uninstall removes the Deployment. RBAC stays, as an uninstall often leaves it.
func (w *workload) uninstall() error { return w.cluster.api.delete(w.path()) }

// setClusterRules replaces what its ServiceAccount may do in the whole cluster.
func (w *workload) setClusterRules(rules []object) error {
	return w.cluster.api.merge("/apis/rbac.authorization.k8s.io/v1/clusterroles/"+w.role, object{"rules": rules})
}

func (w *workload) path() string {
	return "/apis/apps/v1/namespaces/" + w.namespace + "/deployments/" + w.name
}

func (w *workload) binding(roleKind, role string) object {
	return object{
		"metadata": object{"name": role},
		"subjects": []object{{"kind": "ServiceAccount", "name": w.serviceAccount, "namespace": w.namespace}},
		"roleRef":  object{"apiGroup": "rbac.authorization.k8s.io", "kind": roleKind, "name": role},
	}
}

func (w *workload) deployment() object {
	return object{
		"metadata": object{"name": w.name},
		"spec": object{
			"replicas": 1,
			// The old pod must be gone before the new one comes, as one process stands for both.
			"strategy": object{"type": "Recreate"},
			"selector": object{"matchLabels": w.labels()},
			"template": w.podTemplate(),
		},
	}
}

func (w *workload) labels() object { return object{"app": w.name} }

func (w *workload) podTemplate() object {
	spec := object{
		"serviceAccountName": w.serviceAccount,
		"containers":         w.containers(),
		"volumes":            w.volumes,
		"hostNetwork":        w.hostNetwork,
	}
	if !w.cluster.runs("scheduler") && len(w.cluster.nodes) > 0 {
		spec["nodeName"] = w.cluster.nodes[0]
	}
	return object{"metadata": object{"labels": w.labels()}, "spec": spec}
}

// writeKubeconfig asks for a token of the ServiceAccount that outlives any test, and returns the path of a kubeconfig
// with it.
func (w *workload) writeKubeconfig(name string) (string, error) {
	var answer struct{ Status struct{ Token string } }
	err := w.cluster.api.do("POST",
		"/api/v1/namespaces/"+w.namespace+"/serviceaccounts/"+w.serviceAccount+"/token", "application/json",
		object{"spec": object{"expirationSeconds": 7 * 24 * 3600}}, &answer)
	if err != nil {
		return "", err
	}
	credentials := w.cluster.credentials
	path := filepath.Join(credentials.dir, name+".kubeconfig")
	return path, credentials.writeKubeconfig(path, w.cluster.server, w.serviceAccount, answer.Status.Token)
}

// played says whether a pod of the Deployment can come up and go away at all.
func (w *workload) played() bool { return w.cluster.runs("kwok") && len(w.cluster.nodes) > 0 }

// scale sets the number of pods, and waits for them.
func (w *workload) scale(replicas int) error {
	c := w.cluster
	if err := c.api.merge(w.path(), object{"spec": object{"replicas": replicas}}); err != nil {
		return err
	}
	if !c.runs("kcm") {
		if err := w.standInForDeployment(replicas); err != nil {
			return err
		}
	}
	if !w.played() {
		return nil
	}
	for deadline := time.Now().Add(podPatience); ; time.Sleep(pollInterval) {
		phases, err := w.podPhases()
		if err != nil {
			return err
		}
		running := !slices.ContainsFunc(phases, func(phase string) bool { return phase != "Running" })
		if len(phases) == replicas && running {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s: %d pods that run are wanted, the phases after %v are %v", w.name, replicas, podPatience, phases)
		}
	}
}

func (w *workload) podsPath() string { return "/api/v1/namespaces/" + w.namespace + "/pods" }

func (w *workload) podPhases() ([]string, error) {
	var list struct {
		Items []struct{ Status struct{ Phase string } }
	}
	if err := w.cluster.api.get(w.podsPath()+"?labelSelector="+url.QueryEscape("app="+w.name), &list); err != nil {
		return nil, err
	}
	phases := []string{}
	for _, pod := range list.Items {
		phases = append(phases, pod.Status.Phase)
	}
	return phases, nil
}

// standInForDeployment makes or removes the pod that the Deployment's controller would.
func (w *workload) standInForDeployment(replicas int) error {
	name := w.name + "-0"
	if replicas == 0 {
		return w.cluster.api.delete(w.podsPath() + "/" + name)
	}
	template := w.podTemplate()
	pod := object{"apiVersion": "v1", "kind": "Pod", "metadata": template["metadata"], "spec": template["spec"]}
	pod["metadata"].(object)["name"] = name
	return w.cluster.api.create(w.podsPath(), pod)
}
