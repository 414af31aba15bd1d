package cuda

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"runtime"

	"dyad/engine"
	"dyad/engine/cuda/driver"
	"dyad/internal/tasks"
)

// rows holds the features of bound records in tiles (kernels/cuda/rows.cu). The features are either on the GPU,
// or on the host and copied to the GPU panel by panel in every pass. All sums have the same bits in both cases.
type rows struct {
	grid
	records *engine.Records
	order   []int32 // record of a row, nil if the rows are in the order of the records
	module  *module

	x            driver.Pointer    // if resident: all tiles
	panels       [2]driver.Pointer // if not resident: two panels
	w, part, sum driver.Pointer
	vectors      []byte   // w and the sum, in page-locked host memory
	staging      *staging // nil once resident rows are uploaded
}

// staging holds page-locked host memory for two panels, and a stream for the copies. copied marks the end of
// the copy of a panel. free marks the end of the last use of a panel on the GPU.
type staging struct {
	host         [2][]byte
	copied, free [2]driver.Event
	stream       driver.Stream
}

// bindRows allocates memory. If the rows of the grid stay on the GPU, bindRows also copies them. r has only the
// rows of the grid, unless order is given.
func bindRows(c *job, m *held, g grid, module *module, r *engine.Records, order []int32) *rows {
	x := &rows{grid: g, records: r, order: order, module: module}
	m.others = append(m.others, x.close)
	blocks := []block{{&x.w, 8 * g.d}, {&x.part, 8 * g.d * g.chunks()}, {&x.sum, 8 * g.d}}
	if g.resident {
		blocks = append(blocks, block{&x.x, g.tileBytes() * g.tiles()})
	} else {
		blocks = append(blocks, block{&x.panels[0], g.tileBytes() * g.panel}, block{&x.panels[1], g.tileBytes() * g.panel})
	}
	m.alloc(c, blocks)
	c.try(func(d driver.Context) (err error) {
		x.vectors, err = d.AllocHost(16 * g.d)
		return err
	})
	if g.n == 0 {
		return x
	}
	c.try(x.open)
	if g.resident && c.err == nil {
		to := func(_, tile int) driver.Pointer { return x.x + driver.Pointer(tile*g.tileBytes()) }
		x.transfer(context.Background(), c, to, func(driver.Pointer, int, int) {})
		c.fail(x.closeStaging(c.driver))
	}
	return x
}

// open creates the staging.
func (x *rows) open(c driver.Context) (err error) {
	s := &staging{}
	x.staging = s
	if s.stream, err = c.NewStream(); err != nil {
		return err
	}
	for b := range s.host {
		if s.host[b], err = c.AllocHost(x.panel * x.tileBytes()); err != nil {
			return err
		}
		if s.copied[b], err = c.NewEvent(); err != nil {
			return err
		}
		if s.free[b], err = c.NewEvent(); err != nil {
			return err
		}
	}
	return nil
}

// close frees the memory of the host.
func (x *rows) close(c driver.Context) error {
	err := x.closeStaging(c)
	if x.vectors != nil {
		err = errors.Join(err, c.FreeHost(x.vectors))
		x.vectors = nil
	}
	return err
}

func (x *rows) closeStaging(c driver.Context) error {
	if x.staging == nil {
		return nil
	}
	s := x.staging
	x.staging = nil
	var errs []error
	for b := range s.host {
		if s.host[b] != nil {
			errs = append(errs, c.FreeHost(s.host[b]))
		}
		for _, e := range []driver.Event{s.copied[b], s.free[b]} {
			if e != 0 {
				errs = append(errs, c.CloseEvent(e))
			}
		}
	}
	if s.stream != 0 {
		errs = append(errs, c.CloseStream(s.stream))
	}
	return errors.Join(errs...)
}

// transfer copies all tiles to the GPU in panels, and calls use for each panel that has arrived. While the GPU
// uses one panel, the next panel is copied and the host assembles the panel after the next.
func (x *rows) transfer(ctx context.Context, c *job, to func(buffer, tile int) driver.Pointer,
	use func(at driver.Pointer, tile, tiles int)) {
	s := x.staging
	defer func() { c.fail(c.driver.SyncStream(s.stream)) }() // before the buffers are freed
	arrived := func(tile int) {
		b := tile / x.panel % 2
		c.try(func(d driver.Context) error { return d.SyncEvent(s.copied[b]) })
		use(to(b, tile), tile, min(x.panel, x.tiles()-tile))
		c.try(func(d driver.Context) error { return d.Record(s.free[b], 0) })
	}
	for tile := 0; tile < x.tiles() && c.goesOn(ctx); tile += x.panel {
		b, tiles := tile/x.panel%2, min(x.panel, x.tiles()-tile)
		c.try(func(d driver.Context) error {
			if err := d.SyncEvent(s.free[b]); err != nil {
				return err
			}
			x.fill(s.host[b], tile, tiles)
			if err := d.CopyInAsync(to(b, tile), s.host[b][:tiles*x.tileBytes()], s.stream); err != nil {
				return err
			}
			return d.Record(s.copied[b], s.stream)
		})
		if tile > 0 {
			arrived(tile - x.panel)
		}
	}
	arrived((x.tiles() - 1) / x.panel * x.panel)
}

