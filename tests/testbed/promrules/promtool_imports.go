//go:build imports

// What promtool's unittest.go and backfill.go import, so that go.mod pins it.
package main

import (
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/grafana/regexp"
	_ "github.com/nsf/jsondiff"
	_ "github.com/oklog/ulid/v2"
	_ "github.com/prometheus/common/promslog"
	_ "github.com/prometheus/prometheus/util/junitxml"
	_ "go.yaml.in/yaml/v2"
)
