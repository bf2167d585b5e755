// Only its config/crd folder is wanted, so nothing here is compiled: do not run go mod tidy.
module kubectl-storage.testbed/open-reports-crds

go 1.26.0

require github.com/openreports/reports-api v0.2.1
