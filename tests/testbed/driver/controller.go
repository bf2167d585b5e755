package main

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	defaultCapacity = 1 << 30
	totalCapacity   = 1 << 50
)

func (d *driver) ControllerGetCapabilities(context.Context, *csi.ControllerGetCapabilitiesRequest) (*csi.ControllerGetCapabilitiesResponse, error) {
	offered := []csi.ControllerServiceCapability_RPC_Type{
		csi.ControllerServiceCapability_RPC_CREATE_DELETE_VOLUME,
		csi.ControllerServiceCapability_RPC_LIST_VOLUMES,
		csi.ControllerServiceCapability_RPC_GET_VOLUME,
		csi.ControllerServiceCapability_RPC_GET_CAPACITY,
		csi.ControllerServiceCapability_RPC_CREATE_DELETE_SNAPSHOT,
		csi.ControllerServiceCapability_RPC_LIST_SNAPSHOTS,
		csi.ControllerServiceCapability_RPC_CLONE_VOLUME,
		csi.ControllerServiceCapability_RPC_EXPAND_VOLUME,
	}
	if d.attach {
		offered = append(offered,
			csi.ControllerServiceCapability_RPC_PUBLISH_UNPUBLISH_VOLUME,
			csi.ControllerServiceCapability_RPC_PUBLISH_READONLY,
			csi.ControllerServiceCapability_RPC_LIST_VOLUMES_PUBLISHED_NODES)
	}
	answer := &csi.ControllerGetCapabilitiesResponse{}
	for _, rpc := range offered {
		answer.Capabilities = append(answer.Capabilities, &csi.ControllerServiceCapability{
			Type: &csi.ControllerServiceCapability_Rpc{Rpc: &csi.ControllerServiceCapability_RPC{Type: rpc}},
		})
	}
	return answer, nil
}

func (d *driver) CreateVolume(_ context.Context, r *csi.CreateVolumeRequest) (*csi.CreateVolumeResponse, error) {
	if r.GetName() == "" || len(r.GetVolumeCapabilities()) == 0 {
		return nil, status.Error(codes.InvalidArgument, "name and volume_capabilities are needed")
	}
	d.store.mutex.Lock()
	defer d.store.mutex.Unlock()

	wanted := &volume{
		ID:       idOf("vol-", r.GetName()),
		Name:     r.GetName(),
		Capacity: cmp.Or(r.GetCapacityRange().GetRequiredBytes(), r.GetCapacityRange().GetLimitBytes(), defaultCapacity),
		Source: source{
			Volume:   r.GetVolumeContentSource().GetVolume().GetVolumeId(),
			Snapshot: r.GetVolumeContentSource().GetSnapshot().GetSnapshotId(),
		},
	}
	present, err := d.store.volume(wanted.ID)
	if err != nil {
		return nil, internal(err)
	}
	if present != nil {
		if present.Capacity != wanted.Capacity || present.Source != wanted.Source {
			return nil, status.Errorf(codes.AlreadyExists, "volume %q exists with another size or source", r.GetName())
		}
		return &csi.CreateVolumeResponse{Volume: present.message()}, nil
	}
	if err := d.checkSource(wanted.Source); err != nil {
		return nil, err
	}
	if err := d.store.createVolume(wanted); err != nil {
		return nil, internal(err)
	}
	return &csi.CreateVolumeResponse{Volume: wanted.message()}, nil
}

func (d *driver) checkSource(from source) error {
	if from.Volume != "" {
		_, err := d.existingVolume(from.Volume)
		return err
	}
	if from.Snapshot != "" {
		_, err := d.existingSnapshot(from.Snapshot)
		return err
	}
	return nil
}

