package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// compute answers requests, one after the other.
type compute struct {
	mutex     sync.Mutex
	file      string
	project   string
	region    string
	zones     []string
	instances []string // their paths
	routes    *http.ServeMux
}

// refusal is an error as the API words it.
type refusal struct {
	code    int
	reason  string
	message string
}

func (r *refusal) Error() string { return r.message }

func notFound(path string) error {
	return &refusal{http.StatusNotFound, "notFound", fmt.Sprintf("The resource '%s' was not found", path)}
}

func invalid(message string) error { return &refusal{http.StatusBadRequest, "invalid", message} }

func newCompute(file, project, region string, zones, instances []string) (*compute, error) {
	c := &compute{file: file, project: project, region: region, zones: zones, routes: http.NewServeMux()}
	for _, name := range instances {
		c.instances = append(c.instances, "projects/"+project+"/zones/"+zones[0]+"/instances/"+name)
	}
	c.routes.HandleFunc("POST /token", func(out http.ResponseWriter, _ *http.Request) {
		answer(out, http.StatusOK, object{"access_token": "anybody", "token_type": "Bearer", "expires_in": 3600})
	})
	for pattern, act := range map[string]func(*state, *http.Request) (object, error){
		"GET /zones":                                         c.listZones,
		"GET /global/images":                                 c.listImages,
		"GET /global/snapshots":                              c.listSnapshots,
		"POST /global/snapshots":                             c.createSnapshot,
		"GET /global/snapshots/{name}":                       c.getSnapshot,
		"DELETE /global/snapshots/{name}":                    c.deleteSnapshot,
		"POST /global/operations/{name}/wait":                c.waitFor,
		"GET /zones/{location}/disks":                        c.listDisks,
		"POST /zones/{location}/disks":                       c.createDisk,
		"GET /zones/{location}/disks/{name}":                 c.getDisk,
		"DELETE /zones/{location}/disks/{name}":              c.deleteDisk,
		"POST /zones/{location}/operations/{name}/wait":      c.waitFor,
		"GET /zones/{location}/instances":                    c.listInstances,
		"GET /zones/{location}/instances/{name}":             c.getInstance,
		"POST /zones/{location}/instances/{name}/attachDisk": c.attachDisk,
		"POST /zones/{location}/instances/{name}/detachDisk": c.detachDisk,
		"GET /regions/{location}/disks":                      c.listDisks,
		"POST /regions/{location}/disks":                     c.createDisk,
		"GET /regions/{location}/disks/{name}":               c.getDisk,
		"DELETE /regions/{location}/disks/{name}":            c.deleteDisk,
		"POST /regions/{location}/operations/{name}/wait":    c.waitFor,
	} {
		method, rest, _ := strings.Cut(pattern, " ")
		c.routes.HandleFunc(method+" /compute/{version}/projects/{project}"+rest, c.handle(act))
	}
	s, err := load(file)
	if err != nil {
		return nil, err
	}
	return c, s.save(file)
}

func (c *compute) ServeHTTP(out http.ResponseWriter, in *http.Request) {
	if _, pattern := c.routes.Handler(in); pattern == "" {
		refuse(out, &refusal{http.StatusNotImplemented, "notImplemented", in.Method + " " + in.URL.Path + " is not played"})
		return
	}
	c.routes.ServeHTTP(out, in)
}

// handle keeps what a request changed, unless it is refused.
func (c *compute) handle(act func(*state, *http.Request) (object, error)) http.HandlerFunc {
	return func(out http.ResponseWriter, in *http.Request) {
		c.mutex.Lock()
		defer c.mutex.Unlock()
		s, err := load(c.file)
		if err != nil {
			refuse(out, err)
			return
		}
		result, err := act(s, in)
		if err == nil && in.Method != http.MethodGet {
			err = s.save(c.file)
		}
		if err != nil {
			refuse(out, err)
			return
		}
		answer(out, http.StatusOK, result)
	}
}

func answer(out http.ResponseWriter, code int, body object) {
	out.Header().Set("Content-Type", "application/json")
	out.WriteHeader(code)
	json.NewEncoder(out).Encode(body)
}

func refuse(out http.ResponseWriter, err error) {
	r, known := err.(*refusal)
	if !known {
		r = &refusal{http.StatusInternalServerError, "internalError", err.Error()}
	}
	cause := object{"domain": "global", "reason": r.reason, "message": r.message}
	answer(out, r.code, object{"error": object{"code": r.code, "message": r.message, "errors": []object{cause}}})
}

// done records an operation, and answers as one that is over.
func (s *state) done(in *http.Request, kind, target string) object {
	s.Operations = append(s.Operations, operation{kind, target})
	return finished(in, "operation-"+strconv.Itoa(len(s.Operations)))
}

func finished(in *http.Request, name string) object {
	return object{"kind": "compute#operation", "name": name, "status": "DONE", "progress": 100, "selfLink": link(scope(in) + "/operations/" + name)}
}

// waitFor answers at once: there is nothing to wait for.
func (c *compute) waitFor(_ *state, in *http.Request) (object, error) {
	return finished(in, in.PathValue("name")), nil
}

// scope is where a request looks: a zone, a region or the whole project.
func scope(in *http.Request) string {
	of := "projects/" + in.PathValue("project")
	_, rest, _ := strings.Cut(in.URL.Path, "/"+of+"/")
	kind, _, _ := strings.Cut(rest, "/")
	return path.Join(of, kind, in.PathValue("location"))
}

func (c *compute) listZones(_ *state, in *http.Request) (object, error) {
	zones := []object{}
	for _, zone := range c.zones {
		zones = append(zones, object{"name": zone, "status": "UP", "region": link("projects/" + c.project + "/regions/" + c.region)})
	}
	return list(in, zones)
}

// listImages: snapshots that are images are not played.
func (c *compute) listImages(_ *state, in *http.Request) (object, error) { return list(in, []object{}) }

// list answers with those that the filter of a request lets through.
func list(in *http.Request, all []object) (object, error) {
	matches, err := parseFilter(in.URL.Query().Get("filter"))
	if err != nil {
		return nil, err
	}
	return object{"items": slices.DeleteFunc(all, func(one object) bool { return !matches(one) })}, nil
}

// beneath are the resources of a place, in the order of their names.
func beneath(all map[string]object, place string) []string {
	paths := slices.Sorted(maps.Keys(all))
	return slices.DeleteFunc(paths, func(one string) bool { return path.Dir(one) != place })
}

// created fills in what every resource has.
func (s *state) created(kind, path string, fields object) object {
	s.Created++
	fields["kind"] = "compute#" + kind
	fields["id"] = strconv.Itoa(1_000_000 + s.Created)
	fields["selfLink"] = link(path)
	fields["status"] = "READY"
	fields["creationTimestamp"] = time.Now().Format(time.RFC3339)
	return fields
}

func body(in *http.Request) (object, error) {
	fields := object{}
	if err := json.NewDecoder(in.Body).Decode(&fields); err != nil {
		return nil, invalid("the body is not JSON: " + err.Error())
	}
	return fields, nil
}

func text(fields object, name string) string {
	value, _ := fields[name].(string)
	return value
}
