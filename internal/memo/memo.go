// Package memo keeps answers of functions that compute long.
package memo

import "sync"

// Of is f, a function of its argument alone, which remembers at least the last most answers without an error: most of 1 or more.
// It may be called by several goroutines; f then runs once for each that finds no answer.
func Of[K comparable, V any](most int, f func(K) (V, error)) func(K) (V, error) {
	var lock sync.Mutex
	young, old := map[K]V{}, map[K]V{} // at most so many each
	return func(key K) (V, error) {
		lock.Lock()
		v, known := young[key]
		if !known {
			v, known = old[key]
		}
		lock.Unlock()
		if known {
			return v, nil
		}
		v, err := f(key)
		if err != nil {
			return v, err
		}
		lock.Lock()
		defer lock.Unlock()
		if len(young) >= most {
			young, old = map[K]V{}, young
		}
		young[key] = v
		return v, nil
	}
}
