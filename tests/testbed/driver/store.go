package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// store keeps volumes and snapshots as folders. The mutex makes "look, then create" one step.
type store struct {
	root  string
	mutex sync.Mutex
}

type volume struct {
	ID       string `json:"-"`
	Name     string `json:"name"`
	Capacity int64  `json:"capacity"`
	Source   source `json:"source"`
	// Published says for each node whether the volume is there read-only.
	Published map[string]bool `json:"published,omitempty"`
}

// source is what a volume was filled from; at most one of the two is set.
type source struct {
	Volume   string `json:"volume,omitempty"`
	Snapshot string `json:"snapshot,omitempty"`
}

type snapshot struct {
	ID      string    `json:"-"`
	Name    string    `json:"name"`
	Volume  string    `json:"volume"`
	Size    int64     `json:"size"`
	Created time.Time `json:"created"`
}

const (
	volumeFile   = "volume.json"
	snapshotFile = "snapshot.json"
)

// idOf gives the same name the same id, which makes creation idempotent without an index.
func idOf(prefix, name string) string {
	sum := sha256.Sum256([]byte(name))
	return prefix + hex.EncodeToString(sum[:8])
}

func (s *store) volumesDir() string           { return filepath.Join(s.root, "volumes") }
func (s *store) snapshotsDir() string         { return filepath.Join(s.root, "snapshots") }
func (s *store) volumeDir(id string) string   { return filepath.Join(s.volumesDir(), id) }
func (s *store) snapshotDir(id string) string { return filepath.Join(s.snapshotsDir(), id) }
func isID(id string) bool {
	return id != "" && id != "." && id != ".." && !strings.ContainsAny(id, `/\`)
}
func ignoreMissing(err error) error { return ignore(err, fs.ErrNotExist) }
func ignore(err, target error) error {
	if errors.Is(err, target) {
		return nil
	}
	return err
}

// expandsOnNode says whether the file system of a volume that has grown is to be grown on its node.
func (s *store) expandsOnNode() (bool, error) {
	_, err := os.Stat(filepath.Join(s.root, "node-expansion"))
	return err == nil, ignoreMissing(err)
}

func (s *store) prepare() error {
	return errors.Join(os.MkdirAll(s.volumesDir(), 0o755), os.MkdirAll(s.snapshotsDir(), 0o755))
}

// volume returns nil when there is none. A folder without volume.json was made by hand and is a volume too.
func (s *store) volume(id string) (*volume, error) {
	v := &volume{}
	found, err := load(s.volumesDir(), id, volumeFile, v)
	if !found || err != nil {
		return nil, err
	}
	v.ID = id
	return v, nil
}

func (s *store) snapshot(id string) (*snapshot, error) {
	n := &snapshot{}
	found, err := load(s.snapshotsDir(), id, snapshotFile, n)
	if !found || err != nil {
		return nil, err
	}
	n.ID = id
	return n, nil
}

func load(dir, id, file string, into any) (bool, error) {
	if !isID(id) {
		return false, nil
	}
	if _, err := os.Stat(filepath.Join(dir, id)); err != nil {
		return false, ignoreMissing(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, id, file))
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return true, json.Unmarshal(text, into)
}

// createVolume makes the folder under another name first, so that a kill never leaves half a volume.
func (s *store) createVolume(v *volume) error {
	from := ""
	switch {
	case v.Source.Volume != "":
		from = s.volumeDir(v.Source.Volume)
	case v.Source.Snapshot != "":
		from = s.snapshotDir(v.Source.Snapshot)
	}
	return create(s.volumeDir(v.ID), from, volumeFile, v)
}

func (s *store) createSnapshot(n *snapshot) error {
	return create(s.snapshotDir(n.ID), s.volumeDir(n.Volume), snapshotFile, n)
}

func create(dir, from, file string, description any) error {
	temporary := filepath.Join(filepath.Dir(filepath.Dir(dir)), ".creating-"+filepath.Base(dir))
	if err := os.RemoveAll(temporary); err != nil {
		return err
	}
	if err := os.Mkdir(temporary, 0o755); err != nil {
		return err
	}
	if from != "" {
		if err := os.CopyFS(temporary, os.DirFS(from)); err != nil {
			return err
		}
		for _, old := range []string{volumeFile, snapshotFile} {
			if err := ignoreMissing(os.Remove(filepath.Join(temporary, old))); err != nil {
				return err
			}
		}
	}
	if err := save(filepath.Join(temporary, file), description); err != nil {
		return err
	}
	return os.Rename(temporary, dir)
}

func (s *store) saveVolume(v *volume) error {
	return save(filepath.Join(s.volumeDir(v.ID), volumeFile), v)
}

func save(path string, description any) error {
	text, err := json.Marshal(description)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}

func (s *store) deleteVolume(id string) error   { return remove(s.volumesDir(), id) }
func (s *store) deleteSnapshot(id string) error { return remove(s.snapshotsDir(), id) }

// remove treats what is not there as removed, which is what CSI asks for.
func remove(dir, id string) error {
	if !isID(id) {
		return nil
	}
	return os.RemoveAll(filepath.Join(dir, id))
}

// ids of everything in a folder, sorted.
func ids(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(entries))
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names, nil
}
