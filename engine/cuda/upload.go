package cuda

import (
	"encoding/binary"
	"math"

	"dyad/engine"
	"dyad/engine/cuda/driver"
)

// uploadColumns copies the features to x by columns: feature k of row i is x[k n + i]. Sparse rows are copied
// as dense rows. While the GPU reads one buffer, the host fills the other buffer.
func uploadColumns(c driver.Context, x driver.Pointer, r *engine.Records) (err error) {
	n, d := r.Len(), r.Dim()
	keep := func(f error) {
		if err == nil {
			err = f
		}
	}
	stream, err := c.NewStream()
	if err != nil {
		return err
	}
	defer func() { keep(c.CloseStream(stream)) }()
	rows := max(min(stagingBytes/(8*d), n), 1)
	var buffers [2][]byte
	var events [2]driver.Event
	for b := range buffers {
		if buffers[b], err = c.AllocHost(8 * rows * d); err != nil {
			return err
		}
		defer func() { keep(c.FreeHost(buffers[b])) }()
		if events[b], err = c.NewEvent(); err != nil {
			return err
		}
		defer func() { keep(c.CloseEvent(events[b])) }()
	}
	defer func() { keep(c.SyncStream(stream)) }() // before the buffers are freed
	row := make([]float64, d)
	for i0, b := 0, 0; i0 < n; i0, b = i0+rows, 1-b {
		m := min(rows, n-i0)
		if err := c.SyncEvent(events[b]); err != nil {
			return err
		}
		for i := range m {
			r.Row(i0+i, row)
			for k, v := range row {
				binary.LittleEndian.PutUint64(buffers[b][8*(k*m+i):], math.Float64bits(v))
			}
		}
		for k := range d {
			to := x + driver.Pointer(8*(k*n+i0))
			if err := c.CopyInAsync(to, buffers[b][8*k*m:8*(k+1)*m], stream); err != nil {
				return err
			}
		}
		if err := c.Record(events[b], stream); err != nil {
			return err
		}
	}
	return nil
}
