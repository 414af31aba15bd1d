package cuda

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"dyad/engine/cuda/driver"
)

// job is a sequence of calls of the driver on the GPU's thread. After a call has failed, the later calls do
// nothing, and err holds the error. So the code of a sequence needs no check after each call.
type job struct {
	driver driver.Context
	err    error
}

// do runs a job on the GPU's thread.
func (d *Device) do(ctx context.Context, run func(c *job)) error {
	if d.gpu == nil {
		return fmt.Errorf("%w (%s)", ErrNamed, d.name)
	}
	return d.gpu.Do(ctx, func(c driver.Context) error {
		j := &job{driver: c}
		run(j)
		return j.err
	})
}

// fail adds err to the errors of the job.
func (c *job) fail(err error) {
	if c.err != nil && err != nil {
		err = errors.Join(c.err, err)
	}
	if err != nil {
		c.err = err
	}
}

// goesOn reports whether no call has failed and ctx is not done.
func (c *job) goesOn(ctx context.Context) bool {
	if c.err == nil {
		c.err = ctx.Err()
	}
	return c.err == nil
}

// try runs calls unless an earlier call has failed.
func (c *job) try(calls func(driver.Context) error) {
	if c.err == nil {
		c.err = calls(c.driver)
	}
}

// launch starts a kernel with blockThreads threads per block in the default stream.
func (c *job) launch(m *module, name string, x, y int, args ...uint64) {
	if c.err != nil {
		return
	}
	f, ok := m.functions[name]
	if !ok {
		if f, c.err = c.driver.Function(m.handle, name); c.err != nil {
			return
		}
		m.functions[name] = f
	}
	err := c.driver.Launch(driver.Launch{Function: f, Grid: [3]int{x, y}, Block: [3]int{blockThreads}, Args: args})
	if err != nil {
		c.err = fmt.Errorf("cuda: kernel %s: %w", name, err)
	}
}

// sync waits for all work of a stream.
func (c *job) sync(s driver.Stream) {
	c.try(func(d driver.Context) error { return d.SyncStream(s) })
}

// clear sets bytes to zero.
func (c *job) clear(at driver.Pointer, bytes int) {
	c.try(func(d driver.Context) error { return d.Clear(at, uint64(bytes), 0) })
}

// copyFloats is the number of float64 per copy.
const copyFloats = 1 << 16

// copyIn copies numbers to the GPU.
func (c *job) copyIn(to driver.Pointer, v []float64) {
	host := make([]byte, 8*min(len(v), copyFloats))
	for from := 0; from < len(v) && c.err == nil; from += copyFloats {
		part := v[from:min(from+copyFloats, len(v))]
		putFloats(host, part)
		c.err = c.driver.CopyIn(to+driver.Pointer(8*from), host[:8*len(part)])
	}
}

// copyOut copies numbers from the GPU.
func (c *job) copyOut(v []float64, from driver.Pointer) {
	host := make([]byte, 8*min(len(v), copyFloats))
	for at := 0; at < len(v) && c.err == nil; at += copyFloats {
		part := v[at:min(at+copyFloats, len(v))]
		if c.err = c.driver.CopyOut(host[:8*len(part)], from+driver.Pointer(8*at)); c.err == nil {
			floats(part, host)
		}
	}
}

// copyWords copies bytes, or a slice of numbers of any type, to the GPU.
func (c *job) copyWords(to driver.Pointer, v any) {
	words, err := binary.Append(nil, binary.LittleEndian, v)
	c.fail(err)
	c.try(func(d driver.Context) error { return d.CopyIn(to, words) })
}

// copyBack copies bytes, or a slice of numbers of any type, from the GPU.
func (c *job) copyBack(v any, from driver.Pointer) {
	words := make([]byte, binary.Size(v))
	c.try(func(d driver.Context) error {
		if err := d.CopyOut(words, from); err != nil {
			return err
		}
		_, err := binary.Decode(words, binary.LittleEndian, v)
		return err
	})
}

// inTurn launches parts one after the other, until the context is done.
func inTurn[T any](ctx context.Context, c *job, all []T, launch func(T)) {
	for i, part := range all {
		if i > 0 {
			c.sync(0)
		}
		if !c.goesOn(ctx) {
			return
		}
		launch(part)
	}
}

// load compiles ptx, or returns the module if ptx has been compiled before.
func (d *Device) load(c *job, ptx string) (m *module) {
	hash := sha256.Sum256([]byte(ptx))
	if m = d.modules[hash]; m == nil {
		c.try(func(on driver.Context) error {
			handle, err := on.Load([]byte(ptx))
			if err == nil {
				m = &module{handle: handle, functions: map[string]driver.Function{}}
				d.modules[hash] = m
			}
			return err
		})
	}
	return m
}

// putFloats and floats convert numbers to and from the byte order of the GPU.
func putFloats(to []byte, v []float64) {
	for i, f := range v {
		binary.LittleEndian.PutUint64(to[8*i:], math.Float64bits(f))
	}
}

func floats(v []float64, from []byte) {
	for i := range v {
		v[i] = math.Float64frombits(binary.LittleEndian.Uint64(from[8*i:]))
	}
}
