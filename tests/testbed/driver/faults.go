package main

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// faultFile is the path of a file that maps the name of an RPC to what should go wrong with it:
//
//	{"DeleteVolume": {"fail": {"code": "INTERNAL", "message": "disk on fire"}},
//	 "CreateVolume": {"hang": "30s"},
//	 "DeleteSnapshot": {"lose": true}}
//
// fail does nothing and answers with the error. hang waits and then goes on as usual, even if the caller has given
// up, as a slow backend does. lose does what was asked and then answers that time ran out. No file: no faults.
type faultFile string

type fault struct {
	Fail *struct {
		Code    codes.Code `json:"code"`
		Message string     `json:"message"`
	} `json:"fail"`
	Hang string `json:"hang"`
	Lose bool   `json:"lose"`
}

func (f faultFile) intercept(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	fault, err := f.of(rpcName(info))
	if err != nil {
		return nil, status.Errorf(codes.Internal, "%s: %v", string(f), err)
	}
	if fault.Fail != nil {
		return nil, status.Error(fault.Fail.Code, fault.Fail.Message)
	}
	if fault.Hang != "" {
		pause, err := time.ParseDuration(fault.Hang)
		if err != nil {
			return nil, status.Errorf(codes.Internal, "%s: %v", string(f), err)
		}
		time.Sleep(pause)
	}
	answer, err := handle(ctx, request)
	if fault.Lose && err == nil {
		return nil, status.Error(codes.DeadlineExceeded, "the answer was lost")
	}
	return answer, err
}

func (f faultFile) of(rpc string) (fault, error) {
	text, err := os.ReadFile(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return fault{}, nil
	}
	if err != nil {
		return fault{}, err
	}
	var faults map[string]fault
	err = json.Unmarshal(text, &faults)
	return faults[rpc], err
}
