// The CloneSet controller of OpenKruise without the rest of its manager, which needs webhooks with certificates.
package main

import (
	"flag"
	"log"

	appsv1alpha1 "github.com/openkruise/kruise/apis/apps/v1alpha1"
	"github.com/openkruise/kruise/pkg/client"
	"github.com/openkruise/kruise/pkg/controller/cloneset"
	"github.com/openkruise/kruise/pkg/util/fieldindex"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

func main() {
	flag.Parse()
	ctrl.SetLogger(klog.Background())
	config := ctrl.GetConfigOrDie()
	must(client.NewRegistry(config))
	must(appsv1alpha1.AddToScheme(scheme.Scheme))
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:  scheme.Scheme,
		Metrics: metrics.Options{BindAddress: "0"},
	})
	must(err)
	must(fieldindex.RegisterFieldIndexes(manager.GetCache()))
	must(cloneset.Add(manager))
	must(manager.Start(ctrl.SetupSignalHandler()))
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