// fill assembles tiles in to, on all processors.
func (x *rows) fill(to []byte, tile, tiles int) {
	workers := min(runtime.GOMAXPROCS(0), tiles)
	var group tasks.Group
	for worker := range workers {
		group.Go(func() {
			row := make([]float64, x.d)
			for t := worker; t < tiles; t += workers {
				at := to[t*x.tileBytes() : (t+1)*x.tileBytes()]
				for r := range tileRows {
					i := (tile+t)*tileRows + r
					switch {
					case i >= x.n:
						clear(row)
					case x.order != nil:
						x.records.Row(int(x.order[i]), row)
					default:
						x.records.Row(i, row)
					}
					for k, v := range row {
						if to := at[x.number()*(k*tileRows+r):]; x.narrow { // exact, because the records are kept in float32
							binary.LittleEndian.PutUint32(to, math.Float32bits(float32(v)))
						} else {
							binary.LittleEndian.PutUint64(to, math.Float64bits(v))
						}
					}
				}
			}
		})
	}
	group.Wait()
}

// pass calls use for every panel of X on the GPU, or once for all tiles if X is resident.
func (x *rows) pass(ctx context.Context, c *job, use func(at driver.Pointer, tile, tiles int)) {
	switch {
	case !c.goesOn(ctx) || x.n == 0: // without rows the team has more ranks than chunks
	case x.resident:
		use(x.x, 0, x.tiles())
	default:
		x.transfer(ctx, c, func(b, _ int) driver.Pointer { return x.panels[b] }, use)
	}
}

// scores sets s to X w, where x.w holds w. Here and below, places in vectors of rows are places in the data set.
func (x *rows) scores(ctx context.Context, c *job, s driver.Pointer) {
	x.pass(ctx, c, func(at driver.Pointer, tile, tiles int) {
		from, n := x.first+tile*tileRows, x.rowsOf(tile, tiles)
		c.launch(x.module, "scores", tiles, 1, uint64(s+driver.Pointer(8*from)), uint64(at), uint64(x.w),
			uint64(n), uint64(x.d))
	})
}

// rowsOf returns the number of records in tiles.
func (x *rows) rowsOf(tile, tiles int) int { return min(tiles*tileRows, x.n-tile*tileRows) }

// weightedSums sets sum to X^T v.
func (x *rows) weightedSums(ctx context.Context, c *job, v driver.Pointer) {
	x.sumsOf(ctx, c, func(part, at driver.Pointer, from, n int) {
		c.launch(x.module, "weighted_sums", chunksOf(n, x.chunkRows()), chunksOf(x.d, x.columns()), uint64(part), uint64(at),
			uint64(v+driver.Pointer(8*from)), uint64(n), uint64(x.d), uint64(x.spans), uint64(x.span), uint64(x.logParts))
	})
}

// sumsOf sets sum from partial sums. launch computes at part the partial sums of the n rows at address at,
// which have the numbers from on. If a team shares the rows, sumsOf computes only the partial sums of this
// rank and does not set sum.
func (x *rows) sumsOf(ctx context.Context, c *job, launch func(part, at driver.Pointer, from, n int)) {
	x.pass(ctx, c, func(at driver.Pointer, tile, tiles int) {
		from := x.first + tile*tileRows
		launch(x.part+driver.Pointer(8*x.d*(from/x.chunkRows())), at, from, x.rowsOf(tile, tiles))
	})
	if x.n == x.all {
		x.combine(c, x.sum, x.part, x.d)
	}
}

// combine sets sum to the sum of the vectors of all chunks. Each vector has length numbers.
func (x *rows) combine(c *job, sum, part driver.Pointer, length int) {
	c.launch(x.module, "combine", chunksOf(length, 8), 1, uint64(sum), uint64(part), uint64(x.chunks()), uint64(length))
}

// give starts the copy of w to the GPU. take starts the copy of the sum to the host. A copy has ended when the
// stream has passed it.
func (x *rows) give(c *job, s driver.Stream) {
	c.try(func(d driver.Context) error { return d.CopyInAsync(x.w, x.vectors[:8*x.d], s) })
}

func (x *rows) take(c *job, s driver.Stream) {
	c.try(func(d driver.Context) error { return d.CopyOutAsync(x.vectors[8*x.d:], x.sum, s) })
}
