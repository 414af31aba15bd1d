// Package memo keeps results that take long to compute.
package memo

import "sync"

// Answers keeps at least the last Most results of a computation. If Most is 0, 64 applies. The zero value is ready
// for use. Several goroutines may use it.
type Answers[K comparable, V any] struct {
	Most int

	lock       sync.Mutex
	young, old map[K]V // each holds at most this number of results
}

// Get returns the kept result for key. If there is none, it returns the result of compute, which must depend on
// key alone. An error is not kept. Goroutines that call Get at the same time may all compute the result.
func (a *Answers[K, V]) Get(key K, compute func() (V, error)) (V, error) {
	a.lock.Lock()
	v, known := a.young[key]
	if !known {
		v, known = a.old[key]
	}
	a.lock.Unlock()
	if known {
		return v, nil
	}
	v, err := compute()
	if err != nil {
		return v, err
	}
	a.lock.Lock()
	defer a.lock.Unlock()
	most := a.Most
	if most == 0 {
		most = 64
	}
	if a.young == nil || len(a.young) >= most {
		a.young, a.old = map[K]V{}, a.young
	}
	a.young[key] = v
	return v, nil
}
