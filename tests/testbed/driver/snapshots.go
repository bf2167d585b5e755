package main

import (
	"context"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
)

func (d *driver) CreateSnapshot(_ context.Context, r *csi.CreateSnapshotRequest) (*csi.CreateSnapshotResponse, error) {
	if r.GetName() == "" || r.GetSourceVolumeId() == "" {
		return nil, status.Error(codes.InvalidArgument, "name and source_volume_id are needed")
	}
	d.store.mutex.Lock()
	defer d.store.mutex.Unlock()
	id := idOf("snap-", r.GetName())
	present, err := d.store.snapshot(id)
	if err != nil {
		return nil, internal(err)
	}
	if present != nil {
		if present.Volume != r.GetSourceVolumeId() {
			return nil, status.Errorf(codes.AlreadyExists, "snapshot %q exists and is of %s", r.GetName(), present.Volume)
		}
		return &csi.CreateSnapshotResponse{Snapshot: present.message()}, nil
	}
	from, err := d.existingVolume(r.GetSourceVolumeId())
	if err != nil {
		return nil, err
	}
	taken := &snapshot{ID: id, Name: r.GetName(), Volume: from.ID, Size: from.Capacity, Created: time.Now()}
	if err := d.store.createSnapshot(taken); err != nil {
		return nil, internal(err)
	}
	return &csi.CreateSnapshotResponse{Snapshot: taken.message()}, nil
}

func (d *driver) DeleteSnapshot(_ context.Context, r *csi.DeleteSnapshotRequest) (*csi.DeleteSnapshotResponse, error) {
	if r.GetSnapshotId() == "" {
		return nil, status.Error(codes.InvalidArgument, "snapshot_id is needed")
	}
	if err := d.store.deleteSnapshot(r.GetSnapshotId()); err != nil {
		return nil, internal(err)
	}
	return &csi.DeleteSnapshotResponse{}, nil
}

func (d *driver) ListSnapshots(_ context.Context, r *csi.ListSnapshotsRequest) (*csi.ListSnapshotsResponse, error) {
	all, err := ids(d.store.snapshotsDir())
	if err != nil {
		return nil, internal(err)
	}
	found := map[string]*snapshot{}
	matching := []string{}
	for _, id := range all {
		n, err := d.store.snapshot(id)
		if err != nil {
			return nil, internal(err)
		}
		if n == nil || !asked(r.GetSnapshotId(), id) || !asked(r.GetSourceVolumeId(), n.Volume) {
			continue
		}
		found[id] = n
		matching = append(matching, id)
	}
	shown, next, err := page(matching, r.GetStartingToken(), r.GetMaxEntries())
	if err != nil {
		return nil, err
	}
	answer := &csi.ListSnapshotsResponse{NextToken: next}
	for _, id := range shown {
		answer.Entries = append(answer.Entries, &csi.ListSnapshotsResponse_Entry{Snapshot: found[id].message()})
	}
	return answer, nil
}

func asked(filter, value string) bool { return filter == "" || filter == value }

func (d *driver) existingSnapshot(id string) (*snapshot, error) {
	n, err := d.store.snapshot(id)
	if err != nil {
		return nil, internal(err)
	}
	if n == nil {
		return nil, status.Errorf(codes.NotFound, "no snapshot %q", id)
	}
	return n, nil
}

func (n *snapshot) message() *csi.Snapshot {
	return &csi.Snapshot{
		SnapshotId:     n.ID,
		SourceVolumeId: n.Volume,
		SizeBytes:      n.Size,
		CreationTime:   timestamppb.New(n.Created),
		ReadyToUse:     true,
	}
}
