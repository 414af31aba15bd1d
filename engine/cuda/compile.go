package cuda

import (
	"context"
	"fmt"
	"time"

	"dyad/engine/cuda/driver"
	"dyad/kernels"
)

// Compiled holds the name of an embedded program and the time that the driver took to compile it. If the driver
// has compiled the program before, it may take the result from its cache.
type Compiled struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
}

// Compile compiles every embedded program and unloads it again. The error names the first program that does not
// compile.
func (d *Device) Compile() ([]Compiled, error) {
	var done []Compiled
	for _, name := range kernels.PTXNames() {
		c, err := d.compile(name)
		if err != nil {
			return done, err
		}
		done = append(done, c)
	}
	return done, nil
}

func (d *Device) compile(name string) (done Compiled, err error) {
	err = d.do(context.Background(), func(c *job) {
		c.try(func(on driver.Context) error {
			start := time.Now()
			m, err := on.Load([]byte(kernels.PTX(name)))
			if err != nil {
				return fmt.Errorf("cuda: %s.ptx: %w", name, err)
			}
			done = Compiled{Name: name, Seconds: time.Since(start).Seconds()}
			return on.Unload(m)
		})
	})
	return done, err
}
