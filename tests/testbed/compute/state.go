package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// object is a resource as the API answers with it, or a part of one.
type object = map[string]any

// state is what the file holds. Resources are called by their paths, such as
// projects/demo/zones/us-central1-a/disks/data, which are the handles of CSI volumes and snapshots too.
type state struct {
	Disks       map[string]object `json:"disks"`
	Snapshots   map[string]object `json:"snapshots"`
	Attachments []attachment      `json:"attachments"`
	// Operations are all that were carried out, in order.
	Operations []operation `json:"operations"`
	// Created is how many resources there ever were; their ids are numbers.
	Created int `json:"created"`
}

// attachment is a disk in an instance.
type attachment struct {
	Disk     string `json:"disk"`
	Instance string `json:"instance"`
	Device   string `json:"device"`
	Mode     string `json:"mode"`
}

type operation struct {
	Type   string `json:"type"` // insert, delete, createSnapshot, attachDisk, detachDisk
	Target string `json:"target"`
}

func load(file string) (*state, error) {
	s := &state{}
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, s)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if s.Disks == nil {
		s.Disks = map[string]object{}
	}
	if s.Snapshots == nil {
		s.Snapshots = map[string]object{}
	}
	return s, err
}

// save replaces the file at once, so that nobody ever reads a part of it.
func (s *state) save(file string) error {
	text, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(file+".next", text, 0o600); err != nil {
		return err
	}
	return os.Rename(file+".next", file)
}

// users are the instances that a disk is in.
func (s *state) users(disk string) []string {
	users := []string{}
	for _, one := range s.Attachments {
		if one.Disk == disk {
			users = append(users, one.Instance)
		}
	}
	return users
}

// detach returns the disk that it took out of an instance.
func (s *state) detach(instance, device string) (disk string, found bool) {
	for i, one := range s.Attachments {
		if one.Instance == instance && one.Device == device {
			s.Attachments = slices.Delete(s.Attachments, i, i+1)
			return one.Disk, true
		}
	}
	return "", false
}

// link is how answers name a resource. Nobody dials it: the driver only reads such names.
func link(path string) string { return "https://www.googleapis.com/compute/v1/" + path }

// unlink is the path of a resource, however a request names it: by a link to us or to the real API, or by its path.
func unlink(name string) string {
	if _, path, found := strings.Cut(name, "/projects/"); found {
		return "projects/" + path
	}
	return name
}

func base(path string) string { return path[strings.LastIndex(path, "/")+1:] }
