package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	maxEtcdRequest = 32 << 20

	// auditPolicy records what was asked for in writes, and that reads took place. Each request is one line,
	// written before the answer is.
	auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Request
  verbs: [create, update, patch, delete, deletecollection]
- level: Metadata
`

	// nodeAnnotation marks the nodes that kwok plays.
	nodeAnnotation = "kwok.x-k8s.io/node"
)

// leaderElection makes Leases that are evidence after seconds. A leader that cannot renew ends itself, so the
// deadline must be long enough for a busy machine.
var leaderElection = []string{
	"--leader-elect=true",
	"--leader-elect-lease-duration=10s",
	"--leader-elect-renew-deadline=8s",
	"--leader-elect-retry-period=1s",
}

// define registers a component that may be started now or later.
func (c *cluster) define(name, binary string, ready func(*component, time.Time) error, args ...string) error {
	path, err := c.supervisor.binary(binary)
	if err != nil {
		return err
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.components[name] = &component{
		name:  name,
		path:  path,
		args:  args,
		log:   filepath.Join(c.dir, "logs", strings.ReplaceAll(name, "/", "-")+".log"),
		ready: ready,
	}
	return nil
}

// defineLeader registers a component that works while it holds a Lease.
func (c *cluster) defineLeader(name, binary string, ready func(*component, time.Time) error, args ...string) error {
	if err := c.define(name, binary, ready, args...); err != nil {
		return err
	}
	found, err := c.component(name)
	if err == nil {
		found.leads = true
	}
	return err
}

func (c *cluster) defineEtcd() error {
	ports, err := freePorts(2)
	if err != nil {
		return err
	}
	c.etcdURL = "http://127.0.0.1:" + ports[0]
	peer := "http://127.0.0.1:" + ports[1]
	return c.define("etcd", "etcd", func(*component, time.Time) error {
		connection, err := net.Dial("tcp", "127.0.0.1:"+ports[0])
		if err == nil {
			connection.Close()
		}
		return err
	},
		"--name=default",
		"--data-dir="+filepath.Join(c.dir, "etcd"),
		"--listen-client-urls="+c.etcdURL,
		"--advertise-client-urls="+c.etcdURL,
		"--listen-peer-urls="+peer,
		"--initial-advertise-peer-urls="+peer,
		"--initial-cluster=default="+peer,
		"--unsafe-no-fsync",
		"--log-level=warn",
		// It elects itself; with the defaults it waits a second for others, and each tick takes time from a dozen idle ones.
		"--heartbeat-interval=50", "--election-timeout=250",
		"--max-txn-ops="+strconv.Itoa(seedBatchItems),
		"--max-request-bytes="+strconv.Itoa(maxEtcdRequest),
		"--quota-backend-bytes="+strconv.Itoa(8<<30),
	)
}

func (c *cluster) defineAPIServer(binary string) error {
	ports, err := freePorts(1)
	if err != nil {
		return err
	}
	c.server = "https://127.0.0.1:" + ports[0]
	policy := filepath.Join(c.dir, "audit-policy.yaml")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return err
	}
	// Appends to what exists; a file that it made itself would get holes when it is emptied (lumberjack).
	if err := os.WriteFile(c.auditLog(), nil, 0o600); err != nil {
		return err
	}
	return c.define("apiserver", binary, func(*component, time.Time) error { return c.api.do("GET", "/readyz", "", nil, nil) },
		"--etcd-servers="+c.etcdURL,
		"--bind-address=127.0.0.1",
		"--secure-port="+ports[0],
		"--tls-cert-file="+c.credentials.path("server.crt"),
		"--tls-private-key-file="+c.credentials.path("server.key"),
		"--client-ca-file="+c.credentials.path("ca.crt"),
		"--token-auth-file="+c.credentials.path("tokens.csv"),
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file="+c.credentials.path("service-accounts.key"),
		"--service-account-signing-key-file="+c.credentials.path("service-accounts.key"),
		"--service-cluster-ip-range=10.0.0.0/24",
		// Its own address is loopback, which may not be an endpoint.
		"--endpoint-reconciler-type=none",
		// Pods need no service account, so a test can create one without a controller manager.
		"--disable-admission-plugins=ServiceAccount",
		"--allow-privileged",
		"--audit-policy-file="+policy,
		"--audit-log-path="+c.auditLog(),
		"--audit-log-mode=blocking",
		"--audit-log-maxsize=100000",
	)
}

func (c *cluster) auditLog() string { return filepath.Join(c.dir, "audit.jsonl") }

func (c *cluster) defineKCM(binary string) error {
	const lease = "kube-controller-manager"
	err := c.defineLeader("kcm", binary, func(kcm *component, since time.Time) error {
		if kcm.hasFlag("--leader-elect=false") {
			return nil
		}
		return c.leaseRenewed("kube-system", lease, since)
	}, append(append([]string{}, leaderElection...),
		"--kubeconfig="+c.kubeconfigs["system:kube-controller-manager"],
		"--secure-port=0",
		"--controllers=*",
		// Each controller acts under its own name, as in a real cluster.
		"--use-service-account-credentials=true",
		"--service-account-private-key-file="+c.credentials.path("service-accounts.key"),
		"--root-ca-file="+c.credentials.path("ca.crt"),
		"--enable-hostpath-provisioner=true",
		"--pvclaimbinder-sync-period=2s",
		"--attach-detach-reconcile-sync-period=5s",
		"--kube-api-qps=300", "--kube-api-burst=600",
	)...)
	if err != nil {
		return err
	}
	// It does not give its Lease back when it ends. As it is known to be gone, a restart need not wait for the end
	// of that Lease.
	kcm, err := c.component("kcm")
	if err != nil {
		return err
	}
	kcm.prepare = func() error { return c.api.delete(leasePath("kube-system", lease)) }
	return nil
}

func (c *cluster) defineScheduler(binary string) error {
	return c.define("scheduler", binary, nil,
		"--kubeconfig="+c.kubeconfigs["system:kube-scheduler"],
		"--secure-port=0",
		"--leader-elect=false",
		"--kube-api-qps=300", "--kube-api-burst=600",
	)
}

func (c *cluster) defineKwok() error {
	return c.define("kwok", "kwok", nil,
		"--kubeconfig="+c.kubeconfigs["kwok"],
		"--config="+filepath.Join(c.supervisor.share, "kwok-stages.yaml"),
		"--manage-nodes-with-annotation-selector="+nodeAnnotation+"=fake",
		"--node-ip=127.0.0.1",
		"--cidr=10.1.0.0/16",
	)
}

func leasePath(namespace, name string) string {
	return "/apis/coordination.k8s.io/v1/namespaces/" + namespace + "/leases/" + name
}

// leaseRenewed says whether a leader has been at work since a time.
func (c *cluster) leaseRenewed(namespace, name string, since time.Time) error {
	var lease struct {
		Spec struct {
			HolderIdentity string
			RenewTime      time.Time
		}
	}
	if err := c.api.get(leasePath(namespace, name), &lease); err != nil {
		return err
	}
	if lease.Spec.HolderIdentity == "" || lease.Spec.RenewTime.Before(since) {
		return fmt.Errorf("lease %s/%s: nobody leads yet", namespace, name)
	}
	return nil
}

// freePorts finds ports that nobody listens on. Another program can take one before we do, which is why a cluster
// that fails to start for that reason is started once more (see clusterStart).
func freePorts(n int) ([]string, error) {
	ports := make([]string, n)
	for i := range ports {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer listener.Close()
		_, ports[i], _ = net.SplitHostPort(listener.Addr().String())
	}
	return ports, nil
}
