package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

func aHelper(t *testing.T, parent, volume string) *helperPod {
	t.Helper()
	text := `{"metadata": {"name": "helper-pod-delete-pvc-1"}, "spec": {
		"containers": [{
			"command": ["/bin/sh", "/script/teardown"], "args": ["-p", "VOLUME", "-a", "delete"],
			"env": [{"name": "VOL_DIR", "value": "VOLUME"}],
			"volumeMounts": [{"name": "script", "mountPath": "/script"}, {"name": "data", "mountPath": "PARENT"}]
		}],
		"volumes": [
			{"name": "data", "hostPath": {"path": "PARENT"}},
			{"name": "script", "configMap": {"name": "local-path-config", "items": [{"key": "teardown", "path": "teardown"}]}}
		]}}`
	text = strings.ReplaceAll(strings.ReplaceAll(text, "PARENT", parent), "VOLUME", volume)
	pod := &helperPod{}
	if err := json.Unmarshal([]byte(text), pod); err != nil {
		t.Fatal(err)
	}
	return pod
}

func TestAHelperRunsItsScript(t *testing.T) {
	args, env, err := aHelper(t, "/tb/volumes/node-1", "/tb/volumes/node-1/pvc-1").command("/tb/scripts/one", "/tb/volumes")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"/bin/sh", "/tb/scripts/one/teardown", "-p", "/tb/volumes/node-1/pvc-1", "-a", "delete"}
	if !slices.Equal(args, want) || !slices.Equal(env, []string{"VOL_DIR=/tb/volumes/node-1/pvc-1"}) {
		t.Error(args, env)
	}
}

func TestAHelperStaysInItsFolder(t *testing.T) {
	for _, paths := range [][2]string{
		{"/tb/volumes", "/tb/volumes"},
		{"/tb/volumes", "/tb/volumes/../other"},
		{"/tb/volumes", "/tb/volumes-2/pvc-1"},
		{"/tb/volumes", "/"},
		{"/tb", "/tb/volumes/pvc-1"},
		{"/", "/tb/volumes/pvc-1"},
	} {
		if args, _, err := aHelper(t, paths[0], paths[1]).command("/tb/scripts/one", "/tb/volumes"); err == nil {
			t.Error(paths, "would run", args)
		}
	}
}
