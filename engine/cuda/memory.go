package cuda

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"dyad/engine/cuda/driver"
)

// held is what an evaluator has allocated on a GPU and in page-locked memory of the host.
type held struct {
	device   *Device
	pointers []driver.Pointer
	others   []func(driver.Context) error // they free other things, and run first, in reverse order
}

// block is memory to be allocated.
type block struct {
	at    *driver.Pointer
	bytes int
}

// bytesOf returns the number of bytes that blocks need on a GPU, including the memory that the driver needs.
func bytesOf(blocks []block) uint64 {
	need := uint64(driverBytes)
	for _, b := range blocks {
		need += uint64(b.bytes) + 256
	}
	return need
}

// fill runs load as a job. If load fails, it frees everything that load has allocated.
func (m *held) fill(d *Device, load func(c *job)) error {
	m.device = d
	return d.do(context.Background(), func(c *job) {
		if load(c); c.err != nil {
			c.fail(m.free(c.driver))
		}
	})
}

func (m *held) alloc(c *job, blocks []block) {
	for _, b := range blocks {
		c.try(func(d driver.Context) (err error) {
			if *b.at, err = d.Alloc(uint64(max(b.bytes, 1))); err == nil {
				m.pointers = append(m.pointers, *b.at)
			}
			return err
		})
	}
}

func (m *held) free(c driver.Context) error {
	var errs []error
	for _, free := range slices.Backward(m.others) {
		errs = append(errs, free(c))
	}
	for _, p := range m.pointers {
		errs = append(errs, c.Free(p))
	}
	m.pointers, m.others = nil, nil
	return errors.Join(errs...)
}

// Close implements engine.Evaluator and the evaluators of package embedding. It frees the memory of the GPU.
func (m *held) Close() error {
	if m.pointers == nil {
		return nil
	}
	return m.device.release(m.free)
}

// open returns an error after Close.
func (m *held) open(call string) error {
	if m.pointers == nil {
		return fmt.Errorf("cuda: %s after Close", call)
	}
	return nil
}
