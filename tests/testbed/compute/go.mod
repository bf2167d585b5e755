module kubectl-storage.testbed/compute

go 1.26.0
