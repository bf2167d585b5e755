package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// object is a Kubernetes object, or a part of one.
type object = map[string]any

// api speaks to an API server as one user. The few requests the testbed makes do not need a client library.
type api struct {
	server string
	token  string
	http   *http.Client
}

type apiError struct {
	status  int
	message string
}

func (e *apiError) Error() string { return fmt.Sprintf("%d: %s", e.status, e.message) }

func newAPI(server, token string, ca []byte) *api {
	return &api{server: server, token: token, http: &http.Client{
		Timeout:   30 * time.Second,
		Transport: &http.Transport{TLSClientConfig: trusting(ca)},
	}}
}

// trusting believes the servers of an authority.
func trusting(ca []byte) *tls.Config {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	return &tls.Config{RootCAs: roots}
}

// do sends one request; body and into may be nil.
func (a *api) do(method, path, contentType string, body, into any) error {
	if body == nil {
		return a.send(method, path, contentType, nil, into)
	}
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return a.send(method, path, contentType, text, into)
}

func (a *api) send(method, path, contentType string, body []byte, into any) error {
	request, err := http.NewRequest(method, a.server+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+a.token)
	request.Header.Set("User-Agent", "testbed")
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	response, err := a.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode >= 300 {
		var status struct{ Message string }
		if json.Unmarshal(text, &status) != nil {
			status.Message = string(text)
		}
		return fmt.Errorf("%s %s: %w", method, path, &apiError{response.StatusCode, status.Message})
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(text, into)
}

func (a *api) get(path string, into any) error { return a.do(http.MethodGet, path, "", nil, into) }

// watch shows every object that is there and every change of one, but for deletions, until the watch ends.
func (a *api) watch(ctx context.Context, path string, see func(json.RawMessage) error) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, a.server+path+"?watch=true", nil)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+a.token)
	request.Header.Set("User-Agent", "testbed")
	client := &http.Client{Transport: a.http.Transport} // without its time limit
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("watch %s: %s", path, response.Status)
	}
	for events := json.NewDecoder(response.Body); ; {
		var event struct {
			Type   string
			Object json.RawMessage
		}
		if err := events.Decode(&event); err != nil {
			return err
		}
		if event.Type != "ADDED" && event.Type != "MODIFIED" {
			continue
		}
		if err := see(event.Object); err != nil {
			return err
		}
	}
}

// create keeps what is there already.
func (a *api) create(path string, o object) error {
	return ignoreStatus(a.do(http.MethodPost, path, "application/json", o, nil), http.StatusConflict)
}

// createYAML is create for the text of a manifest.
func (a *api) createYAML(path string, manifest []byte) error {
	return ignoreStatus(a.send(http.MethodPost, path, "application/yaml", manifest, nil), http.StatusConflict)
}

func (a *api) merge(path string, patch object) error {
	return a.do(http.MethodPatch, path, "application/merge-patch+json", patch, nil)
}

func (a *api) replace(path string, o object) error {
	return a.do(http.MethodPut, path, "application/json", o, nil)
}

// delete is content when there is nothing to delete.
func (a *api) delete(path string) error {
	return ignoreStatus(a.do(http.MethodDelete, path, "", nil, nil), http.StatusNotFound)
}

func ignoreStatus(err error, status int) error {
	if hasStatus(err, status) {
		return nil
	}
	return err
}

func hasStatus(err error, status int) bool {
	var failure *apiError
	return errors.As(err, &failure) && failure.status == status
}
