package main

import (
	"context"
	"encoding/json"
	"os"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
)

// callLog writes one line when a call arrives and one when it is answered, so a call that hangs is seen as well.
// Only the line of the answer has a code. Calls of the Identity service, which every sidecar makes, are left out.
type callLog struct {
	mutex sync.Mutex
	file  *os.File
}

type callLine struct {
	Time     string `json:"time"`
	RPC      string `json:"rpc"`
	Volume   string `json:"volume,omitempty"`
	Snapshot string `json:"snapshot,omitempty"`
	Node     string `json:"node,omitempty"`
	Name     string `json:"name,omitempty"`
	Code     string `json:"code,omitempty"`
	Message  string `json:"message,omitempty"`
}

func openCallLog(path string) (*callLog, error) {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	return &callLog{file: file}, err
}

func (l *callLog) close() { l.file.Close() }

func (l *callLog) intercept(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	if strings.Contains(info.FullMethod, ".Identity/") {
		return handle(ctx, request)
	}
	line := describe(rpcName(info), request)
	l.write(line)
	answer, err := handle(ctx, request)
	if created, ok := answer.(*csi.CreateVolumeResponse); ok {
		line.Volume = created.GetVolume().GetVolumeId()
	}
	if created, ok := answer.(*csi.CreateSnapshotResponse); ok {
		line.Snapshot = created.GetSnapshot().GetSnapshotId()
	}
	line.Code = status.Code(err).String()
	if err != nil {
		line.Message = status.Convert(err).Message()
	}
	l.write(line)
	return answer, err
}

func (l *callLog) write(line callLine) {
	line.Time = time.Now().UTC().Format(time.RFC3339Nano)
	text, err := json.Marshal(line)
	if err != nil {
		panic(err) // a struct of strings
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.file.Write(append(text, '\n'))
}

func rpcName(info *grpc.UnaryServerInfo) string { return path.Base(info.FullMethod) }

// describe takes from a request of any kind what identifies its subject.
func describe(rpc string, request any) callLine {
	line := callLine{RPC: rpc}
	if r, ok := request.(interface{ GetVolumeId() string }); ok {
		line.Volume = r.GetVolumeId()
	}
	if r, ok := request.(interface{ GetSourceVolumeId() string }); ok {
		line.Volume = r.GetSourceVolumeId()
	}
	if r, ok := request.(interface{ GetSnapshotId() string }); ok {
		line.Snapshot = r.GetSnapshotId()
	}
	if r, ok := request.(interface{ GetNodeId() string }); ok {
		line.Node = r.GetNodeId()
	}
	if r, ok := request.(interface{ GetName() string }); ok {
		line.Name = r.GetName()
	}
	return line
}
