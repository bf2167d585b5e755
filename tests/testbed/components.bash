# What the testbed is built from. Read by `build`.
#
# component NAME FOLDER LDFLAGS PACKAGE...
#   NAME      what `build --only` and `build --with` call it, and the start of its cache folder
#   FOLDER    the Go module that pins it, relative to this file
#   LDFLAGS   stamps its version; without that Kubernetes reports v0.0.0
#   PACKAGE   main packages; a binary is called as the package's last element, or as `=NAME` after it says
#
# A function `files_NAME OUT`, where there is one, copies files that the component needs at run time.

# The linker flags that make a Kubernetes binary report VERSION.
kubernetes_version() {
  local version=$1 package=k8s.io/component-base/version major minor
  IFS=. read -r major minor _ <<<"${version#v}"
  echo "-X $package.gitVersion=$version -X $package.gitMajor=$major -X $package.gitMinor=$minor"
}

# What the test command runs, and what the extended suite runs beside it (docs/development.md).
default_components=(kubernetes-1.36 etcd csi-provisioner kwok driver supervisor snapshot-crds promlint)
extended_components=(
  kubernetes-1.32 kubernetes-1.37 attacher snapshotter resizer gce-pd compute local-path csi-sanity krew helm promrules
  open-reports-crds longhorn-crds kubelet prometheus rollouts cloneset
)
extra_components=(kubernetes-1.29 popeye)

component kubernetes-1.36 modules/kubernetes-1.36 "$(kubernetes_version v1.36.3)" \
  k8s.io/kubernetes/cmd/{kube-apiserver,kube-controller-manager,kube-scheduler,kubectl}

# The last line in which the controller manager can still switch HonorPVReclaimPolicy off.
component kubernetes-1.32 modules/kubernetes-1.32 "$(kubernetes_version v1.32.2)" \
  k8s.io/kubernetes/cmd/kube-apiserver=kube-apiserver-1.32 \
  k8s.io/kubernetes/cmd/kube-controller-manager=kube-controller-manager-1.32

# The newest line: `KUBERNETES_VERSION=1.37.2` has scenarios run on it.
component kubernetes-1.37 modules/kubernetes-1.37 "$(kubernetes_version v1.37.2)" \
  k8s.io/kubernetes/cmd/kube-apiserver=kube-apiserver-1.37 \
  k8s.io/kubernetes/cmd/kube-controller-manager=kube-controller-manager-1.37 \
  k8s.io/kubernetes/cmd/kube-scheduler=kube-scheduler-1.37

# The oldest line that README promises, tried by hand: scenarios ask for discovery as later servers answer it.
component kubernetes-1.29 modules/kubernetes-1.29 "$(kubernetes_version v1.29.15)" \
  k8s.io/kubernetes/cmd/kube-apiserver=kube-apiserver-1.29 \
  k8s.io/kubernetes/cmd/kube-controller-manager=kube-controller-manager-1.29 \
  k8s.io/kubernetes/cmd/kube-scheduler=kube-scheduler-1.29

component etcd modules/etcd "" go.etcd.io/etcd/server/v3=etcd

component csi-provisioner modules/csi-provisioner "-X main.version=v6.3.0" \
  github.com/kubernetes-csi/external-provisioner/v6/cmd/csi-provisioner

component kwok modules/kwok "-X sigs.k8s.io/kwok/pkg/consts.Version=v0.8.0" sigs.k8s.io/kwok/cmd/kwok
files_kwok() {
  local stages
  stages=$(module_dir sigs.k8s.io/kwok)/kustomize/stage
  mkdir -p "$1/share"
  local file
  for file in "$stages"/pod/fast/pod-*.yaml "$stages"/node/{fast,heartbeat}/node-*.yaml; do
    echo '---'
    cat "$file"
  done >"$1/share/kwok-stages.yaml"
}

component csi-sanity modules/csi-sanity "-X main.VERSION=v5.6.0" github.com/kubernetes-csi/csi-test/v5/cmd/csi-sanity

component krew modules/krew "-X sigs.k8s.io/krew/internal/version.gitTag=v0.5.0" \
  sigs.k8s.io/krew/cmd/{krew,validate-krew-manifest}

