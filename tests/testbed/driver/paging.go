package main

import (
	"sort"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A token names the last id of the page before, so that deleting something between two pages skips nothing.
const tokenPrefix = "after:"

// page cuts sorted ids down to what a list call asked for, and returns the token of the next page.
func page(sorted []string, token string, limit int32) ([]string, string, error) {
	if limit < 0 {
		return nil, "", status.Error(codes.InvalidArgument, "max_entries is negative")
	}
	if token != "" {
		last, ok := strings.CutPrefix(token, tokenPrefix)
		if !ok {
			return nil, "", status.Errorf(codes.Aborted, "starting_token %q was not given out by this driver", token)
		}
		next := sort.Search(len(sorted), func(i int) bool { return sorted[i] > last })
		sorted = sorted[next:]
	}
	if limit == 0 || int(limit) >= len(sorted) {
		return sorted, "", nil
	}
	sorted = sorted[:limit]
	return sorted, tokenPrefix + sorted[limit-1], nil
}
