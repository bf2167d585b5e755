package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
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

// spoil says that a cluster may not be used again.
func (c *cluster) spoil() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.birth = nil
}

// retire ends a cluster, and lets another have its API server if that can be made as it was.
func (c *cluster) retire() {
	c.mutex.Lock()
	born := c.birth
	c.mutex.Unlock()
	if born == nil || c.supervisor.keep || !c.runs("etcd") || !c.runs("apiserver") {
		c.stop()
		return
	}
	c.halt(func(name string) bool { return name != "etcd" && name != "apiserver" })
	s := c.supervisor
	s.forget(c)
	s.count(s.resetting, born.kind, 1)
	go func() {
		err := c.reset(born)
		if err != nil || !s.keepIdle(c) {
			c.stop()
		}
		s.count(s.resetting, born.kind, -1)
	}()
}

func (s *supervisor) count(what map[string]int, kind string, by int) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	what[kind] += by
}

// reset makes etcd what it was, and waits until the API server has seen that.
func (c *cluster) reset(born *birth) error {
	since := time.Now()
	for time.Since(since) < resetPatience {
		same, err := c.restore(born)
		if err != nil {
			return err
		}
		if same && time.Since(since) > resetPause && c.isSeenAs(born) {
			os.RemoveAll(c.dir + "/drivers")
			return os.Truncate(c.auditLog(), 0)
		}
		time.Sleep(resetInterval)
	}
	return fmt.Errorf("cluster %s cannot be made as it was", c.id)
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
	client, err := c.etcdClient()
	if err != nil {
		return false, err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), etcdTimeout)
	defer cancel()
	for batch := range slices.Chunk(ops, seedBatchItems) {
		if _, err := client.Txn(ctx).Then(batch...).Commit(); err != nil {
			return false, err
		}
	}
	return false, nil
}

// stored is what etcd holds, without what the API server goes on writing.
func (c *cluster) stored() (map[string]string, error) {
	client, err := c.etcdClient()
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), etcdTimeout)
	defer cancel()
	answer, err := client.Get(ctx, registry, clientv3.WithPrefix())
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

// isSeenAs says whether the API server's caches are as they were.
func (c *cluster) isSeenAs(born *birth) bool {
	apis, err := c.served()
	if err != nil || apis != born.apis {
		return false
	}
	for path, prefix := range map[string]string{
		"/api/v1/namespaces":                                     "namespaces/",
		"/api/v1/persistentvolumes":                              "persistentvolumes/",
		"/apis/rbac.authorization.k8s.io/v1/clusterroles":        "clusterroles/",
		"/apis/rbac.authorization.k8s.io/v1/clusterrolebindings": "clusterrolebindings/",
	} {
		count := 0
		for key := range born.values {
			if strings.HasPrefix(key, registry+prefix) {
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

// keepIdle says whether there was room.
func (s *supervisor) keepIdle(c *cluster) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.closed || len(s.idle) >= mostIdle {
		return false
	}
	s.idle = append(s.idle, c)
	return true
}

// reuse returns a cluster that is as if it had just been born, if there is one of this kind, or soon will be.
func (s *supervisor) reuse(kind string) *cluster {
	s.count(s.awaited, kind, 1)
	defer s.count(s.awaited, kind, -1)
	for ; ; time.Sleep(pollInterval) {
		c, more := s.takeIdle(kind)
		if c != nil || !more {
			return c
		}
	}
}

// takeIdle also says whether there is one to be waited for.
func (s *supervisor) takeIdle(kind string) (*cluster, bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	i := slices.IndexFunc(s.idle, func(c *cluster) bool { return c.birth.kind == kind })
	if i < 0 || kind == "" {
		return nil, s.resetting[kind] >= s.awaited[kind]
	}
	c := s.idle[i]
	s.idle = slices.Delete(s.idle, i, i+1)
	c.context, c.end = context.WithCancel(context.Background())
	c.drivers = map[string]*driver{}
	c.nodes = nil
	for name := range c.components {
		if !slices.Contains(ofControlPlane, name) {
			delete(c.components, name)
		}
	}
	s.clusters[c.id] = c
	return c, false
}
