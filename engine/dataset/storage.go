package dataset

import (
	"context"
	"runtime"

	"dyad/internal/pages"
	"dyad/internal/tasks"
)

// blocks collects values in blocks that are never moved, so that growing needs no copy. The peak memory is the
// size of the values. It is twice that size if several blocks are joined at the end. With a good size hint
// there is only one block.
type blocks[T pages.Number] struct {
	full  [][]T
	last  []T
	dirty int // length of the part of last that can contain dropped values
}

// Sizes of a block, in values. Sizes double up to the largest.
const (
	firstBlock   = 1 << 10
	largestBlock = 1 << 20
)

// newBlocks returns empty blocks prepared for about hint values.
func newBlocks[T pages.Number](hint int) *blocks[T] {
	return &blocks[T]{last: pages.Make[T](max(hint, firstBlock))[:0]}
}

// grow appends width zeros and returns them.
func (b *blocks[T]) grow(width int) []T {
	if len(b.last)+width > cap(b.last) {
		b.full = append(b.full, b.last)
		b.last, b.dirty = pages.Make[T](max(width, min(2*cap(b.last), largestBlock)))[:0], 0
	}
	n := len(b.last)
	b.last = b.last[:n+width]
	if b.dirty > n {
		clear(b.last[n:min(b.dirty, n+width)])
	}
	return b.last[n:]
}

// append adds the values of a.
func (b *blocks[T]) append(a *blocks[T]) {
	for _, f := range a.full {
		copy(b.grow(len(f)), f)
	}
	copy(b.grow(len(a.last)), a.last)
}

// tail returns the last n values, which must come from one call of grow.
func (b *blocks[T]) tail(n int) []T { return b.last[len(b.last)-n:] }

// drop removes the last n values, which must come from one call of grow.
func (b *blocks[T]) drop(n int) {
	b.dirty = max(b.dirty, len(b.last))
	b.last = b.last[:len(b.last)-n]
}

func (b *blocks[T]) add(v T) { b.grow(1)[0] = v }

// reset drops all values and keeps the memory of the last block.
func (b *blocks[T]) reset() {
	b.full = nil
	b.drop(len(b.last))
}

// all returns all values without removing them.
func (b *blocks[T]) all() []T {
	if len(b.full) > 0 {
		b.last = b.join()
	}
	return b.last
}

// join returns all values and empties b. The memory of copied blocks is returned to the system block by block.
// So old and new memory together are little more than the values, if the system takes memory back.
func (b *blocks[T]) join() []T {
	if len(b.full) == 0 {
		out := b.last
		b.last = nil
		return out
	}
	type piece struct{ from, to []T }
	var all []piece
	n := len(b.last)
	for _, f := range b.full {
		n += len(f)
	}
	out := pages.Make[T](n)
	to := out
	for _, f := range append(b.full, b.last) {
		for len(f) > 0 {
			k := min(len(f), largestBlock)
			all = append(all, piece{f[:k], to[:k]})
			f, to = f[k:], to[k:]
		}
	}
	b.full, b.last = nil, nil
	parallel(runtime.GOMAXPROCS(0), len(all), func(i int) {
		copy(all[i].to, all[i].from)
		pages.Drop(all[i].from)
	})
	return out
}

// pieceRows is the number of rows that a worker encodes at a time. Their records stay in its cache.
const pieceRows = 1024

// parallel calls work for each i below n, on up to workers goroutines.
func parallel(workers, n int, work func(i int)) {
	_ = tasks.Each(context.Background(), workers, n, func(_, i int) { work(i) }) // the context is never cancelled
}

// narrow converts numbers that are exact in float32.
func narrow(dst []float32, x []float64) {
	const piece = 1 << 14
	parallel(runtime.GOMAXPROCS(0), (len(x)+piece-1)/piece, func(k int) {
		to := dst[k*piece : min((k+1)*piece, len(x))]
		for i, v := range x[k*piece:][:len(to)] {
			to[i] = float32(v)
		}
	})
}
