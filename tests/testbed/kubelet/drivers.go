package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"google.golang.org/grpc"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

// drivers are the CSI drivers of the node: their names, and where they listen.
type drivers []driver

type driver struct{ name, socket string }

func (d *drivers) String() string { return fmt.Sprint(*d) }

// Set adds a driver of the command line.
func (d *drivers) Set(text string) error {
	name, socket, found := strings.Cut(text, "=")
	if !found {
		return errors.New("it is no NAME=SOCKET")
	}
	*d = append(*d, driver{name, socket})
	return nil
}

// register does what node-driver-registrar does beside a driver: it listens in the folder in which the kubelet looks.
func (d drivers) register(folder string) error {
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return err
	}
	for _, one := range d {
		listener, err := net.Listen("unix", filepath.Join(folder, one.name+"-reg.sock"))
		if err != nil {
			return err
		}
		server := grpc.NewServer()
		registration.RegisterRegistrationServer(server, registrar{driver: one})
		go server.Serve(listener)
	}
	return nil
}

type registrar struct {
	registration.UnimplementedRegistrationServer
	driver driver
}

func (r registrar) GetInfo(context.Context, *registration.InfoRequest) (*registration.PluginInfo, error) {
	return &registration.PluginInfo{
		Type:              registration.CSIPlugin,
		Name:              r.driver.name,
		Endpoint:          r.driver.socket,
		SupportedVersions: []string{"1.0.0"},
	}, nil
}

func (r registrar) NotifyRegistrationStatus(_ context.Context, status *registration.RegistrationStatus) (*registration.RegistrationStatusResponse, error) {
	if !status.PluginRegistered {
		fmt.Fprintf(os.Stderr, "%s is not registered: %s\n", r.driver.name, status.Error)
	}
	return &registration.RegistrationStatusResponse{}, nil
}
