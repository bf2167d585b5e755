package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"sync"
)

// proxy stands in front of a cluster's API server. It passes everything on as it is, writes down what passed, and
// misbehaves where it was told to (see proxy_faults.go).
type proxy struct {
	cluster     *cluster
	id          string
	address     string
	kubeconfigs map[string]string // by user
	forward     *httputil.ReverseProxy
	server      *http.Server
	closed      chan struct{}

	mutex     sync.Mutex
	stopped   bool
	exchanges []*exchange
	faults    []*fault
	held      chan struct{} // closed and made anew whenever a request begins to wait
}

type (
	connectionKey struct{}
	exchangeKey   struct{}
)

// errReset has the client's connection closed.
var errReset = errors.New("the connection is to be closed")

func newProxy(c *cluster, id string) (*proxy, error) {
	target, err := url.Parse(c.server)
	if err != nil {
		return nil, err
	}
	p := &proxy{cluster: c, id: id, closed: make(chan struct{}), held: make(chan struct{})}
	silent := log.New(io.Discard, "", 0) // what a client does to its connections is in the list of requests
	p.forward = &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:      newTransport(c.credentials.caPEM),
		FlushInterval:  -1, // a watch has its events at once
		ModifyResponse: p.answered,
		// A server that cannot be reached answers nothing: neither does the proxy.
		ErrorHandler: func(_ http.ResponseWriter, r *http.Request, _ error) { reset(r) },
		ErrorLog:     silent,
	}
	p.server = &http.Server{
		Handler:  p,
		ErrorLog: silent,
		ConnContext: func(ctx context.Context, connection net.Conn) context.Context {
			return context.WithValue(ctx, connectionKey{}, connection)
		},
	}
	return p, p.start()
}

// newTransport makes one connection per request: on one that is used again it could not be told whether a request
// was lost before it arrived or after, and the transport might send it twice.
func newTransport(ca []byte) *http.Transport {
	return &http.Transport{
		TLSClientConfig:    trusting(ca),
		DisableCompression: true, // what the client accepts is for the client to say
		DisableKeepAlives:  true,
	}
}

// start listens, and writes a kubeconfig for every user.
func (p *proxy) start() error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	p.address = "https://" + listener.Addr().String()
	dir := filepath.Join(p.cluster.dir, "proxies", p.id)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return errors.Join(err, listener.Close())
	}
	if p.kubeconfigs, err = p.cluster.credentials.writeKubeconfigs(dir, p.address); err != nil {
		return errors.Join(err, listener.Close())
	}
	files := p.cluster.credentials
	go p.server.ServeTLS(listener, files.path("server.crt"), files.path("server.key"))
	return nil
}

// stop closes all connections. What is held is lost.
func (p *proxy) stop() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if !p.stopped {
		p.stopped = true
		close(p.closed)
		p.server.Close()
	}
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // half a request is none
	}
	x, f := p.arrive(r, body)
	defer p.note(func() { x.Done = true })
	w = &answerRecorder{ResponseWriter: w, proxy: p, exchange: x}
	if f != nil && !f.After {
		switch f.Action {
		case answer:
			f.write(w)
			return
		case closeConnection:
			reset(r)
		case wait:
			if !p.wait(f, x) {
				reset(r)
			}
		case carryOut:
			body = withoutDryRun(r, body)
		}
	}
	p.pass(w, r, x, body)
}

// pass lets the server answer.
func (p *proxy) pass(w http.ResponseWriter, r *http.Request, x *exchange, body []byte) {
	ctx := context.WithValue(r.Context(), exchangeKey{}, x)
	if x.fault != nil && x.fault.Action != moveDate {
		// What was on its way arrives, also when whoever sent it has gone meanwhile.
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(context.WithoutCancel(ctx))
		defer cancel()
	}
	out := r.WithContext(ctx)
	out.Body = io.NopCloser(bytes.NewReader(body))
	out.ContentLength = int64(len(body))
	p.note(func() { x.Forwarded = true })
	p.forward.ServeHTTP(w, out)
}

// answered sees what the server says before the client does.
func (p *proxy) answered(response *http.Response) error {
	x := response.Request.Context().Value(exchangeKey{}).(*exchange)
	p.note(func() { x.ServerStatus = response.StatusCode })
	f := x.fault
	if f != nil && f.Action == moveDate {
		return f.moveClock(response)
	}
	if f == nil || !f.After {
		return nil
	}
	// Only when its answer is read to the end is the server done with the request, and has it in its audit log.
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	switch f.Action {
	case answer:
		f.replace(response)
	case closeConnection:
		return errReset
	case wait:
		if !p.wait(f, x) {
			return errReset
		}
	case cutBody:
		cut(response, body)
	}
	return nil
}

// reset closes the TCP connection that a request came on, as a load balancer that lost its state does. It does not
// return.
func reset(r *http.Request) {
	if connection, ok := r.Context().Value(connectionKey{}).(*tls.Conn); ok {
		if tcp, ok := connection.NetConn().(*net.TCPConn); ok {
			tcp.SetLinger(0) // RST instead of FIN
		}
		connection.NetConn().Close()
	}
	panic(http.ErrAbortHandler)
}
