package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// With --mount a volume is an ext4 file system in a file of its folder, which is really mounted: for a real kubelet.

var (
	mounting     = flag.Bool("mount", false, "mount volumes, which needs root; otherwise a target is a plain folder")
	withoutStats = flag.Bool("without-volume-stats", false, "with --mount: do not offer GET_VOLUME_STATS")
)

const imageFile = "disk.img"

func nodeCapabilities() []csi.NodeServiceCapability_RPC_Type {
	if !*mounting {
		return nil
	}
	offered := []csi.NodeServiceCapability_RPC_Type{csi.NodeServiceCapability_RPC_STAGE_UNSTAGE_VOLUME}
	if !*withoutStats {
		offered = append(offered, csi.NodeServiceCapability_RPC_GET_VOLUME_STATS)
	}
	return offered
}

func (d *driver) NodeStageVolume(_ context.Context, r *csi.NodeStageVolumeRequest) (*csi.NodeStageVolumeResponse, error) {
	if !*mounting {
		return nil, status.Error(codes.Unimplemented, "started without --mount")
	}
	if r.GetVolumeId() == "" || r.GetStagingTargetPath() == "" || r.GetVolumeCapability() == nil {
		return nil, status.Error(codes.InvalidArgument, "volume_id, staging_target_path and volume_capability are needed")
	}
	if r.GetVolumeCapability().GetBlock() != nil {
		return nil, status.Error(codes.InvalidArgument, "a volume is a file system")
	}
	v, err := d.existingVolume(r.GetVolumeId())
	if err != nil {
		return nil, err
	}
	image := filepath.Join(d.store.volumeDir(v.ID), imageFile)
	if err := format(image, cmp.Or(v.Capacity, defaultCapacity)); err != nil {
		return nil, internal(err)
	}
	if err := mountOnce(r.GetStagingTargetPath(), "--options=loop", image); err != nil {
		return nil, internal(err)
	}
	return &csi.NodeStageVolumeResponse{}, nil
}

func (d *driver) NodeUnstageVolume(_ context.Context, r *csi.NodeUnstageVolumeRequest) (*csi.NodeUnstageVolumeResponse, error) {
	if r.GetVolumeId() == "" || r.GetStagingTargetPath() == "" {
		return nil, status.Error(codes.InvalidArgument, "volume_id and staging_target_path are needed")
	}
	if err := unmount(r.GetStagingTargetPath()); err != nil {
		return nil, internal(err)
	}
	return &csi.NodeUnstageVolumeResponse{}, nil
}

// NodeGetVolumeStats tells what statfs tells, as the drivers of disks do.
func (d *driver) NodeGetVolumeStats(_ context.Context, r *csi.NodeGetVolumeStatsRequest) (*csi.NodeGetVolumeStatsResponse, error) {
	if !*mounting || *withoutStats {
		return nil, status.Error(codes.Unimplemented, "GET_VOLUME_STATS is not offered")
	}
	if r.GetVolumeId() == "" || r.GetVolumePath() == "" {
		return nil, status.Error(codes.InvalidArgument, "volume_id and volume_path are needed")
	}
	if _, err := d.existingVolume(r.GetVolumeId()); err != nil {
		return nil, err
	}
	var system syscall.Statfs_t
	if err := syscall.Statfs(r.GetVolumePath(), &system); err != nil {
		return nil, status.Errorf(codes.NotFound, "%s: %v", r.GetVolumePath(), err)
	}
	block := int64(system.Bsize)
	return &csi.NodeGetVolumeStatsResponse{Usage: []*csi.VolumeUsage{
		{
			Unit:      csi.VolumeUsage_BYTES,
			Total:     int64(system.Blocks) * block,
			Available: int64(system.Bavail) * block,
			Used:      int64(system.Blocks-system.Bfree) * block,
		},
		{
			Unit:      csi.VolumeUsage_INODES,
			Total:     int64(system.Files),
			Available: int64(system.Ffree),
			Used:      int64(system.Files - system.Ffree),
		},
	}}, nil
}

// publish mounts what was staged in the place that the pod sees.
func publish(r *csi.NodePublishVolumeRequest) error {
	if r.GetStagingTargetPath() == "" {
		return errors.New("the volume was not staged")
	}
	return mountOnce(r.GetTargetPath(), "--bind", r.GetStagingTargetPath())
}

// format makes a file with a file system, unless it is there.
func format(image string, size int64) error {
	if _, err := os.Stat(image); err == nil {
		return nil
	}
	// Under another name first, so that a kill never leaves half a file system.
	making := image + ".making"
	file, err := os.Create(making)
	if err != nil {
		return err
	}
	if err := errors.Join(file.Truncate(size), file.Close()); err != nil {
		return err
	}
	if err := command("mkfs.ext4", "-q", "-F", making); err != nil {
		return err
	}
	return os.Rename(making, image)
}

func mountOnce(target string, args ...string) error {
	if err := os.MkdirAll(target, 0o755); err != nil {
		return err
	}
	if mounted(target) {
		return nil
	}
	return command("mount", append(args, target)...)
}

// unmount also removes the folder, which must be empty then.
func unmount(target string) error {
	if mounted(target) {
		if err := command("umount", target); err != nil {
			return err
		}
	}
	return ignoreMissing(os.Remove(target))
}

func mounted(target string) bool { return exec.Command("mountpoint", "--quiet", target).Run() == nil }

func command(name string, args ...string) error {
	if output, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, strings.TrimSpace(string(output)))
	}
	return nil
}
