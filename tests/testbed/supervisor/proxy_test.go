package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// behindProxy is a server, a proxy in front of it, and a client of that proxy.
type behindProxy struct {
	*testing.T
	*proxy
	client *http.Client

	seen  sync.Mutex
	paths []string // that the server was asked for
}

func newBehindProxy(t *testing.T) *behindProxy {
	b := &behindProxy{T: t}
	c := &cluster{dir: t.TempDir()}
	var err error
	if c.credentials, err = newCredentials(c.dir + "/credentials"); err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: b}
	listener := httptest.NewUnstartedServer(nil).Listener
	go server.ServeTLS(listener, c.credentials.path("server.crt"), c.credentials.path("server.key"))
	t.Cleanup(func() { server.Close() })
	c.server = "https://" + listener.Addr().String()
	if b.proxy, err = newProxy(c, "p1"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.stop)
	b.client = &http.Client{Transport: &http.Transport{TLSClientConfig: trusting(c.credentials.caPEM), ForceAttemptHTTP2: true}}
	return b
}

// ServeHTTP is the server's side: it tells what it was asked.
func (b *behindProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	b.seen.Lock()
	b.paths = append(b.paths, r.URL.Path)
	b.seen.Unlock()
	fmt.Fprintf(w, "%s %s %s", r.Method, r.URL.RequestURI(), body)
	if isWatch(r.URL.Query()) {
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
}

func (b *behindProxy) served() []string {
	b.seen.Lock()
	defer b.seen.Unlock()
	return slices.Clone(b.paths)
}

func (b *behindProxy) set(spec faultSpec) {
	b.Helper()
	f, err := newFault(spec)
	if err != nil {
		b.Fatal(err)
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.faults = append(b.faults, f)
}

// ask returns the code and the text of the answer; the code is 0 when there is none.
func (b *behindProxy) ask(ctx context.Context, method, path, body string) (int, string) {
	b.Helper()
	request, err := http.NewRequestWithContext(ctx, method, b.address+path, strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	response, err := b.client.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	return response.StatusCode, response.Header.Get("Retry-After") + string(text)
}

func TestProxyPassesOnWhatItIsGiven(t *testing.T) {
	b := newBehindProxy(t)
	if code, text := b.ask(t.Context(), "PATCH", "/a%2Fb?dryRun=All&x=%20", `{"a":1}`); code != 200 || text != `PATCH /a%2Fb?dryRun=All&x=%20 {"a":1}` {
		t.Fatal(code, text)
	}
	x := b.requests()[0]
	if x.Number != 1 || x.Method != "PATCH" || x.Path != "/a/b" || x.Query != "dryRun=All&x=%20" || !x.DryRun ||
		!x.Forwarded || x.ServerStatus != 200 || x.Status != 200 || x.Protocol != "HTTP/2.0" {
		t.Fatalf("%+v", x)
	}
}

func TestProxyFaults(t *testing.T) {
	for _, c := range []struct {
		what         what
		code         int
		text         string
		forwarded    bool
		serverStatus int
	}{
		{what{Kind: "status", Code: 429, RetryAfter: 7}, 429, `7{"apiVersion":"v1","code":429,"details":{"retryAfterSeconds":7}`, false, 0},
		{what{Kind: "status", Code: 429, Text: "slow down"}, 429, "slow down", false, 0},
		{what{Kind: "status-after", Code: 504, Message: "late"}, 504, `"message":"late","metadata":{},"reason":"Timeout"`, true, 200},
		{what{Kind: "reset-before"}, 0, "", false, 0},
		{what{Kind: "reset-after"}, 0, "", true, 200},
	} {
		t.Run(c.what.Kind, func(t *testing.T) {
			b := newBehindProxy(t)
			b.set(faultSpec{Fault: "f", What: c.what})
			code, text := b.ask(t.Context(), "PATCH", "/x", "{}")
			if code != c.code || !strings.Contains(text, c.text) {
				t.Fatal(code, text)
			}
			all := b.requests()
			if x := all[0]; len(all) != 1 || x.Fault != "f" || x.Forwarded != c.forwarded || x.ServerStatus != c.serverStatus || x.Status != c.code {
				t.Fatalf("%+v", all)
			}
			if served := len(b.served()) == 1; served != c.forwarded {
				t.Fatal(b.served())
			}
		})
	}
}

func TestProxyFaultsMeetOnlyWhatTheyAreAbout(t *testing.T) {
	b := newBehindProxy(t)
	yes, no := true, false
	refuse := func(code int) what { return what{Kind: "status", Code: code} }
	b.set(faultSpec{Fault: "second and third", Match: matchSpec{Path: "^/counted$"}, Skip: 1, Times: 2, What: refuse(500)})
	b.set(faultSpec{Fault: "the one after", Match: matchSpec{Path: "^/counted$"}, Skip: 1, Times: 1, What: refuse(501)})
	b.set(faultSpec{Fault: "dry", Match: matchSpec{Method: "DELETE", DryRun: &yes}, What: refuse(502)})
	b.set(faultSpec{Fault: "real", Match: matchSpec{Method: "DELETE", DryRun: &no, Body: "precon", Query: "^a=1$"}, What: refuse(503)})
	b.set(faultSpec{Fault: "endless", Match: matchSpec{Path: "^/watched$"}, What: what{Kind: "reset-after"}})
	for _, c := range []struct {
		method, path, body string
		code               int
	}{
		{"GET", "/counted", "", 200},
		{"GET", "/counted", "", 500},
		{"GET", "/counted", "", 500},
		{"GET", "/counted", "", 501}, // of the two before, the second fault saw none
		{"GET", "/counted", "", 200},
		{"DELETE", "/x?dryRun=All", "", 502},
		{"DELETE", "/x", `{"dryRun":["All"]}`, 502},
		{"DELETE", "/x?a=1", `{"preconditions":{}}`, 503},
		{"DELETE", "/x?a=12", `{"preconditions":{}}`, 200},
		{"DELETE", "/x?a=1", `{}`, 200},
		{"PATCH", "/x?dryRun=All", "", 200},
		{"GET", "/watched", "", 0},
	} {
		if code, text := b.ask(t.Context(), c.method, c.path, c.body); code != c.code {
			t.Errorf("%+v: %d %s", c, code, text)
		}
	}
}

func TestProxyPassesWatchesOnAtOnce(t *testing.T) {
	b := newBehindProxy(t)
	b.set(faultSpec{Fault: "endless", What: what{Kind: "reset-after"}})
	response, err := b.client.Get(b.address + "/watched?watch=true")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	first := make([]byte, 3)
	if _, err := io.ReadFull(response.Body, first); err != nil || string(first) != "GET" {
		t.Fatal(string(first), err)
	}
}

func TestProxyMovesTheClock(t *testing.T) {
	for _, path := range []string{"/x", "/watched?watch=true"} {
		for _, days := range []int{3, -3} {
			b := newBehindProxy(t)
			b.set(faultSpec{Fault: "f", What: what{Kind: "clock", Ahead: days * 24 * 3600}})
			response, err := b.client.Get(b.address + path)
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			date, err := http.ParseTime(response.Header.Get("Date"))
			if off := time.Since(date) + time.Duration(days)*24*time.Hour; err != nil || off.Abs() > time.Minute {
				t.Errorf("%s, %d days: %v, off by %v", path, days, err, off)
			}
		}
	}
}

func TestProxyHolds(t *testing.T) {
	for kind, servedMeanwhile := range map[string]int{"hold": 0, "hold-after": 1} {
		t.Run(kind, func(t *testing.T) {
			b := newBehindProxy(t)
			b.set(faultSpec{Fault: "f", Times: 1, What: what{Kind: kind}})
			code := make(chan int)
			go func() {
				c, _ := b.ask(t.Context(), "PATCH", "/x", "{}")
				code <- c
			}()
			held, err := b.awaitHeld("f")
			if err != nil || len(held) != 1 || held[0].Path != "/x" || held[0].Status != 0 {
				t.Fatal(held, err)
			}
			if served := b.served(); len(served) != servedMeanwhile {
				t.Fatal(served)
			}
			b.mutex.Lock()
			released := b.faults[0].letGo(true)
			b.mutex.Unlock()
			if c := <-code; c != 200 || released != 1 || len(b.served()) != 1 {
				t.Fatal(c, released, b.served())
			}
		})
	}
}

// Whoever sent a request may be gone when it arrives.
func TestProxyForwardsWhatItHeldForAClientThatIsGone(t *testing.T) {
	b := newBehindProxy(t)
	b.set(faultSpec{Fault: "f", What: what{Kind: "hold"}})
	ctx, goAway := context.WithCancel(t.Context())
	gone := make(chan struct{})
	go func() {
		b.ask(ctx, "PATCH", "/x", "{}")
		close(gone)
	}()
	if _, err := b.awaitHeld("f"); err != nil {
		t.Fatal(err)
	}
	goAway()
	<-gone
	b.mutex.Lock()
	b.faults[0].letGo(true)
	b.mutex.Unlock()
	for deadline := time.Now().Add(startPatience); len(b.served()) == 0; time.Sleep(pollInterval) {
		if time.Now().After(deadline) {
			t.Fatal("it never arrived")
		}
	}
}

func TestProxyLosesWhatItHoldsWhenItIsStopped(t *testing.T) {
	b := newBehindProxy(t)
	b.set(faultSpec{Fault: "f", What: what{Kind: "hold"}})
	code := make(chan int)
	go func() {
		c, _ := b.ask(t.Context(), "PATCH", "/x", "{}")
		code <- c
	}()
	if _, err := b.awaitHeld("f"); err != nil {
		t.Fatal(err)
	}
	b.stop()
	if c := <-code; c != 0 || len(b.served()) != 0 {
		t.Fatal(c, b.served())
	}
}

func TestFaultsThatMakeNoSenseAreRefused(t *testing.T) {
	for want, spec := range map[string]faultSpec{
		"no kind of fault":   {Fault: "f", What: what{Kind: "explode"}},
		"needs a name":       {What: what{Kind: "hold"}},
		"none is negative":   {Fault: "f", Skip: -1, What: what{Kind: "hold"}},
		"no code to answer":  {Fault: "f", What: what{Kind: "status"}},
		"answers nothing":    {Fault: "f", What: what{Kind: "hold", Code: 500}},
		"only a clock":       {Fault: "f", What: what{Kind: "hold", Ahead: 1}},
		"by some seconds":    {Fault: "f", What: what{Kind: "clock"}},
		"error parsing rege": {Fault: "f", Match: matchSpec{Body: "("}, What: what{Kind: "hold"}},
	} {
		if _, err := newFault(spec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
