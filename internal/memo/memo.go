// Package memo keeps answers that take long to compute.
package memo

import "sync"

// Answers keeps at least the last Most answers, 64 if that is 0. The zero value is ready. Several goroutines may use it.
type Answers[K comparable, V any] struct {
	Most int

	lock       sync.Mutex
	young, old map[K]V // at most so many each
}

// Get is the answer to key: the one that is kept, or what compute returns, which depends on key alone. An error is not kept.
// Goroutines that ask at the same time may all compute.
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
