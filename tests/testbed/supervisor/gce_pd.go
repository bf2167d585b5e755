package main

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	gceDriver  = "pd.csi.storage.gke.io"
	gceProject = "demo"
	gceZone    = "us-central1-a"
	gceImage   = "registry.k8s.io/cloud-provider-gcp/gcp-compute-persistent-disk-csi-driver:v1.28.1"
)

// gcePD is the GCE PD CSI driver as it was released, with its own names, and testbed-compute in the place of Google's
// cloud.
var gcePD = plugin{
	driver:         gceDriver,
	namespace:      "gce-pd-csi-driver",
	deployment:     "csi-gce-pd-controller",
	serviceAccount: "csi-gce-pd-controller-sa",
	container:      "gce-pd-driver",
	image:          gceImage,
	containerArgs: func(*driver) []string {
		return []string{"--endpoint=unix:" + socketInPod, "--run-node-service=false"}
	},
	hostNetwork: true,
	attaches:    true,
	node: nodeInfo{
		id: func(node string) string {
			return "projects/" + gceProject + "/zones/" + gceZone + "/instances/" + node
		},
		topology: map[string]string{"topology.gke.io/zone": gceZone},
	},
	parameters:  object{"type": "pd-balanced"},
	sidecarArgs: map[string][]string{provisioner: {"--default-fstype=ext4"}},
	backends:    []string{"compute"},
	define:      defineGCE,
	describe: func(d *driver) object {
		return object{"backend": computeState(d), "compute": d.backendURL}
	},
}

func computeState(d *driver) string { return filepath.Join(d.dir, "compute.json") }

// defineGCE registers the stand-in for the cloud, and the driver that believes in it.
func defineGCE(d *driver) error {
	ports, err := freePorts(1)
	if err != nil {
		return err
	}
	address := "127.0.0.1:" + ports[0]
	d.backendURL = "http://" + address
	if err := d.cluster.define(d.options.Driver+"/compute", "testbed-compute", func(*component, time.Time) error {
		connection, err := net.Dial("tcp", address)
		if err == nil {
			connection.Close()
		}
		return err
	},
		"--listen="+address,
		"--state="+computeState(d),
		"--project="+gceProject,
		"--instances="+strings.Join(d.cluster.nodes, ","),
	); err != nil {
		return err
	}
	account, err := writeCloudAccount(d.dir, d.backendURL)
	if err != nil {
		return err
	}
	config := filepath.Join(d.dir, "cloud.conf")
	text := "[global]\nproject-id = " + gceProject + "\nzone = " + gceZone + "\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return err
	}
	if err := d.cluster.define(d.options.Driver, "gce-pd-csi-driver", d.listens,
		"--endpoint=unix:"+d.socket,
		"--run-node-service=false",
		"--cloud-config="+config,
		"--compute-endpoint="+d.backendURL,
	); err != nil {
		return err
	}
	driver, err := d.cluster.component(d.options.Driver)
	if err != nil {
		return err
	}
	driver.env = []string{"GOOGLE_APPLICATION_CREDENTIALS=" + account}
	return nil
}

// writeCloudAccount invents an account of the cloud, whose tokens the stand-in gives out.
func writeCloudAccount(dir, url string) (string, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return "", err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(object{
		"type":           "service_account",
		"project_id":     gceProject,
		"private_key_id": "1",
		"private_key":    string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
		"client_email":   "testbed@" + gceProject + ".iam.gserviceaccount.com",
		"client_id":      "1",
		"token_uri":      url + "/token",
	})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "account.json")
	return path, os.WriteFile(path, text, 0o600)
}
