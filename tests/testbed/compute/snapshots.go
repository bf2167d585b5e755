package main

import (
	"fmt"
	"net/http"
)

func snapshotPath(in *http.Request) string {
	return scope(in) + "/snapshots/" + in.PathValue("name")
}

func (c *compute) listSnapshots(s *state, in *http.Request) (object, error) {
	snapshots := []object{}
	for _, path := range beneath(s.Snapshots, scope(in)+"/snapshots") {
		snapshots = append(snapshots, s.Snapshots[path])
	}
	return list(in, snapshots)
}

func (c *compute) getSnapshot(s *state, in *http.Request) (object, error) {
	path := snapshotPath(in)
	if snapshot, known := s.Snapshots[path]; known {
		return snapshot, nil
	}
	return nil, notFound(path)
}

func (c *compute) createSnapshot(s *state, in *http.Request) (object, error) {
	snapshot, err := body(in)
	if err != nil {
		return nil, err
	}
	path := scope(in) + "/snapshots/" + text(snapshot, "name")
	if _, taken := s.Snapshots[path]; taken {
		return nil, &refusal{http.StatusConflict, "alreadyExists", fmt.Sprintf("The resource '%s' already exists", path)}
	}
	source := unlink(text(snapshot, "sourceDisk"))
	disk, known := s.Disks[source]
	if !known {
		return nil, notFound(source)
	}
	snapshot["sourceDisk"], snapshot["sourceDiskId"] = link(source), disk["id"]
	snapshot["diskSizeGb"] = disk["sizeGb"]
	s.Snapshots[path] = s.created("snapshot", path, snapshot)
	return s.done(in, "createSnapshot", path), nil
}

// deleteSnapshot does nothing to disks that were made from it, nor to the one that it was taken of.
func (c *compute) deleteSnapshot(s *state, in *http.Request) (object, error) {
	path := snapshotPath(in)
	if _, known := s.Snapshots[path]; !known {
		return nil, notFound(path)
	}
	delete(s.Snapshots, path)
	return s.done(in, "delete", path), nil
}
