package main

import (
	"context"
	"time"

	cadvisor "github.com/google/cadvisor/info/v2"
	internalapi "k8s.io/cri-api/pkg/apis"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	cadvisortest "k8s.io/kubernetes/pkg/kubelet/cadvisor/testing"
)

// Without an answer about the root cgroup and about each container, a kubelet answers /stats/summary with an error.

type rootCgroup struct{ cadvisortest.Fake }

func (*rootCgroup) ContainerInfoV2(string, cadvisor.RequestOptions) (map[string]cadvisor.ContainerInfo, error) {
	now := time.Now()
	return map[string]cadvisor.ContainerInfo{"/": {
		Spec:  cadvisor.ContainerSpec{CreationTime: now},
		Stats: []*cadvisor.ContainerStats{{Timestamp: now}},
	}}, nil
}

type containerStats struct{ internalapi.RuntimeService }

func (c containerStats) ListContainerStats(ctx context.Context, _ *runtimeapi.ContainerStatsFilter) ([]*runtimeapi.ContainerStats, error) {
	containers, err := c.RuntimeService.ListContainers(ctx, nil)
	if err != nil {
		return nil, err
	}
	var all []*runtimeapi.ContainerStats
	now := time.Now().UnixNano()
	for _, one := range containers {
		all = append(all, &runtimeapi.ContainerStats{
			Attributes: &runtimeapi.ContainerAttributes{
				Id: one.Id, Metadata: one.Metadata, Labels: one.Labels, Annotations: one.Annotations,
			},
			Cpu:    &runtimeapi.CpuUsage{Timestamp: now, UsageCoreNanoSeconds: &runtimeapi.UInt64Value{Value: 1}},
			Memory: &runtimeapi.MemoryUsage{Timestamp: now, WorkingSetBytes: &runtimeapi.UInt64Value{Value: 1}},
		})
	}
	return all, nil
}
