package cuda

import (
	"context"
	"fmt"
	"strings"
	"time"

	"dyad/engine/cuda/driver"
	"dyad/kernels"
)

// Compiled is an embedded program and the time that the driver took to compile it; a
// driver that has compiled it before may take it from its cache.
type Compiled struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
}

// Compile compiles every embedded program that the GPU can run, those whose name ends in
// _sm90a for compute capability 9.0 only, and forgets them. The error names the first that
// does not compile.
func (d *Device) Compile() ([]Compiled, error) {
	var done []Compiled
	for _, name := range kernels.PTXNames() {
		if !d.runs(name) {
			continue
		}
		c, err := d.compile(name)
		if err != nil {
			return done, err
		}
		done = append(done, c)
	}
	return done, nil
}

// runs says that an embedded program is for a GPU of this compute capability.
func (d *Device) runs(name string) bool {
	info := d.Info()
	return !strings.HasSuffix(name, "_sm90a") || info.Major == 9 && info.Minor == 0
}

func (d *Device) compile(name string) (done Compiled, err error) {
	err = d.do(context.Background(), func(c driver.Context) error {
		start := time.Now()
		m, err := c.Load([]byte(kernels.PTX(name)))
		if err != nil {
			return fmt.Errorf("cuda: %s.ptx: %w", name, err)
		}
		done = Compiled{Name: name, Seconds: time.Since(start).Seconds()}
		return c.Unload(m)
	})
	return done, err
}
