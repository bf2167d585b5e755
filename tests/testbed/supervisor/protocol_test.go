package main

import (
	"errors"
	"strings"
	"testing"
)

func TestDecode(t *testing.T) {
	id, op, err := decode([]byte(`{"id": 7, "op": "cluster.start", "kcm": true, "nodes": 3}`))
	if err != nil {
		t.Fatal(err)
	}
	start, ok := op.(*clusterStart)
	if string(id) != "7" || !ok || !start.KCM || start.Nodes != 3 {
		t.Fatal(string(id), op)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for line, want := range map[string]string{
		`{`:                                "not a request",
		`{"id": 1, "op": "cluster.strat"}`: `no operation is called "cluster.strat"`,
		`{"id": 1, "op": "cluster.start", "node": 3}`:  `unknown field "node"`,
		`{"id": 1, "op": "cluster.start", "kcm": "1"}`: "cannot unmarshal string",
	} {
		if _, _, err := decode([]byte(line)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func TestShutdownIsRecognised(t *testing.T) {
	if _, _, err := decode([]byte(`{"id": 1, "op": "shutdown"}`)); !errors.Is(err, errShutdown) {
		t.Fatal(err)
	}
}
