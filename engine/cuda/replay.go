package cuda

import (
	"context"
	"errors"

	"dyad/engine/cuda/driver"
)

// replay runs the launches and copies of a sum over all pairs as one graph, for which the host calls the driver
// only once. Launches and copies are the same in every call; only the numbers in memory differ. The first sum
// is launched step by step, so that the driver loads the kernels. The second sum is captured as a graph. If
// capturing fails, all sums are launched step by step.
type replay struct {
	stream  driver.Stream // 0, the default stream, if sums are not replayed
	graph   driver.Graph
	started bool  // a sum has been launched
	none    error // reason why no graph will be captured, nil if a graph is possible
}

// inStream is a context that launches kernels in a given stream.
type inStream struct {
	driver.Context
	stream driver.Stream
}

func (c inStream) Launch(l driver.Launch) error {
	l.Stream = c.stream
	return c.Context.Launch(l)
}

// open waits for copies in the default stream and creates a new stream, which does not wait for the default stream.
func (r *replay) open(c *job) {
	c.sync(0)
	c.try(func(d driver.Context) (err error) {
		r.stream, err = d.NewStream()
		return err
	})
}

func (r *replay) close(c driver.Context) error {
	var errs []error
	if r.graph != 0 {
		errs = append(errs, c.CloseGraph(r.graph))
	}
	if r.stream != 0 {
		errs = append(errs, c.CloseStream(r.stream))
	}
	*r = replay{}
	return errors.Join(errs...)
}

// run launches the steps and does not wait for their end. The steps must be the same in every call.
func (r *replay) run(ctx context.Context, c *job, steps func(c *job)) {
	if r.stream == 0 {
		steps(c)
		return
	}
	own := &job{driver: inStream{c.driver, r.stream}}
	if r.graph == 0 && r.started && r.none == nil {
		c.err = r.capture(ctx, own, steps)
	}
	switch {
	case c.err != nil:
	case r.graph != 0:
		c.err = c.driver.LaunchGraph(r.graph, r.stream)
	default:
		r.started, own.err = true, nil
		steps(own)
		c.err = own.err
	}
}

// capture sets graph, or none if capturing fails. It returns an error only if ctx is done.
func (r *replay) capture(ctx context.Context, c *job, steps func(c *job)) error {
	if err := c.driver.BeginCapture(r.stream); err != nil {
		r.none = err // if the GPU is lost, another call will return the error
		return nil
	}
	steps(c)
	g, err := c.driver.EndCapture(r.stream)
	switch {
	case c.err == nil && err == nil:
		r.graph = g
		return nil
	case err == nil:
		err = c.driver.CloseGraph(g)
	}
	if ctx.Err() != nil {
		return errors.Join(ctx.Err(), err)
	}
	r.none = errors.Join(c.err, err)
	return nil
}
