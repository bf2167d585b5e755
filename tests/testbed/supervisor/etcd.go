package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"
	"unicode/utf8"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
)

const (
	etcdTimeout = 30 * time.Second
	// One transaction of a seed: far below the limits that etcd is started with.
	seedBatchBytes = 4 << 20
	seedBatchItems = 1000
	seedWriters    = 4
)

func (c *cluster) etcdClient() (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{
		Endpoints:          []string{c.etcdURL},
		DialTimeout:        etcdTimeout,
		MaxCallSendMsgSize: maxEtcdRequest,
		Logger:             zap.NewNop(),
	})
}

// entry is a line of a seed file and the subject of the etcd operations. An object is stored as JSON, which the
// API server reads as well as its own encoding; a string is stored as it is.
type entry struct {
	Key   string          `json:"key"`
	Value json.RawMessage `json:"value"`
}

func (e entry) bytes() (string, error) {
	var text string
	if len(e.Value) > 0 && e.Value[0] == '"' {
		err := json.Unmarshal(e.Value, &text)
		return text, err
	}
	return string(e.Value), nil
}

// seedEtcd writes a file of entries, one per line, before an API server looks.
func (c *cluster) seedEtcd(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	client, err := c.etcdClient()
	if err != nil {
		return err
	}
	defer client.Close()

	writers, ctx := errgroup.WithContext(context.Background())
	writers.SetLimit(seedWriters)
	var batch []clientv3.Op
	size := 0
	flush := func() {
		ops := batch
		batch, size = nil, 0
		if len(ops) > 0 {
			writers.Go(func() error {
				_, err := client.Txn(ctx).Then(ops...).Commit()
				return err
			})
		}
	}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, maxRequest)
	for number := 1; lines.Scan(); number++ {
		var e entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return fmt.Errorf("%s:%d: %w", path, number, err)
		}
		value, err := e.bytes()
		if err != nil || e.Key == "" || value == "" {
			return fmt.Errorf("%s:%d: a key and a value are needed", path, number)
		}
		batch = append(batch, clientv3.OpPut(e.Key, value))
		if size += len(value); size >= seedBatchBytes || len(batch) >= seedBatchItems {
			flush()
		}
	}
	flush()
	if err := writers.Wait(); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return lines.Err()
}

// withEtcd runs one short exchange with a cluster's etcd.
func (s *supervisor) withEtcd(id string, exchange func(context.Context, *clientv3.Client) (any, error)) (any, error) {
	c, err := s.cluster(id)
	if err != nil {
		return nil, err
	}
	var answer any
	err = c.withEtcd(func(ctx context.Context, client *clientv3.Client) error {
		var err error
		answer, err = exchange(ctx, client)
		return err
	})
	return answer, err
}

func (c *cluster) withEtcd(exchange func(context.Context, *clientv3.Client) error) error {
	client, err := c.etcdClient()
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), etcdTimeout)
	defer cancel()
	return exchange(ctx, client)
}

type etcdPut struct {
	Cluster string `json:"cluster"`
	entry
}

func (o *etcdPut) run(s *supervisor) (any, error) {
	value, err := o.bytes()
	if err != nil {
		return nil, err
	}
	s.spoil(o.Cluster)
	return s.withEtcd(o.Cluster, func(ctx context.Context, client *clientv3.Client) (any, error) {
		answer, err := client.Put(ctx, o.Key, value)
		if err != nil {
			return nil, err
		}
		return object{"revision": answer.Header.Revision}, nil
	})
}

type etcdGet struct {
	Cluster string `json:"cluster"`
	Key     string `json:"key"`
	Prefix  bool   `json:"prefix"`
}

// An object's own encoding in etcd is not JSON and is therefore shown in base64, which is what Go makes of bytes.
type storedEntry struct {
	Key    string          `json:"key"`
	JSON   json.RawMessage `json:"json,omitempty"`
	Text   string          `json:"text,omitempty"`
	Base64 []byte          `json:"base64,omitempty"`
}

func (o *etcdGet) run(s *supervisor) (any, error) {
	return s.withEtcd(o.Cluster, func(ctx context.Context, client *clientv3.Client) (any, error) {
		var options []clientv3.OpOption
		if o.Prefix {
			options = append(options, clientv3.WithPrefix())
		}
		answer, err := client.Get(ctx, o.Key, options...)
		if err != nil {
			return nil, err
		}
		found := []storedEntry{}
		for _, kv := range answer.Kvs {
			e := storedEntry{Key: string(kv.Key)}
			switch {
			case json.Valid(kv.Value):
				e.JSON = kv.Value
			case utf8.Valid(kv.Value):
				e.Text = string(kv.Value)
			default:
				e.Base64 = kv.Value
			}
			found = append(found, e)
		}
		return object{"entries": found}, nil
	})
}

type etcdDelete struct {
	Cluster string `json:"cluster"`
	Key     string `json:"key"`
	Prefix  bool   `json:"prefix"`
}

func (o *etcdDelete) run(s *supervisor) (any, error) {
	s.spoil(o.Cluster)
	return s.withEtcd(o.Cluster, func(ctx context.Context, client *clientv3.Client) (any, error) {
		var options []clientv3.OpOption
		if o.Prefix {
			options = append(options, clientv3.WithPrefix())
		}
		answer, err := client.Delete(ctx, o.Key, options...)
		if err != nil {
			return nil, err
		}
		return object{"deleted": answer.Deleted}, nil
	})
}
