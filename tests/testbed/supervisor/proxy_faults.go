package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// action is what a fault does, either before the request is forwarded or after the server has answered it.
type action int

const (
	answer          action = iota // something else than the server would
	closeConnection               // without an answer
	wait                          // until released
	moveDate                      // of the server's answer, as if its clock were wrong
	cutBody                       // in the middle of the server's answer
	carryOut                      // what was sent as a dry run
)

type kind struct {
	Action action
	After  bool // the server has answered
}

var kinds = map[string]kind{
	"status":       {answer, false},
	"status-after": {answer, true},
	"reset-before": {closeConnection, false},
	"reset-after":  {closeConnection, true},
	"hold":         {wait, false},
	"hold-after":   {wait, true},
	"clock":        {moveDate, false}, // a header: the answer need not be complete
	"cut-after":    {cutBody, true},
	"dry-is-real":  {carryOut, false},
}

// reasons are what an API server calls its answers.
var reasons = map[int]string{
	http.StatusBadRequest:          "BadRequest",
	http.StatusUnauthorized:        "Unauthorized",
	http.StatusForbidden:           "Forbidden",
	http.StatusNotFound:            "NotFound",
	http.StatusConflict:            "Conflict",
	http.StatusGone:                "Expired",
	http.StatusUnprocessableEntity: "Invalid",
	http.StatusTooManyRequests:     "TooManyRequests",
	http.StatusInternalServerError: "InternalError",
	http.StatusServiceUnavailable:  "ServiceUnavailable",
	http.StatusGatewayTimeout:      "Timeout",
}

// faultSpec is a fault as it is asked for.
type faultSpec struct {
	Fault string    `json:"fault"`
	Match matchSpec `json:"match"`
	// Skip is how many requests pass before it begins, Times how many meet it then, 0 for all.
	Skip  int  `json:"after"`
	Times int  `json:"times"`
	What  what `json:"what"`
}

type matchSpec struct {
	Method string `json:"method"`
	Path   string `json:"path"`
	Query  string `json:"query"`
	Body   string `json:"body"`
	DryRun *bool  `json:"dry_run"`
}

type what struct {
	Kind       string `json:"kind"`
	Code       int    `json:"code"`
	Reason     string `json:"reason"`
	Message    string `json:"message"`
	RetryAfter int    `json:"retry_after"`
	// Absent is the name of the object that a 404 says does not exist, as an API server does.
	Absent string `json:"absent"`
	// Text is answered instead of a Status, as by a load balancer or by the server's own queue.
	Text string `json:"text"`
	// Ahead is how many seconds the server's clock appears to be ahead; below zero, behind.
	Ahead int `json:"ahead"`
}

type fault struct {
	faultSpec
	kind
	path, query, body *regexp.Regexp

	// Beneath the proxy's mutex.
	matched int
	waiting []*waiting
}

func newFault(spec faultSpec) (*fault, error) {
	known, found := kinds[spec.What.Kind]
	if !found {
		return nil, fmt.Errorf("no kind of fault is called %q, there are %s",
			spec.What.Kind, strings.Join(slices.Sorted(maps.Keys(kinds)), ", "))
	}
	if spec.Fault == "" {
		return nil, fmt.Errorf("a fault needs a name, in the field %q", "fault")
	}
	if spec.Skip < 0 || spec.Times < 0 {
		return nil, fmt.Errorf("fault %s: after and times are numbers of requests, none is negative", spec.Fault)
	}
	if known.Action == answer && (spec.What.Code < 200 || spec.What.Code > 599) {
		return nil, fmt.Errorf("fault %s: %d is no code to answer with", spec.Fault, spec.What.Code)
	}
	if (known.Action == moveDate) != (spec.What.Ahead != 0) {
		return nil, fmt.Errorf("fault %s: only a clock is ahead, and it is by some seconds", spec.Fault)
	}
	if known.Action != answer && spec.What != (what{Kind: spec.What.Kind, Ahead: spec.What.Ahead}) {
		return nil, fmt.Errorf("fault %s: %s answers nothing, so it has no code, reason, message, retry_after or text",
			spec.Fault, spec.What.Kind)
	}
	path, wrongPath := regexp.Compile(spec.Match.Path)
	query, wrongQuery := regexp.Compile(spec.Match.Query)
	body, wrongBody := regexp.Compile(spec.Match.Body)
	if err := errors.Join(wrongPath, wrongQuery, wrongBody); err != nil {
		return nil, fmt.Errorf("fault %s: %w", spec.Fault, err)
	}
	return &fault{faultSpec: spec, kind: known, path: path, query: query, body: body}, nil
}

