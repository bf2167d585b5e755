package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
)

// exchange is a request that came to a proxy, and what became of it.
type exchange struct {
	Number      int    `json:"number"`
	Method      string `json:"method"`
	Path        string `json:"path"`
	Query       string `json:"query"`
	DryRun      bool   `json:"dry_run"`
	UserAgent   string `json:"user_agent"`
	Protocol    string `json:"protocol"`
	ContentType string `json:"content_type"`
	// Body is the request's JSON, or its text where it is none.
	Body any `json:"body"`
	// Fault names the fault that it met.
	Fault     string `json:"fault"`
	Forwarded bool   `json:"forwarded"`
	// ServerStatus is what the server answered, 0 where it did not.
	ServerStatus int `json:"server_status"`
	// Status is what the client was answered, 0 where it was not.
	Status int  `json:"status"`
	Done   bool `json:"done"`

	fault *fault
	watch bool
}

// arrive writes a request down, and says which fault it meets.
func (p *proxy) arrive(r *http.Request, body []byte) (*exchange, *fault) {
	x := &exchange{
		Method:      r.Method,
		Path:        r.URL.Path,
		Query:       r.URL.RawQuery,
		DryRun:      isDryRun(r.URL.Query(), body),
		UserAgent:   r.UserAgent(),
		Protocol:    r.Proto,
		ContentType: r.Header.Get("Content-Type"),
		Body:        readable(body),
		watch:       isWatch(r.URL.Query()),
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.exchanges = append(p.exchanges, x)
	x.Number = len(p.exchanges)
	for _, f := range p.faults {
		if f.meets(x, body) {
			x.Fault, x.fault = f.Fault, f
			break
		}
	}
	return x, x.fault
}

// note changes what is known of an exchange.
func (p *proxy) note(change func()) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	change()
}

// requests are all so far, in the order in which they came.
func (p *proxy) requests() []exchange {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	all := make([]exchange, 0, len(p.exchanges))
	for _, x := range p.exchanges {
		all = append(all, *x)
	}
	return all
}

// isDryRun looks where clients say so: in the query, or in the options that are the body of a deletion.
func isDryRun(query url.Values, body []byte) bool {
	if slices.Contains(query["dryRun"], "All") {
		return true
	}
	var options struct {
		DryRun []string `json:"dryRun"`
	}
	return json.Unmarshal(body, &options) == nil && slices.Contains(options.DryRun, "All")
}

func isWatch(query url.Values) bool {
	watch, err := strconv.ParseBool(query.Get("watch"))
	return err == nil && watch
}

func readable(body []byte) any {
	if len(body) == 0 {
		return nil
	}
	if json.Valid(body) {
		return json.RawMessage(bytes.Clone(body))
	}
	return string(body)
}

// answerRecorder writes down the status that the client gets.
type answerRecorder struct {
	http.ResponseWriter
	proxy    *proxy
	exchange *exchange
}

func (r *answerRecorder) WriteHeader(status int) {
	if status >= 200 {
		r.proxy.note(func() { r.exchange.Status = status })
	}
	r.ResponseWriter.WriteHeader(status)
}

// Unwrap lets the reverse proxy flush.
func (r *answerRecorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