component helm modules/helm "-X helm.sh/helm/v4/internal/version.version=v4.3.1" helm.sh/helm/v4/cmd/helm

component snapshot-crds modules/snapshot-crds ""
files_snapshot-crds() {
  mkdir -p "$1/share/snapshot-crds"
  cp "$(module_dir github.com/kubernetes-csi/external-snapshotter/client/v8)"/config/crd/*.yaml "$1/share/snapshot-crds/"
  chmod -R u+w "$1/share"
}

# A template of helm: who uses it fills in a namespace.
component longhorn-crds modules/longhorn-crds ""
files_longhorn-crds() {
  mkdir -p "$1/share/longhorn-crds"
  cp "$(module_dir github.com/longhorn/longhorn-manager)/k8s/crds.yaml" "$1/share/longhorn-crds/"
  chmod -R u+w "$1/share"
}

component open-reports-crds modules/open-reports-crds ""
files_open-reports-crds() {
  mkdir -p "$1/share/open-reports-crds"
  cp "$(module_dir github.com/openreports/reports-api)"/config/crd/*.yaml "$1/share/open-reports-crds/"
  chmod -R u+w "$1/share"
}

component driver driver "" .=testbed-csi-driver
component compute compute "" .=testbed-compute
component promlint promlint "" .=promlint
# The code that tests rules and makes blocks is promtool's own, which cannot be imported: it is compiled together with ours.
component promrules promrules ""
files_promrules() {
  mkdir "$1/source"
  cp go.mod go.sum main.go "$(module_dir github.com/prometheus/prometheus)"/cmd/promtool/{unittest,backfill}.go "$1/source"
  (cd "$1/source" && go build -ldflags '-s -w' -o "$1/bin/promrules" .)
  rm -rf "$1/source"
}
# As it is released, but for its pages and for the clouds in which it can look for targets.
component prometheus promrules ""
files_prometheus() {
  go build -tags remove_all_sd -ldflags '-s -w -X github.com/prometheus/common/version.Version=3.16.0' \
    -o "$1/bin/" github.com/prometheus/prometheus/cmd/prometheus
}

component supervisor supervisor "" .=testbed

# A real kubelet, of the version of the control plane.
component kubelet kubelet "$(kubernetes_version v1.36.3)" .=testbed-kubelet

component attacher modules/attacher "-X main.version=v4.13.0" \
  github.com/kubernetes-csi/external-attacher/v4/cmd/csi-attacher
component snapshotter modules/snapshotter "-X main.version=v8.7.0" \
  github.com/kubernetes-csi/external-snapshotter/v8/cmd/{csi-snapshotter,snapshot-controller}

component resizer modules/resizer "-X main.version=v2.3.0" github.com/kubernetes-csi/external-resizer/v2/cmd/csi-resizer

# Drivers that people run, as they were released.
component gce-pd modules/gce-pd "-X main.version=v1.28.1" \
  sigs.k8s.io/gcp-compute-persistent-disk-csi-driver/cmd/gce-pd-csi-driver
component local-path modules/local-path "-X main.VERSION=v0.0.30" github.com/rancher/local-path-provisioner

# Controllers of workloads that are custom resources.
component rollouts modules/rollouts "" github.com/argoproj/argo-rollouts/cmd/rollouts-controller
files_rollouts() {
  mkdir -p "$1/share/rollouts-crds"
  cp "$(module_dir github.com/argoproj/argo-rollouts)"/manifests/crds/*-crd.yaml "$1/share/rollouts-crds/"
  chmod -R u+w "$1/share"
}
component cloneset cloneset "" .=testbed-cloneset
files_cloneset() {
  mkdir -p "$1/share/cloneset-crds"
  cp "$(module_dir github.com/openkruise/kruise)"/config/crd/bases/apps.kruise.io_*.yaml "$1/share/cloneset-crds/"
  chmod -R u+w "$1/share"
}

component popeye modules/popeye "-X github.com/derailed/popeye/cmd.version=v0.22.1" github.com/derailed/popeye
