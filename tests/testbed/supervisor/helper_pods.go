package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const helperPatience = time.Minute

// helperPods does what a container runtime would with the pods that local-path-provisioner starts to make and remove
// directories: it runs their command on this machine, and says in their phase how it ended. kwok, which knows no
// commands, only makes them Running.
type helperPods struct {
	cluster   *cluster
	namespace string
	// dir holds all that a command may touch.
	dir string
	// scripts has a folder per pod, with what its ConfigMap mounts.
	scripts string
	done    map[string]bool // by uid
}

// helperPod is a pod as far as it matters here.
type helperPod struct {
	Metadata struct {
		Name, UID         string
		DeletionTimestamp *time.Time
		Labels            map[string]string
	}
	Spec struct {
		Containers []struct {
			Command, Args []string
			Env           []struct{ Name, Value string }
			VolumeMounts  []struct{ Name, MountPath string }
		}
		Volumes []struct {
			Name      string
			HostPath  *struct{ Path string }
			ConfigMap *struct {
				Name  string
				Items []struct{ Key, Path string }
			}
		}
	}
	Status struct{ Phase string }
}

// play goes on until the cluster ends.
func (h *helperPods) play() {
	for h.cluster.context.Err() == nil {
		// The API server may restart. Whatever ended the watch: the next one begins with all pods.
		_ = h.cluster.api.watch(h.cluster.context, "/api/v1/namespaces/"+h.namespace+"/pods", func(text json.RawMessage) error {
			var pod helperPod
			if err := json.Unmarshal(text, &pod); err != nil {
				return err
			}
			return h.see(&pod)
		})
		time.Sleep(pollInterval)
	}
}

// see runs a pod's command once, as soon as the pod is Running. Pods of the Deployment have a label, helpers have none.
func (h *helperPods) see(pod *helperPod) error {
	of := pod.Metadata
	if len(of.Labels) > 0 || of.DeletionTimestamp != nil || pod.Status.Phase != "Running" || h.done[of.UID] {
		return nil
	}
	h.done[of.UID] = true
	status := object{"phase": "Succeeded"}
	if err := h.run(pod); err != nil {
		status = object{"phase": "Failed", "message": err.Error()}
	}
	return h.cluster.api.merge("/api/v1/namespaces/"+h.namespace+"/pods/"+of.Name+"/status", object{"status": status})
}

func (h *helperPods) run(pod *helperPod) error {
	folder := filepath.Join(h.scripts, pod.Metadata.Name)
	args, env, err := pod.command(folder, h.dir)
	if err != nil {
		return err
	}
	if err := h.mount(pod, folder); err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(h.cluster.dir, "logs", "helper-pods.log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	fmt.Fprintf(log, "--- %s: %s\n", pod.Metadata.Name, strings.Join(args, " "))
	process, err := startProcess(args[0], args[1:], env, log)
	if err != nil {
		return err
	}
	select {
	case <-process.done:
		return process.err
	case <-time.After(helperPatience):
		process.kill()
		return fmt.Errorf("it ran for more than %v", helperPatience)
	}
}

// mount makes what the pod's volumes need: directories of the node, and a folder with the ConfigMap as it is now.
func (h *helperPods) mount(pod *helperPod, folder string) error {
	for _, volume := range pod.Spec.Volumes {
		if volume.HostPath != nil {
			if err := os.MkdirAll(volume.HostPath.Path, 0o755); err != nil {
				return err
			}
		}
		if volume.ConfigMap == nil {
			continue
		}
		var found struct{ Data map[string]string }
		if err := h.cluster.api.get("/api/v1/namespaces/"+h.namespace+"/configmaps/"+volume.ConfigMap.Name, &found); err != nil {
			return err
		}
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return err
		}
		for _, item := range volume.ConfigMap.Items {
			if err := os.WriteFile(filepath.Join(folder, filepath.Base(item.Path)), []byte(found.Data[item.Key]), 0o700); err != nil {
				return err
			}
		}
	}
	return nil
}

// command is what the first container runs, with the mount of its ConfigMap in a folder of ours. It is an error if the
// pod wants to touch anything outside of dir.
func (pod *helperPod) command(folder, dir string) (args, env []string, err error) {
	if len(pod.Spec.Containers) == 0 || len(pod.Spec.Containers[0].Command) == 0 {
		return nil, nil, fmt.Errorf("%s has no command", pod.Metadata.Name)
	}
	container := pod.Spec.Containers[0]
	scripts := ""
	for _, volume := range pod.Spec.Volumes {
		if volume.HostPath != nil && !inside(dir, filepath.Join(volume.HostPath.Path, "it")) {
			return nil, nil, fmt.Errorf("%s is outside of %s", volume.HostPath.Path, dir)
		}
		for _, mount := range container.VolumeMounts {
			if volume.ConfigMap != nil && mount.Name == volume.Name {
				scripts = mount.MountPath
			}
		}
	}
	for _, variable := range container.Env {
		if variable.Name == "VOL_DIR" && !inside(dir, variable.Value) {
			return nil, nil, fmt.Errorf("%s is outside of %s", variable.Value, dir)
		}
		env = append(env, variable.Name+"="+variable.Value)
	}
	for _, arg := range append(container.Command, container.Args...) {
		if name, found := strings.CutPrefix(arg, scripts+"/"); found && scripts != "" {
			arg = filepath.Join(folder, filepath.Base(name))
		}
		args = append(args, arg)
	}
	return args, env, nil
}

// inside says whether a path is beneath a folder, and not the folder itself.
func inside(dir, path string) bool {
	below, err := filepath.Rel(dir, path)
	return err == nil && below != "." && filepath.IsLocal(below)
}
