// testbed-kubelet is a real kubelet without containers: kubemark's, whose runtime is CRI's fake, with the real mounter
// in the place of kubemark's. Volumes of its pods are really mounted, and it measures them as every kubelet does. It needs
// root, and an address of this machine that is not loopback: the API server forwards nothing to that.
//
//	testbed-kubelet certificate FOLDER ADDRESS    writes kubelet.crt and kubelet.key
//	testbed-kubelet run --kubeconfig FILE --node NAME --address ADDRESS --credentials FOLDER --root FOLDER [--csi NAME=SOCKET]…
//
// One certificate does for both ends: the API server shows it to the kubelet (--kubelet-client-certificate), which knows
// no other authority.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"go.opentelemetry.io/otel/trace/noop"
	"k8s.io/apimachinery/pkg/types"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	cri "k8s.io/cri-client/pkg"
	fakecri "k8s.io/cri-client/pkg/fake"
	"k8s.io/kubernetes/cmd/kubelet/app"
	"k8s.io/kubernetes/cmd/kubelet/app/options"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/cm"
	"k8s.io/kubernetes/pkg/kubemark"
	"k8s.io/kubernetes/pkg/volume/util/hostutil"
	"k8s.io/kubernetes/pkg/volume/util/subpath"
	"k8s.io/mount-utils"
)

const (
	port = 10250
	// statsPeriod is how often volumes are measured: a minute in real life.
	statsPeriod = 2 * time.Second
)

func main() {
	if err := do(); err != nil {
		fmt.Fprintln(os.Stderr, "testbed-kubelet:", err)
		os.Exit(1)
	}
}

func do() error {
	if len(os.Args) == 4 && os.Args[1] == "certificate" {
		return writeCertificate(os.Args[2], os.Args[3])
	}
	if len(os.Args) < 2 || os.Args[1] != "run" {
		return fmt.Errorf("the first word is certificate or run")
	}
	var k node
	flags := flag.NewFlagSet("run", flag.ExitOnError)
	flags.StringVar(&k.kubeconfig, "kubeconfig", "", "how it reaches the API server")
	flags.StringVar(&k.name, "node", "", "the name of its node")
	flags.StringVar(&k.address, "address", "", "the address of its node")
	flags.StringVar(&k.credentials, "credentials", "", "the folder of kubelet.crt and kubelet.key")
	flags.StringVar(&k.root, "root", "", "the folder in which it mounts volumes")
	flags.Var(&k.drivers, "csi", "a CSI driver on this node, as NAME=SOCKET; can be repeated")
	if err := flags.Parse(os.Args[2:]); err != nil {
		return err
	}
	return k.run(context.Background())
}

// node is what a kubelet is told about itself.
type node struct {
	kubeconfig, name, address, credentials, root string
	drivers                                      drivers
}

// run runs the kubelet, and returns only when it cannot be started.
func (k *node) run(ctx context.Context) error {
	config, err := clientcmd.BuildConfigFromFlags("", k.kubeconfig)
	if err != nil {
		return err
	}
	client, err := clientset.NewForConfig(config)
	if err != nil {
		return err
	}
	flags, settings, err := k.settings()
	if err != nil {
		return err
	}
	endpoint, err := fakecri.GenerateEndpoint()
	if err != nil {
		return err
	}
	runtime := fakecri.NewFakeRemoteRuntime()
	if err := runtime.Start(endpoint); err != nil {
		return err
	}
	runtime.ImageService.SetFakeFilesystemUsage([]*runtimeapi.FilesystemUsage{{
		Timestamp:  time.Now().UnixNano(),
		FsId:       &runtimeapi.FilesystemIdentifier{Mountpoint: "/"},
		UsedBytes:  &runtimeapi.UInt64Value{Value: 1},
		InodesUsed: &runtimeapi.UInt64Value{Value: 1},
	}})
	service, err := cri.NewRemoteRuntimeService(ctx, endpoint, 15*time.Second, noop.NewTracerProvider(), false)
	if err != nil {
		return err
	}
	hollow := kubemark.NewHollowKubelet(flags, settings, client, client,
		&rootCgroup{}, runtime.ImageService, containerStats{service}, cm.NewStubContainerManager())
	mounter := mount.New("")
	hollow.KubeletDeps.Mounter = mounter
	hollow.KubeletDeps.Subpather = subpath.New(mounter)
	hollow.KubeletDeps.HostUtil = hostutil.NewHostUtil()
	if hollow.KubeletDeps.TLSOptions, err = app.InitializeTLS(ctx, flags, settings); err != nil {
		return err
	}
	auth, reload, err := app.BuildAuth(types.NodeName(k.name), client, *settings)
	if err != nil {
		return err
	}
	hollow.KubeletDeps.Auth = auth
	reload(ctx.Done())
	if err := k.drivers.register(filepath.Join(k.root, "plugins_registry")); err != nil {
		return err
	}
	hollow.Run(ctx)
	return nil
}

// settings are kubemark's, but for what a node has that people run: TLS, and the API server as its judge.
func (k *node) settings() (*options.KubeletFlags, *kubeletconfig.KubeletConfiguration, error) {
	flags, settings := kubemark.GetHollowKubeletConfig(&kubemark.HollowKubeletOptions{
		NodeName: k.name, KubeletPort: port, MaxPods: 110,
	})
	// It has made folders in /tmp.
	made := flags.RootDirectory
	flags.RootDirectory = k.root
	settings.StaticPodPath = filepath.Join(k.root, "static-pods")
	settings.PodLogsDir = filepath.Join(k.root, "pod-logs")
	flags.NodeIP = k.address
	certificate := filepath.Join(k.credentials, "kubelet.crt")
	settings.Address = k.address
	settings.TLSCertFile = certificate
	settings.TLSPrivateKeyFile = filepath.Join(k.credentials, "kubelet.key")
	settings.Authentication.Anonymous.Enabled = false
	settings.Authentication.Webhook.Enabled = true
	settings.Authentication.X509.ClientCAFile = certificate
	settings.Authorization.Mode = kubeletconfig.KubeletAuthorizationModeWebhook
	settings.EnableControllerAttachDetach = true
	settings.VolumeStatsAggPeriod.Duration = statsPeriod
	return flags, settings, os.RemoveAll(made)
}
