package main

import (
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
)

func (c *compute) diskPath(in *http.Request) string {
	return scope(in) + "/disks/" + in.PathValue("name")
}

// shown is a disk as answers have it: with the instances that it is in.
func shown(s *state, path string) object {
	disk := maps.Clone(s.Disks[path])
	users := s.users(path)
	for i := range users {
		users[i] = link(users[i])
	}
	disk["users"] = users
	return disk
}

func (c *compute) listDisks(s *state, in *http.Request) (object, error) {
	disks := []object{}
	for _, path := range beneath(s.Disks, scope(in)+"/disks") {
		disks = append(disks, shown(s, path))
	}
	return list(in, disks)
}

func (c *compute) getDisk(s *state, in *http.Request) (object, error) {
	path := c.diskPath(in)
	if _, known := s.Disks[path]; !known {
		return nil, notFound(path)
	}
	return shown(s, path), nil
}

func (c *compute) createDisk(s *state, in *http.Request) (object, error) {
	disk, err := body(in)
	if err != nil {
		return nil, err
	}
	at := scope(in) + "/disks/" + text(disk, "name")
	if _, taken := s.Disks[at]; taken {
		return nil, &refusal{http.StatusConflict, "alreadyExists", fmt.Sprintf("The resource '%s' already exists", at)}
	}
	if source := text(disk, "sourceSnapshot"); source != "" {
		snapshot, known := s.Snapshots[unlink(source)]
		if !known {
			return nil, notFound(unlink(source))
		}
		disk["sourceSnapshot"], disk["sourceSnapshotId"] = link(unlink(source)), snapshot["id"]
	}
	if source := text(disk, "sourceDisk"); source != "" {
		original, known := s.Disks[unlink(source)]
		if !known {
			return nil, notFound(unlink(source))
		}
		disk["sourceDisk"], disk["sourceDiskId"] = link(unlink(source)), original["id"]
	}
	disk["type"] = link(unlink(text(disk, "type")))
	kind := strings.TrimSuffix(base(path.Dir(scope(in))), "s") // zone or region
	disk[kind] = link(scope(in))
	s.Disks[at] = s.created("disk", at, disk)
	return s.done(in, "insert", at), nil
}

// deleteDisk refuses a disk that is in an instance, as the API does.
func (c *compute) deleteDisk(s *state, in *http.Request) (object, error) {
	path := c.diskPath(in)
	if _, known := s.Disks[path]; !known {
		return nil, notFound(path)
	}
	if users := s.users(path); len(users) > 0 {
		message := fmt.Sprintf("The disk resource '%s' is already being used by '%s'", path, users[0])
		return nil, &refusal{http.StatusBadRequest, "resourceInUseByAnotherResource", message}
	}
	delete(s.Disks, path)
	return s.done(in, "delete", path), nil
}

func (c *compute) instancePath(in *http.Request) (string, error) {
	path := scope(in) + "/instances/" + in.PathValue("name")
	if !slices.Contains(c.instances, path) {
		return "", notFound(path)
	}
	return path, nil
}

func instance(s *state, path string) object {
	disks := []object{}
	for _, one := range s.Attachments {
		if one.Instance == path {
			disks = append(disks, object{"deviceName": one.Device, "source": link(one.Disk), "mode": one.Mode})
		}
	}
	return object{"name": base(path), "selfLink": link(path), "status": "RUNNING", "disks": disks}
}

func (c *compute) listInstances(s *state, in *http.Request) (object, error) {
	instances := []object{}
	for _, one := range c.instances {
		if path.Dir(one) == scope(in)+"/instances" {
			instances = append(instances, instance(s, one))
		}
	}
	return list(in, instances)
}

func (c *compute) getInstance(s *state, in *http.Request) (object, error) {
	path, err := c.instancePath(in)
	if err != nil {
		return nil, err
	}
	return instance(s, path), nil
}

func (c *compute) attachDisk(s *state, in *http.Request) (object, error) {
	at, err := c.instancePath(in)
	if err != nil {
		return nil, err
	}
	wanted, err := body(in)
	if err != nil {
		return nil, err
	}
	disk := unlink(text(wanted, "source"))
	if _, known := s.Disks[disk]; !known {
		return nil, notFound(disk)
	}
	mode := text(wanted, "mode")
	for _, one := range s.Attachments {
		if one.Disk == disk && (mode != "READ_ONLY" || one.Mode != "READ_ONLY") {
			message := fmt.Sprintf("The disk resource '%s' is already being used by '%s'", disk, one.Instance)
			return nil, &refusal{http.StatusBadRequest, "resourceInUseByAnotherResource", message}
		}
	}
	s.Attachments = append(s.Attachments, attachment{Disk: disk, Instance: at, Device: text(wanted, "deviceName"), Mode: mode})
	return s.done(in, "attachDisk", disk), nil
}

func (c *compute) detachDisk(s *state, in *http.Request) (object, error) {
	at, err := c.instancePath(in)
	if err != nil {
		return nil, err
	}
	device := in.URL.Query().Get("deviceName")
	disk, found := s.detach(at, device)
	if !found {
		return nil, invalid("no attached disk found with device name '" + device + "'")
	}
	return s.done(in, "detachDisk", disk), nil
}
