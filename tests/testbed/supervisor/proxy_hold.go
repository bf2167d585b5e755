package main

import (
	"fmt"
	"slices"
	"time"
)

// heldPatience is how long a request to hold is waited for.
const heldPatience = 180 * time.Second

// waiting is a request that is held.
type waiting struct {
	exchange *exchange
	goesOn   chan bool // false: it is lost
}

// wait holds a request until it is released, and says whether it goes on.
func (p *proxy) wait(f *fault, x *exchange) bool {
	w := &waiting{exchange: x, goesOn: make(chan bool, 1)}
	p.mutex.Lock()
	if !slices.Contains(p.faults, f) {
		p.mutex.Unlock()
		return false // it was cleared after the request came
	}
	f.waiting = append(f.waiting, w)
	close(p.held)
	p.held = make(chan struct{})
	p.mutex.Unlock()
	select {
	case goesOn := <-w.goesOn:
		return goesOn
	case <-p.closed:
		return false
	}
}

// letGo ends the waiting of all that a fault holds now, and says how many they were. The proxy's mutex is held.
func (f *fault) letGo(goesOn bool) int {
	released := len(f.waiting)
	for _, w := range f.waiting {
		w.goesOn <- goesOn
	}
	f.waiting = nil
	return released
}

// awaitHeld waits until a fault holds a request, and returns all that it holds.
func (p *proxy) awaitHeld(name string) ([]exchange, error) {
	late := time.After(heldPatience)
	for {
		p.mutex.Lock()
		f, err := p.fault(name)
		if err != nil {
			p.mutex.Unlock()
			return nil, err
		}
		var held []exchange
		for _, w := range f.waiting {
			held = append(held, *w.exchange)
		}
		next := p.held
		p.mutex.Unlock()
		if len(held) > 0 {
			return held, nil
		}
		select {
		case <-next:
		case <-p.closed:
			return nil, fmt.Errorf("proxy %s was stopped", p.id)
		case <-late:
			return nil, fmt.Errorf("fault %s has held nothing for %v, of %d requests that came", name, heldPatience, len(p.requests()))
		}
	}
}
