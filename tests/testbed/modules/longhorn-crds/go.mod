// Only its k8s/crds.yaml is wanted, so nothing here is compiled: do not run go mod tidy.
module kubectl-storage.testbed/longhorn-crds

go 1.26.0

require github.com/longhorn/longhorn-manager v1.9.0