func (d *driver) DeleteVolume(_ context.Context, r *csi.DeleteVolumeRequest) (*csi.DeleteVolumeResponse, error) {
	if r.GetVolumeId() == "" {
		return nil, status.Error(codes.InvalidArgument, "volume_id is needed")
	}
	d.store.mutex.Lock()
	defer d.store.mutex.Unlock()
	v, err := d.store.volume(r.GetVolumeId())
	if err != nil {
		return nil, internal(err)
	}
	if v != nil && len(v.Published) > 0 {
		return nil, status.Errorf(codes.FailedPrecondition, "volume %s is published to %v", v.ID, v.nodes())
	}
	if err := d.store.deleteVolume(r.GetVolumeId()); err != nil {
		return nil, internal(err)
	}
	return &csi.DeleteVolumeResponse{}, nil
}

// ControllerExpandVolume grows a volume, which needs no work on a node unless the file node-expansion says so.
func (d *driver) ControllerExpandVolume(_ context.Context, r *csi.ControllerExpandVolumeRequest) (*csi.ControllerExpandVolumeResponse, error) {
	if r.GetVolumeId() == "" || r.GetCapacityRange() == nil {
		return nil, status.Error(codes.InvalidArgument, "volume_id and capacity_range are needed")
	}
	d.store.mutex.Lock()
	defer d.store.mutex.Unlock()
	v, err := d.existingVolume(r.GetVolumeId())
	if err != nil {
		return nil, err
	}
	if limit := r.GetCapacityRange().GetLimitBytes(); limit != 0 && limit < v.Capacity {
		return nil, status.Errorf(codes.OutOfRange, "volume %s has %d bytes", v.ID, v.Capacity)
	}
	if wanted := r.GetCapacityRange().GetRequiredBytes(); wanted > v.Capacity {
		v.Capacity = wanted
		if err := d.store.saveVolume(v); err != nil {
			return nil, internal(err)
		}
	}
	onNode, err := d.store.expandsOnNode()
	if err != nil {
		return nil, internal(err)
	}
	return &csi.ControllerExpandVolumeResponse{CapacityBytes: v.Capacity, NodeExpansionRequired: onNode}, nil
}

func (d *driver) ListVolumes(_ context.Context, r *csi.ListVolumesRequest) (*csi.ListVolumesResponse, error) {
	all, err := ids(d.store.volumesDir())
	if err != nil {
		return nil, internal(err)
	}
	shown, next, err := page(all, r.GetStartingToken(), r.GetMaxEntries())
	if err != nil {
		return nil, err
	}
	answer := &csi.ListVolumesResponse{NextToken: next}
	for _, id := range shown {
		v, err := d.store.volume(id)
		if err != nil {
			return nil, internal(err)
		}
		if v == nil {
			continue // deleted since the folder was read
		}
		answer.Entries = append(answer.Entries, &csi.ListVolumesResponse_Entry{
			Volume: v.message(),
			Status: &csi.ListVolumesResponse_VolumeStatus{PublishedNodeIds: v.nodes()},
		})
	}
	return answer, nil
}

func (d *driver) ControllerGetVolume(_ context.Context, r *csi.ControllerGetVolumeRequest) (*csi.ControllerGetVolumeResponse, error) {
	v, err := d.existingVolume(r.GetVolumeId())
	if err != nil {
		return nil, err
	}
	return &csi.ControllerGetVolumeResponse{
		Volume: v.message(),
		Status: &csi.ControllerGetVolumeResponse_VolumeStatus{PublishedNodeIds: v.nodes()},
	}, nil
}

func (d *driver) GetCapacity(context.Context, *csi.GetCapacityRequest) (*csi.GetCapacityResponse, error) {
	return &csi.GetCapacityResponse{AvailableCapacity: totalCapacity}, nil
}

func (d *driver) ValidateVolumeCapabilities(_ context.Context, r *csi.ValidateVolumeCapabilitiesRequest) (*csi.ValidateVolumeCapabilitiesResponse, error) {
	if r.GetVolumeId() == "" || len(r.GetVolumeCapabilities()) == 0 {
		return nil, status.Error(codes.InvalidArgument, "volume_id and volume_capabilities are needed")
	}
	if _, err := d.existingVolume(r.GetVolumeId()); err != nil {
		return nil, err
	}
	return &csi.ValidateVolumeCapabilitiesResponse{
		Confirmed: &csi.ValidateVolumeCapabilitiesResponse_Confirmed{VolumeCapabilities: r.GetVolumeCapabilities()},
	}, nil
}

