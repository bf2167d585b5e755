package main

import (
	"slices"
	"testing"
)

func TestPagesCoverEverythingOnceAlthoughTheLastIdIsDeleted(t *testing.T) {
	all := []string{"a", "b", "c", "d", "e"}
	first, token, err := page(all, "", 2)
	if err != nil || !slices.Equal(first, []string{"a", "b"}) {
		t.Fatal(first, err)
	}
	second, token, err := page([]string{"a", "c", "d", "e"}, token, 2)
	if err != nil || !slices.Equal(second, []string{"c", "d"}) {
		t.Fatal(second, err)
	}
	third, token, err := page(all, token, 2)
	if err != nil || token != "" || !slices.Equal(third, []string{"e"}) {
		t.Fatal(third, token, err)
	}
}

func TestForeignTokensAreRefused(t *testing.T) {
	if _, _, err := page(nil, "invalid-token", 0); err == nil {
		t.Fatal("accepted")
	}
}
