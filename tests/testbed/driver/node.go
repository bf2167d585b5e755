package main

import (
	"context"
	"os"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Asked by csi-sanity, for which a target is a plain folder, and by the real kubelet, for which volumes are mounted
// (mounts.go).

func (d *driver) NodeGetCapabilities(context.Context, *csi.NodeGetCapabilitiesRequest) (*csi.NodeGetCapabilitiesResponse, error) {
	answer := &csi.NodeGetCapabilitiesResponse{}
	for _, rpc := range nodeCapabilities() {
		answer.Capabilities = append(answer.Capabilities, &csi.NodeServiceCapability{
			Type: &csi.NodeServiceCapability_Rpc{Rpc: &csi.NodeServiceCapability_RPC{Type: rpc}},
		})
	}
	return answer, nil
}

func (d *driver) NodeGetInfo(context.Context, *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	return &csi.NodeGetInfoResponse{NodeId: d.nodes[0]}, nil
}

func (d *driver) NodePublishVolume(_ context.Context, r *csi.NodePublishVolumeRequest) (*csi.NodePublishVolumeResponse, error) {
	if r.GetVolumeId() == "" || r.GetTargetPath() == "" || r.GetVolumeCapability() == nil {
		return nil, status.Error(codes.InvalidArgument, "volume_id, target_path and volume_capability are needed")
	}
	if _, err := d.existingVolume(r.GetVolumeId()); err != nil {
		return nil, err
	}
	if *mounting {
		if err := publish(r); err != nil {
			return nil, internal(err)
		}
	} else if err := os.MkdirAll(r.GetTargetPath(), 0o755); err != nil {
		return nil, internal(err)
	}
	return &csi.NodePublishVolumeResponse{}, nil
}

func (d *driver) NodeUnpublishVolume(_ context.Context, r *csi.NodeUnpublishVolumeRequest) (*csi.NodeUnpublishVolumeResponse, error) {
	if r.GetVolumeId() == "" || r.GetTargetPath() == "" {
		return nil, status.Error(codes.InvalidArgument, "volume_id and target_path are needed")
	}
	if *mounting {
		if err := unmount(r.GetTargetPath()); err != nil {
			return nil, internal(err)
		}
	} else if err := ignoreMissing(os.Remove(r.GetTargetPath())); err != nil {
		// Not RemoveAll: the path is the caller's, and it must be empty.
		return nil, internal(err)
	}
	return &csi.NodeUnpublishVolumeResponse{}, nil
}