func (d *driver) ControllerPublishVolume(_ context.Context, r *csi.ControllerPublishVolumeRequest) (*csi.ControllerPublishVolumeResponse, error) {
	if !d.attach {
		return nil, status.Error(codes.Unimplemented, "started without --attach")
	}
	if r.GetVolumeId() == "" || r.GetNodeId() == "" || r.GetVolumeCapability() == nil {
		return nil, status.Error(codes.InvalidArgument, "volume_id, node_id and volume_capability are needed")
	}
	d.store.mutex.Lock()
	defer d.store.mutex.Unlock()
	v, err := d.existingVolume(r.GetVolumeId())
	if err != nil {
		return nil, err
	}
	if !slices.Contains(d.nodes, r.GetNodeId()) {
		return nil, status.Errorf(codes.NotFound, "no node %q", r.GetNodeId())
	}
	if readOnly, published := v.Published[r.GetNodeId()]; published {
		if readOnly != r.GetReadonly() {
			return nil, status.Errorf(codes.AlreadyExists, "volume %s is published to %s with readonly=%v", v.ID, r.GetNodeId(), readOnly)
		}
		return &csi.ControllerPublishVolumeResponse{}, nil
	}
	if v.Published == nil {
		v.Published = map[string]bool{}
	}
	v.Published[r.GetNodeId()] = r.GetReadonly()
	if err := d.store.saveVolume(v); err != nil {
		return nil, internal(err)
	}
	return &csi.ControllerPublishVolumeResponse{}, nil
}

func (d *driver) ControllerUnpublishVolume(_ context.Context, r *csi.ControllerUnpublishVolumeRequest) (*csi.ControllerUnpublishVolumeResponse, error) {
	if !d.attach {
		return nil, status.Error(codes.Unimplemented, "started without --attach")
	}
	if r.GetVolumeId() == "" {
		return nil, status.Error(codes.InvalidArgument, "volume_id is needed")
	}
	d.store.mutex.Lock()
	defer d.store.mutex.Unlock()
	v, err := d.store.volume(r.GetVolumeId())
	if err != nil {
		return nil, internal(err)
	}
	if v == nil {
		return &csi.ControllerUnpublishVolumeResponse{}, nil
	}
	if r.GetNodeId() == "" {
		clear(v.Published)
	} else {
		delete(v.Published, r.GetNodeId())
	}
	if err := d.store.saveVolume(v); err != nil {
		return nil, internal(err)
	}
	return &csi.ControllerUnpublishVolumeResponse{}, nil
}

func (d *driver) existingVolume(id string) (*volume, error) {
	if id == "" {
		return nil, status.Error(codes.InvalidArgument, "volume_id is needed")
	}
	v, err := d.store.volume(id)
	if err != nil {
		return nil, internal(err)
	}
	if v == nil {
		return nil, status.Errorf(codes.NotFound, "no volume %q", id)
	}
	return v, nil
}

func (v *volume) nodes() []string { return slices.Sorted(maps.Keys(v.Published)) }

func (v *volume) message() *csi.Volume {
	message := &csi.Volume{VolumeId: v.ID, CapacityBytes: v.Capacity}
	switch {
	case v.Source.Volume != "":
		message.ContentSource = &csi.VolumeContentSource{Type: &csi.VolumeContentSource_Volume{
			Volume: &csi.VolumeContentSource_VolumeSource{VolumeId: v.Source.Volume},
		}}
	case v.Source.Snapshot != "":
		message.ContentSource = &csi.VolumeContentSource{Type: &csi.VolumeContentSource_Snapshot{
			Snapshot: &csi.VolumeContentSource_SnapshotSource{SnapshotId: v.Source.Snapshot},
		}}
	}
	return message
}

func internal(err error) error { return status.Error(codes.Internal, err.Error()) }