// meets says whether a request meets the fault, and counts it if it is one of those that the fault is about.
func (f *fault) meets(x *exchange, body []byte) bool {
	m := f.Match
	if m.Method != "" && m.Method != x.Method || m.DryRun != nil && *m.DryRun != x.DryRun {
		return false
	}
	if f.After && x.watch {
		return false // its answer has no end
	}
	if !f.path.MatchString(x.Path) || !f.query.MatchString(x.Query) || !f.body.Match(body) {
		return false
	}
	f.matched++
	return f.matched > f.Skip && (f.Times == 0 || f.matched <= f.Skip+f.Times)
}

// write answers a request that the server never sees.
func (f *fault) write(w http.ResponseWriter) {
	text, contentType := f.text()
	w.Header().Set("Content-Type", contentType)
	if f.What.Text == "" {
		w.Header().Set("Audit-Id", f.Fault)
	}
	if f.What.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(f.What.RetryAfter))
	}
	w.WriteHeader(f.What.Code)
	w.Write(text)
}

// replace puts another answer in the place of the server's.
func (f *fault) replace(response *http.Response) {
	text, contentType := f.text()
	response.StatusCode = f.What.Code
	response.Status = ""
	response.Header = http.Header{"Content-Type": {contentType}}
	if f.What.Text == "" {
		response.Header.Set("Audit-Id", f.Fault)
	}
	if f.What.RetryAfter > 0 {
		response.Header.Set("Retry-After", strconv.Itoa(f.What.RetryAfter))
	}
	response.ContentLength = int64(len(text))
	response.TransferEncoding = nil
	response.Trailer = nil
	response.Body = io.NopCloser(bytes.NewReader(text))
}

// moveClock changes the Date of an answer.
func (f *fault) moveClock(response *http.Response) error {
	date, err := http.ParseTime(response.Header.Get("Date"))
	if err != nil {
		return err
	}
	moved := date.Add(time.Duration(f.What.Ahead) * time.Second)
	response.Header.Set("Date", moved.UTC().Format(http.TimeFormat))
	return nil
}

// cut ends an answer in its middle: the connection is closed, although more was promised.
func cut(response *http.Response, body []byte) {
	response.ContentLength = int64(len(body))
	response.Header.Set("Content-Length", strconv.Itoa(len(body)))
	response.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body[:len(body)/2]), brokenReader{}))
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// withoutDryRun takes out of a request that it is a dry run, as a gateway does that knows neither.
func withoutDryRun(r *http.Request, body []byte) []byte {
	query := r.URL.Query()
	query.Del("dryRun")
	r.URL.RawQuery = query.Encode()
	var options object
	if json.Unmarshal(body, &options) != nil {
		return body
	}
	delete(options, "dryRun")
	body, _ = json.Marshal(options)
	return body
}

func (f *fault) text() (text []byte, contentType string) {
	w := f.What
	if w.Text != "" {
		return []byte(w.Text), "text/plain; charset=utf-8"
	}
	status := object{"kind": "Status", "apiVersion": "v1", "metadata": object{}, "status": "Failure", "code": w.Code}
	status["reason"] = w.Reason
	if w.Reason == "" {
		status["reason"] = reasons[w.Code]
	}
	status["message"] = w.Message
	if w.Message == "" {
		status["message"] = fmt.Sprintf("fault %s: %d %s", f.Fault, w.Code, http.StatusText(w.Code))
	}
	if w.Absent != "" {
		status["details"] = object{"name": w.Absent}
		status["message"] = fmt.Sprintf("%q not found", w.Absent)
	}
	if w.RetryAfter > 0 {
		status["details"] = object{"retryAfterSeconds": w.RetryAfter}
	}
	text, _ = json.Marshal(status)
	return text, "application/json"
}
