package main

import (
	"fmt"
	"slices"
	"strings"
)

// release says which programs make up a version of Kubernetes.
type release struct {
	apiserver string
	kcm       string
	scheduler string // empty: none is built
}

var releases = map[string]release{
	"1.36.3":  {"kube-apiserver", "kube-controller-manager", "kube-scheduler"},
	"1.37.2":  {"kube-apiserver-1.37", "kube-controller-manager-1.37", "kube-scheduler-1.37"},
	"1.29.15": {"kube-apiserver-1.29", "kube-controller-manager-1.29", "kube-scheduler-1.29"},
	"1.32.2":  {"kube-apiserver-1.32", "kube-controller-manager-1.32", ""},
}

const defaultRelease = "1.36.3"

func releaseOf(version string) (release, error) {
	r, known := releases[strings.TrimPrefix(version, "v")]
	if !known {
		all := []string{}
		for v := range releases {
			all = append(all, v)
		}
		slices.Sort(all)
		return release{}, fmt.Errorf("no version %q, there are %s", version, strings.Join(all, ", "))
	}
	return r, nil
}
