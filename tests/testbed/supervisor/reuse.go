package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// An API server takes three seconds of a core to start, and most of what a test leaves behind is objects. So etcd and
// the API server of a cluster that has ended serve the next one that asks for the same: every other program is
// started anew, and etcd holds what it held when the API server had just begun.

const (
	registry = "/registry/"
	// mostIdle bounds the memory that API servers without a cluster take, some 300 MiB each.
	mostIdle = 6
	// resetPause is above the second after which admission has forgotten a policy that is gone
	// (k8s.io/apiserver, admission/plugin/policy/generic: policyRefreshInterval).
	resetPause    = 2 * time.Second
	resetPatience = 20 * time.Second
	resetInterval = 250 * time.Millisecond
	birthPatience = 5 * time.Second
)

// bornWith is what the API server itself creates within its first second.
var bornWith = []string{
	"/registry/namespaces/default",
	"/registry/namespaces/kube-node-lease",
	"/registry/namespaces/kube-public",
	"/registry/namespaces/kube-system",
	"/registry/services/specs/default/kubernetes",
	"/registry/configmaps/kube-system/extension-apiserver-authentication",
}

// itsOwn are keys that the API server goes on writing to.
var itsOwn = []string{
	"/registry/flowschemas/",
	"/registry/ipaddresses/",
	"/registry/leases/kube-system/apiserver-",
	"/registry/prioritylevelconfigurations/",
	"/registry/ranges/",
	"/registry/servicecidrs/",
}

// ofControlPlane are the components that every cluster defines.
var ofControlPlane = []string{"etcd", "apiserver", "kcm", "scheduler", "kwok"}

// birth is what a cluster was before anything but its API server ran.
type birth struct {
	kind   string            // of the request, see reuseKind
	values map[string]string // what etcd held
	apis   string            // what discovery said
}

// reuseKind names what an API server must have in common with another to stand for it; empty: none can.
func (o *clusterStart) reuseKind() string {
	if o.EtcdSeed != "" {
		return ""
	}
	return o.Version + " " + strings.Join(o.APIServerArgs, " ")
}

// remember records what the cluster is now. Where that fails, the cluster is merely not used again.
func (c *cluster) remember(kind string) {
	for deadline := time.Now().Add(birthPatience); kind != "" && time.Now().Before(deadline); time.Sleep(pollInterval) {
		values, err := c.stored()
		if err != nil {
			fmt.Fprintf(os.Stderr, "testbed: %s will not be used again: %v\n", c.id, err)
			return
		}
		if slices.ContainsFunc(bornWith, func(key string) bool { return values[key] == "" }) {
			continue
		}
		if apis, err := c.served(); err == nil {
			c.birth = &birth{kind, values, apis}
		}
		return
	}
}

// spoil says of a cluster that something was written past its API server, which that may be unable to read.
func (s *supervisor) spoil(id string) {
	if c, err := s.cluster(id); err == nil {
		c.spoil()
	}
}

// spoil says that a cluster may not be used again.
func (c *cluster) spoil() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.birth = nil
}

// retire ends a cluster that nobody finds any more, and lets another have its API server if that can be made as it was.
func (c *cluster) retire() {
	born := c.bornAs()
	if born == nil || c.supervisor.keep || !c.serves() {
		c.stop()
		return
	}
	c.halt(func(name string) bool { return name != "etcd" && name != "apiserver" })
	s := c.supervisor
	s.count(s.resetting, born.kind, 1)
	go func() {
		defer s.count(s.resetting, born.kind, -1)
		if err := c.reset(born); err != nil {
			fmt.Fprintf(os.Stderr, "testbed: %s is not used again: %v\n", c.id, err)
			c.stop()
		} else {
			s.keepIdle(c)
		}
	}()
}

func (c *cluster) bornAs() *birth {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.birth
}

// serves says whether both programs run that are used again.
func (c *cluster) serves() bool { return c.runs("etcd") && c.runs("apiserver") }

func (s *supervisor) count(what map[string]int, kind string, by int) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	what[kind] += by
}

// reset makes etcd what it was, and waits until the API server has seen that.
func (c *cluster) reset(born *birth) error {
	since := time.Now()
	for deadline := since.Add(resetPatience); time.Now().Before(deadline); time.Sleep(resetInterval) {
		same, err := c.restore(born)
		if err != nil {
			return err
		}
		if !same {
			since = time.Now()
		}
		if time.Since(since) > resetPause && c.isSeenAs(born) {
			return c.clear()
		}
	}
	return fmt.Errorf("it cannot be made as it was within %v", resetPatience)
}

// clear removes the files of whatever used the cluster.
func (c *cluster) clear() error {
	files := []string{"etcd", "credentials", "logs", "audit-policy.yaml", filepath.Base(c.auditLog())}
	logs := []string{"etcd.log", "apiserver.log"}
	for folder, kept := range map[string][]string{c.dir: files, filepath.Join(c.dir, "logs"): logs} {
		entries, err := os.ReadDir(folder)
		if err != nil {
			return err
		}
		for _, entry := range entries {
			if slices.Contains(kept, entry.Name()) {
				continue
			}
			if err := os.RemoveAll(filepath.Join(folder, entry.Name())); err != nil {
				return err
			}
		}
	}
	return os.Truncate(c.auditLog(), 0)
}

