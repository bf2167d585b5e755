// testbed-csi-driver is a CSI driver whose backend is a folder, so that a test can see what happened to the data:
//
//	STATE/volumes/ID/      a volume: its files and volume.json; remove or create one by hand and the driver follows
//	STATE/snapshots/ID/    a snapshot: a copy of the files and snapshot.json
//	STATE/calls.jsonl      every call and every answer (see calls.go)
//	STATE/node-expansion   if there is such a file, what has grown is to be grown on its node too
//	STATE/faults.json      what should go wrong, read anew at each call (see faults.go)
//
// It mounts nothing and needs no rights, unless it is told to (mounts.go). It keeps nothing in memory, so it may be killed at any time.
package main

import (
	"flag"
	"log"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
)

func main() {
	name := flag.String("name", "testbed.csi.example", "the driver's name")
	socket := flag.String("socket", "", "the Unix socket to listen on")
	state := flag.String("state", "", "the folder that holds volumes, snapshots, the call log and the faults")
	attach := flag.Bool("attach", false, "offer ControllerPublishVolume")
	nodes := flag.String("nodes", "node-0", "comma-separated node ids that volumes may be published to; the first one is its own")
	flag.Parse()
	if *socket == "" || *state == "" {
		log.Fatal("--socket and --state are needed")
	}
	if err := serve(*socket, &driver{
		name:   *name,
		attach: *attach,
		nodes:  strings.Split(*nodes, ","),
		store:  store{root: *state},
	}); err != nil {
		log.Fatal(err)
	}
}

type driver struct {
	csi.UnimplementedIdentityServer
	csi.UnimplementedControllerServer
	csi.UnimplementedNodeServer

	name   string
	attach bool
	nodes  []string
	store  store
}

func serve(socket string, d *driver) error {
	if err := d.store.prepare(); err != nil {
		return err
	}
	calls, err := openCallLog(filepath.Join(d.store.root, "calls.jsonl"))
	if err != nil {
		return err
	}
	defer calls.close()

	// A killed predecessor leaves its socket behind.
	if err := os.Remove(socket); err != nil && !os.IsNotExist(err) {
		return err
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	// The log is outside the faults, so it shows what the caller was told.
	server := grpc.NewServer(grpc.ChainUnaryInterceptor(
		calls.intercept,
		faultFile(filepath.Join(d.store.root, "faults.json")).intercept,
	))
	csi.RegisterIdentityServer(server, d)
	csi.RegisterControllerServer(server, d)
	csi.RegisterNodeServer(server, d)

	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-stop
		server.Stop()
	}()
	return server.Serve(listener)
}
