package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

const zone = "projects/demo/zones/us-central1-a"

func start(t *testing.T) *compute {
	t.Helper()
	c, err := newCompute(filepath.Join(t.TempDir(), "state.json"), "demo", "us-central1",
		[]string{"us-central1-a", "us-central1-b"}, []string{"node-1", "node-2"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// ask sends a request, and fails the test unless it is answered so.
func ask(t *testing.T, c *compute, code int, method, path string, fields object) object {
	t.Helper()
	text, _ := json.Marshal(fields)
	out := httptest.NewRecorder()
	c.ServeHTTP(out, httptest.NewRequest(method, "/compute/v1/"+path, bytes.NewReader(text)))
	if out.Code != code {
		t.Fatalf("%s %s: %d, not %d: %s", method, path, out.Code, code, out.Body)
	}
	answer := object{}
	if err := json.Unmarshal(out.Body.Bytes(), &answer); err != nil {
		t.Fatal(err)
	}
	return answer
}

func reason(answer object) string {
	return answer["error"].(object)["errors"].([]any)[0].(object)["reason"].(string)
}

func TestADiskInUseIsNotDeleted(t *testing.T) {
	c := start(t)
	made := ask(t, c, 200, "POST", zone+"/disks", object{"name": "data", "sizeGb": "1", "type": "projects/demo/x"})
	if made["status"] != "DONE" {
		t.Error(made)
	}
	wait := strings.TrimPrefix(made["selfLink"].(string), link(""))
	if ask(t, c, 200, "POST", wait+"/wait", nil)["status"] != "DONE" {
		t.Error("an operation goes on")
	}
	if got := reason(ask(t, c, 409, "POST", zone+"/disks", object{"name": "data"})); got != "alreadyExists" {
		t.Error(got)
	}
	device := object{"source": "http://127.0.0.1:1/compute/v1/" + zone + "/disks/data", "deviceName": "data", "mode": "READ_WRITE"}
	ask(t, c, 200, "POST", zone+"/instances/node-1/attachDisk", device)
	ask(t, c, 400, "POST", zone+"/instances/node-2/attachDisk", device)
	disk := ask(t, c, 200, "GET", zone+"/disks/data", nil)
	if user := disk["users"].([]any)[0]; user != link(zone+"/instances/node-1") {
		t.Error(user)
	}
	if got := reason(ask(t, c, 400, "DELETE", zone+"/disks/data", nil)); got != "resourceInUseByAnotherResource" {
		t.Error(got)
	}
	ask(t, c, 200, "POST", zone+"/instances/node-1/detachDisk?deviceName=data", nil)
	ask(t, c, 400, "POST", zone+"/instances/node-1/detachDisk?deviceName=data", nil)
	ask(t, c, 200, "DELETE", zone+"/disks/data", nil)
	if got := reason(ask(t, c, 404, "DELETE", zone+"/disks/data", nil)); got != "notFound" {
		t.Error(got)
	}
}

func TestASnapshotOutlivesItsDisk(t *testing.T) {
	c := start(t)
	ask(t, c, 200, "POST", zone+"/disks", object{"name": "data", "sizeGb": "7"})
	source := object{"name": "nightly", "sourceDisk": link(zone + "/disks/data")}
	ask(t, c, 200, "POST", "projects/demo/global/snapshots", source)
	ask(t, c, 200, "DELETE", zone+"/disks/data", nil)
	snapshot := ask(t, c, 200, "GET", "projects/demo/global/snapshots/nightly", nil)
	if snapshot["diskSizeGb"] != "7" || snapshot["sourceDisk"] != link(zone+"/disks/data") {
		t.Error(snapshot)
	}
	ask(t, c, 200, "POST", zone+"/disks", object{"name": "restored", "sourceSnapshot": "projects/demo/global/snapshots/nightly"})
	restored := ask(t, c, 200, "GET", zone+"/disks/restored", nil)
	if restored["sourceSnapshotId"] != snapshot["id"] {
		t.Error(restored)
	}
	ask(t, c, 200, "DELETE", "projects/demo/global/snapshots/nightly", nil)
	ask(t, c, 404, "POST", zone+"/disks", object{"name": "late", "sourceSnapshot": "projects/demo/global/snapshots/nightly"})
}

func TestAZoneAndARegionAreApart(t *testing.T) {
	c := start(t)
	ask(t, c, 200, "POST", zone+"/disks", object{"name": "data"})
	ask(t, c, 200, "POST", "projects/demo/regions/us-central1/disks", object{"name": "data"})
	for _, place := range []string{zone, "projects/demo/regions/us-central1"} {
		items := ask(t, c, 200, "GET", place+"/disks", nil)["items"].([]any)
		if len(items) != 1 || items[0].(object)["selfLink"] != link(place+"/disks/data") {
			t.Error(place, items)
		}
	}
	ask(t, c, 404, "GET", "projects/demo/zones/us-central1-b/disks/data", nil)
}

func TestWhatIsNotPlayedIsRefused(t *testing.T) {
	c := start(t)
	ask(t, c, http.StatusNotImplemented, "POST", zone+"/disks/data/resize", nil)
	ask(t, c, 400, "GET", "projects/demo/zones?filter=name=a", nil)
	zones := ask(t, c, 200, "GET", "projects/demo/zones?filter=region+eq+.*us-central1$", nil)["items"].([]any)
	if len(zones) != 2 {
		t.Error(zones)
	}
	if none := ask(t, c, 200, "GET", "projects/demo/zones?filter=region+eq+.*europe$", nil)["items"].([]any); len(none) != 0 {
		t.Error(none)
	}
}

func TestTheFileIsTheTruth(t *testing.T) {
	c := start(t)
	ask(t, c, 200, "POST", zone+"/disks", object{"name": "data"})
	again, err := newCompute(c.file, "demo", "us-central1", c.zones, nil)
	if err != nil {
		t.Fatal(err)
	}
	ask(t, again, 200, "GET", zone+"/disks/data", nil)
	s, err := load(c.file)
	if err != nil || len(s.Operations) != 1 || s.Operations[0] != (operation{"insert", zone + "/disks/data"}) {
		t.Error(s, err)
	}
}