// restore says whether there was nothing to do.
func (c *cluster) restore(born *birth) (bool, error) {
	values, err := c.stored()
	if err != nil {
		return false, err
	}
	var ops []clientv3.Op
	for key := range values {
		if _, known := born.values[key]; !known {
			ops = append(ops, clientv3.OpDelete(key))
		}
	}
	for key, value := range born.values {
		if values[key] != value {
			ops = append(ops, clientv3.OpPut(key, value))
		}
	}
	if len(ops) == 0 {
		return true, nil
	}
	return false, c.withEtcd(func(ctx context.Context, client *clientv3.Client) error {
		for batch := range slices.Chunk(ops, seedBatchItems) {
			if _, err := client.Txn(ctx).Then(batch...).Commit(); err != nil {
				return err
			}
		}
		return nil
	})
}

// stored is what etcd holds, without what the API server goes on writing.
func (c *cluster) stored() (map[string]string, error) {
	var answer *clientv3.GetResponse
	err := c.withEtcd(func(ctx context.Context, client *clientv3.Client) error {
		var err error
		answer, err = client.Get(ctx, registry, clientv3.WithPrefix())
		return err
	})
	if err != nil {
		return nil, err
	}
	values := map[string]string{}
	for _, one := range answer.Kvs {
		key := string(one.Key)
		if !slices.ContainsFunc(itsOwn, func(prefix string) bool { return strings.HasPrefix(key, prefix) }) {
			values[key] = string(one.Value)
		}
	}
	return values, nil
}

// served is which groups and versions the API server offers.
func (c *cluster) served() (string, error) {
	var groups json.RawMessage
	err := c.api.get("/apis", &groups)
	return string(groups), err
}

// isSeenAs says whether the API server's caches hold as much as they did.
func (c *cluster) isSeenAs(born *birth) bool {
	apis, err := c.served()
	if err != nil || apis != born.apis {
		return false
	}
	for _, path := range []string{
		"/api/v1/namespaces",
		"/api/v1/persistentvolumes",
		"/api/v1/resourcequotas",
		"/apis/storage.k8s.io/v1/storageclasses",
		"/apis/rbac.authorization.k8s.io/v1/roles",
		"/apis/rbac.authorization.k8s.io/v1/rolebindings",
		"/apis/rbac.authorization.k8s.io/v1/clusterroles",
		"/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
		"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
		"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
		"/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
		"/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
	} {
		count := 0
		prefix := registry + path[strings.LastIndex(path, "/")+1:] + "/"
		for key := range born.values {
			if strings.HasPrefix(key, prefix) {
				count++
			}
		}
		var list struct{ Items []struct{} }
		if err := c.api.get(path+"?resourceVersion=0", &list); err != nil || len(list.Items) != count {
			return false
		}
	}
	return true
}

// keepIdle keeps it, unless somebody has touched it meanwhile. Where there is no room, that which has waited longest ends.
func (s *supervisor) keepIdle(c *cluster) {
	if out := s.makeIdle(c); out != nil {
		out.stop()
	}
}

// makeIdle returns the one that has to end.
func (s *supervisor) makeIdle(c *cluster) *cluster {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.closed || c.bornAs() == nil {
		return c
	}
	s.idle = append(s.idle, c)
	if len(s.idle) <= mostIdle {
		return nil
	}
	oldest := s.idle[0]
	s.idle = slices.Delete(s.idle, 0, 1)
	return oldest
}

// reuse returns a cluster that is as if it had just been born, if there is one of this kind, or soon will be.
func (s *supervisor) reuse(kind string) *cluster {
	s.count(s.awaited, kind, 1)
	defer s.count(s.awaited, kind, -1)
	for ; ; time.Sleep(pollInterval) {
		c, more := s.takeIdle(kind)
		if c == nil && !more {
			return nil
		}
		if c == nil {
			continue
		}
		if _, err := c.served(); err == nil && c.serves() {
			return c
		}
		c.stop()
	}
}

// takeIdle also says whether there is one to be waited for. The cluster is another one than that which had the servers:
// who still has to do with the old one finds nothing.
func (s *supervisor) takeIdle(kind string) (*cluster, bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	isOfKind := func(c *cluster) bool {
		born := c.bornAs()
		return born != nil && born.kind == kind
	}
	i := slices.IndexFunc(s.idle, isOfKind)
	if i < 0 {
		return nil, s.resetting[kind] >= s.awaited[kind]
	}
	old := s.idle[i]
	s.idle = slices.Delete(s.idle, i, i+1)
	c := s.registered()
	c.dir, c.version, c.etcdURL, c.server = old.dir, old.version, old.etcdURL, old.server
	c.credentials, c.kubeconfigs, c.api = old.credentials, old.kubeconfigs, old.api
	c.birth, c.sockets = old.bornAs(), old.sockets
	for _, name := range ofControlPlane {
		if one, defined := old.components[name]; defined {
			c.components[name] = one
		}
	}
	return c, false
}
