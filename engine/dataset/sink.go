package dataset

import (
	"runtime"

	"dyad/engine/dataset/schema"
)

// flushFloats is the number of features, 4 MB, that a table with a sink collects before it passes them on.
const flushFloats = 1 << 19

// flush passes the rows to the sink if there are at least least numbers. The rows are projected in the same way
// as in Encode.
func (t *table) flush(least int) error {
	if t.sink == nil || len(t.dense.last) < least && len(t.dense.full) == 0 {
		return nil
	}
	x, y, d := t.dense.all(), t.label.all(), t.e.Dim()
	parallel(runtime.GOMAXPROCS(0), (len(y)+pieceRows-1)/pieceRows, func(k int) {
		for i := k * pieceRows; i < min((k+1)*pieceRows, len(y)); i++ {
			t.e.ProjectDense(x[i*d : (i+1)*d])
		}
	})
	err := t.sink.take(x, y)
	t.dense.reset()
	t.label.reset()
	return err
}

// narrowRows is a sink that stores rows in float32.
type narrowRows struct {
	dim int
	x   *blocks[float32]
	y   *blocks[float64]
}

// sinkOf returns the sink of a table with the schema, or nil if the table stores its rows itself.
func sinkOf(e *schema.Encoder) rowSink {
	if !e.Schema().IsNarrow() {
		return nil
	}
	return &narrowRows{dim: e.Dim(), x: newBlocks[float32](0), y: newBlocks[float64](0)}
}

func (n *narrowRows) expect(rows int) {
	n.x, n.y = newBlocks[float32](rows*n.dim), newBlocks[float64](rows)
}

func (n *narrowRows) take(x, y []float64) error {
	narrow(n.x.grow(len(x)), x)
	copy(n.y.grow(len(y)), y)
	return nil
}
