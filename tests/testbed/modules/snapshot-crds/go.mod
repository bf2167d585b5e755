// Only its config/crd folder is wanted, so nothing here is compiled: do not run go mod tidy.
module kubectl-storage.testbed/snapshot-crds

go 1.26.0

require github.com/kubernetes-csi/external-snapshotter/client/v8 v8.6.0
