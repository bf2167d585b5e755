package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestFaults(t *testing.T) {
	for name, want := range map[string]struct {
		faults string
		code   codes.Code
		done   bool
		pause  time.Duration
	}{
		"no file":         {"", codes.OK, true, 0},
		"another rpc":     {`{"CreateVolume": {"lose": true}}`, codes.OK, true, 0},
		"fail":            {`{"DeleteVolume": {"fail": {"code": "UNAVAILABLE", "message": "no"}}}`, codes.Unavailable, false, 0},
		"lose":            {`{"DeleteVolume": {"lose": true}}`, codes.DeadlineExceeded, true, 0},
		"hang":            {`{"DeleteVolume": {"hang": "20ms"}}`, codes.OK, true, 20 * time.Millisecond},
		"not a duration":  {`{"DeleteVolume": {"hang": "long"}}`, codes.Internal, false, 0},
		"not even faults": {`{`, codes.Internal, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "faults.json")
			if want.faults != "" {
				if err := os.WriteFile(path, []byte(want.faults), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			done := false
			start := time.Now()
			_, err := faultFile(path).intercept(context.Background(), nil,
				&grpc.UnaryServerInfo{FullMethod: "/csi.v1.Controller/DeleteVolume"},
				func(context.Context, any) (any, error) { done = true; return nil, nil })
			if status.Code(err) != want.code || done != want.done || time.Since(start) < want.pause {
				t.Fatalf("err %v, done %v after %v", err, done, time.Since(start))
			}
		})
	}
}
