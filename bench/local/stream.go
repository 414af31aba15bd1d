package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"time"

	"dyad/algorithms/local"
	"dyad/bench"
	"dyad/engine"
	"dyad/privacy"
)

// measureStream visits users whose records are made when they are visited, once each,
// on one core: visits per second, memory, and the cost of a message for its user.
func measureStream(n, d, nonZeros int) error {
	runtime.GOMAXPROCS(1)
	definition, _ := engine.LibraryByName("logistic")
	phi, err := definition.Expression(engine.ExpressionOptions{})
	if err != nil {
		return err
	}
	q, err := local.Protocol{
		Method: local.Prestige, Loss: local.ScalarLoss{Of: phi}, Dim: d, FeatureNorm: 1, Radius: 5, L2: 0.1, Users: n, Epochs: 1, Epsilon: 1, Threshold: -4,
	}.Plan()
	if err != nil {
		return err
	}
	src, err := privacy.NewSource()
	if err != nil {
		return err
	}
	st, client := q.Start(), local.NewClient(q, src)
	made := newMaker(d, nonZeros)
	bench.Header(os.Stdout, "local", os.Args[1:])
	fmt.Println("# prestige, epsilon 1 a visit, one epoch, records of the generator; progressive error: of the model before each visit, on the visited record")
	fmt.Println("users,seconds,visits_per_second,client_microseconds,progressive_error,live_heap_bytes,bytes_from_system")
	var atUser time.Duration
	wrong := 0
	began, every := time.Now(), max(1, n/10)
	for t := 1; t <= n; t++ {
		z := made.next()
		s := 0.0
		for k, v := range z.X {
			s += v * st.W[k]
		}
		if s*z.Y <= 0 {
			wrong++
		}
		sample := t%64 == 0 // the clock is not free
		var before time.Time
		if sample {
			before = time.Now()
		}
		m, err := client.Message(st, z)
		if err != nil {
			return err
		}
		if sample {
			atUser += time.Since(before)
		}
		if err := q.Apply(st, []local.Message{m}); err != nil {
			return err
		}
		if t%every == 0 {
			seconds := time.Since(began).Seconds()
			runtime.GC()
			var memory runtime.MemStats
			runtime.ReadMemStats(&memory)
			fmt.Printf("%d,%.3f,%.0f,%.2f,%.4f,%d,%d\n", t, seconds, float64(t)/seconds, float64(atUser.Microseconds())/max(1, float64(t/64)), float64(wrong)/float64(t), memory.HeapAlloc, memory.Sys)
		}
	}
	return nil
}

// maker makes records of norm at most 1 whose label is the sign of a fixed direction
// for nine of ten.
type maker struct {
	r        *rand.Rand
	truth    []float64
	x        []float64
	set      []int // coordinates of x that are not zero, for sparse records
	nonZeros int
}

func newMaker(d, nonZeros int) *maker {
	m := &maker{r: rand.New(rand.NewPCG(1, 1)), truth: make([]float64, d), x: make([]float64, d), nonZeros: nonZeros}
	for k := range m.truth {
		m.truth[k] = m.r.NormFloat64()
	}
	return m
}

// next is valid until the next call.
func (m *maker) next() engine.Record {
	s := 0.0
	if m.nonZeros == 0 {
		scale := 1 / math.Sqrt(float64(len(m.x))) / 2
		square := 0.0
		for k := range m.x {
			v := m.r.NormFloat64() * scale
			m.x[k], square = v, square+v*v
		}
		if square > 1 {
			for k := range m.x {
				m.x[k] /= math.Sqrt(square)
			}
		}
		for k, v := range m.x {
			s += v * m.truth[k]
		}
	} else {
		for _, k := range m.set {
			m.x[k] = 0
		}
		m.set = m.set[:0]
		v := 1 / math.Sqrt(float64(m.nonZeros))
		for range m.nonZeros {
			k := m.r.IntN(len(m.x))
			m.x[k] = v
			m.set = append(m.set, k)
		}
		for _, k := range m.set {
			s += m.x[k] * m.truth[k]
		}
	}
	y := 1.0
	if (s < 0) != (m.r.Float64() < 0.1) {
		y = -1
	}
	return engine.Record{X: m.x, Y: y}
}
