package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// maxRequest bounds one line; objects put into etcd travel in requests.
const maxRequest = 64 << 20

var errShutdown = errors.New("shutdown")

// operation is what a request asks for: it is decoded from the request itself, and then run.
type operation interface {
	run(*supervisor) (any, error)
}

// operations maps the name in a request to a new, empty operation of that kind.
var operations = map[string]func() operation{
	"ping":                      func() operation { return &ping{} },
	"cluster.start":             func() operation { return &clusterStart{} },
	"cluster.stop":              func() operation { return &clusterStop{} },
	"cluster.restart-apiserver": func() operation { return &clusterRestartAPIServer{} },
	"component.start":           func() operation { return &componentStart{} },
	"component.stop":            func() operation { return &componentStop{} },
	"component.signal":          func() operation { return &componentSignal{} },
	"driver.start":              func() operation { return &driverStart{} },
	"driver.stop":               func() operation { return &driverStop{} },
	"driver.resume":             func() operation { return &driverResume{} },
	"driver.rbac":               func() operation { return &driverRBAC{} },
	"local-path.start":          func() operation { return &localPathStart{} },
	"proxy.start":               func() operation { return &proxyStart{} },
	"proxy.stop":                func() operation { return &proxyStop{} },
	"proxy.fault":               func() operation { return &proxyFault{} },
	"proxy.clear":               func() operation { return &proxyClear{} },
	"proxy.held":                func() operation { return &proxyHeld{} },
	"proxy.release":             func() operation { return &proxyRelease{} },
	"proxy.requests":            func() operation { return &proxyRequests{} },
	"snapshots.install":         func() operation { return &snapshotsInstall{} },
	"etcd.put":                  func() operation { return &etcdPut{} },
	"etcd.get":                  func() operation { return &etcdGet{} },
	"etcd.delete":               func() operation { return &etcdDelete{} },
}

// header is the part of a request that is the same for all of them.
type header struct {
	ID json.RawMessage `json:"id"`
	Op string          `json:"op"`
}

type reply struct {
	ID    json.RawMessage `json:"id"`
	OK    any             `json:"ok,omitempty"`
	Error string          `json:"error,omitempty"`
}

// serve answers requests until stdin ends or one asks for a shutdown. Requests run beside each other, so a reply
// may overtake another; whoever needs an order waits for the reply.
func (s *supervisor) serve(in io.Reader, out io.Writer) error {
	var writing sync.Mutex
	answer := func(id json.RawMessage, ok any, err error) {
		r := reply{ID: id, OK: ok}
		if err != nil {
			r = reply{ID: id, Error: err.Error()}
		}
		line, err := json.Marshal(r)
		if err != nil {
			line, _ = json.Marshal(reply{ID: id, Error: "the reply cannot be encoded: " + err.Error()})
		}
		writing.Lock()
		defer writing.Unlock()
		out.Write(append(line, '\n'))
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxRequest)
	for lines.Scan() {
		line := bytes.Clone(lines.Bytes())
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		id, op, err := decode(line)
		if errors.Is(err, errShutdown) {
			s.close()
			answer(id, struct{}{}, nil)
			return nil
		}
		if err != nil {
			answer(id, nil, err)
			continue
		}
		go func() {
			ok, err := op.run(s)
			answer(id, ok, err)
		}()
	}
	return lines.Err()
}

// decode refuses fields that the operation does not know: a misspelt option must not pass for its default.
func decode(line []byte) (json.RawMessage, operation, error) {
	fields := map[string]json.RawMessage{}
	var head header
	if err := errors.Join(json.Unmarshal(line, &fields), json.Unmarshal(line, &head)); err != nil {
		return nil, nil, fmt.Errorf("not a request: %w", err)
	}
	if head.Op == "shutdown" {
		return head.ID, nil, errShutdown
	}
	create, known := operations[head.Op]
	if !known {
		return head.ID, nil, fmt.Errorf("no operation is called %q", head.Op)
	}
	delete(fields, "id")
	delete(fields, "op")
	rest, err := json.Marshal(fields)
	if err != nil {
		return head.ID, nil, err
	}
	op := create()
	decoder := json.NewDecoder(bytes.NewReader(rest))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(op); err != nil {
		return head.ID, nil, fmt.Errorf("%s: %w", head.Op, err)
	}
	return head.ID, op, nil
}

type ping struct{}

func (*ping) run(*supervisor) (any, error) { return struct{}{}, nil }
