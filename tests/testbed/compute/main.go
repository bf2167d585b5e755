// testbed-compute stands in for the compute API of Google's cloud, as far as the GCE PD CSI driver uses it: disks, the
// instances that they are attached to, and snapshots. Everything is in one file, which a test reads (see state.go).
//
// It knows no quota and no wait: what it answers to has happened, and every operation is DONE. It listens on loopback,
// believes any token, and hands them out.
package main

import (
	"flag"
	"log"
	"net/http"
	"strings"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "the address to listen on")
	file := flag.String("state", "", "the file that holds everything")
	project := flag.String("project", "demo", "the project")
	region := flag.String("region", "us-central1", "the region")
	zones := flag.String("zones", "us-central1-a,us-central1-b", "the comma-separated zones of the region")
	instances := flag.String("instances", "", "the comma-separated instances in the first zone")
	flag.Parse()
	if *file == "" {
		log.Fatal("--state is needed")
	}
	names := strings.FieldsFunc(*instances, func(r rune) bool { return r == ',' })
	server, err := newCompute(*file, *project, *region, strings.Split(*zones, ","), names)
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.ListenAndServe(*listen, server))
}
