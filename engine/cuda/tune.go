package cuda

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/gonum/mat"

	"dyad/engine"
)

// tuneSizes are the numbers of records and features with which a GPU is measured. tuneTime is the approximate
// duration of the measurement, without the first sum of every size.
var tuneSizes = [][2]int{{1000, 4}, {30_000, 4}, {30_000, 32}, {300_000, 8}}

const tuneTime = 2 * time.Second

// Kept reads and writes the stored text of the time models that were measured on this machine. The zero value
// stores nothing.
type Kept struct {
	Read  func() ([]byte, error)
	Write func(text []byte) error
}

// OpenAuto opens GPU 0 and returns the time models that decide between the GPU and the CPU. If this version
// has models, OpenAuto returns these models. Otherwise it returns the models that are stored in `times` for
// this GPU, or measures the models now. If there is no GPU or there are no times for it, d is nil and the
// result `why` is the reason. The error is nil unless the models of this version cannot be read.
func OpenAuto(ctx context.Context, times Kept) (d *Device, models Models, why string, err error) {
	if models, err = fitted(); err != nil {
		return nil, nil, "", err
	}
	if d, err = OpenNumber(0); err != nil {
		return nil, nil, strings.TrimPrefix(err.Error(), "driver: "), nil
	}
	if len(models) == 0 && times.Read != nil {
		if models, err = d.tuned(ctx, times, tuneSizes); err != nil {
			// without the compiler's log
			why, _, _ = strings.Cut(fmt.Sprintf("%s cannot be measured: %v", d.Info().Name, err), "\n")
		}
	} else if len(models) == 0 {
		why = d.Info().Name + " was not measured for this version; to use this GPU, give " +
			"--device cuda:0"
	}
	if why != "" {
		_ = d.Close() // why is more informative than an error of Close
		return nil, nil, why, nil
	}
	return d, models, "", nil
}

// tuned returns the time models of the GPU that were measured on this machine. If models of the embedded
// programs are stored in times, they are returned. Otherwise tuned measures sums of the logistic loss over
// random records of public sizes, by the near-linear method and over every pair, and stores the new models.
func (d *Device) tuned(ctx context.Context, times Kept, sizes [][2]int) (Models, error) {
	var kept Models
	if text, err := times.Read(); err == nil {
		kept, _ = readModels(text, embeddedPTX()) // if the text cannot be read, the GPU is measured again
	}
	mine := slices.DeleteFunc(slices.Clone(kept), func(m TimeModel) bool { return m.GPU != d.Info().Name })
	if len(mine) > 0 {
		return mine, nil
	}
	for _, method := range []Method{NearLinear, Direct} {
		m, err := d.tune(ctx, method, sizes)
		if err != nil {
			return nil, err
		}
		mine = append(mine, m)
	}
	text, err := json.MarshalIndent(append(kept, mine...), "", "\t")
	if err != nil {
		return nil, err
	}
	return mine, times.Write(append(text, '\n'))
}

// tune measures sums by one method and returns the fitted time model.
func (d *Device) tune(ctx context.Context, method Method, sizes [][2]int) (TimeModel, error) {
	var works []work
	var seconds []float64
	var k planned
	for _, size := range sizes {
		n, width := size[0], size[1]
		rng := rand.New(rand.NewPCG(uint64(n), uint64(width)))
		x, y, w := make([]float64, n*width), make([]float64, n), make([]float64, width)
		for i := range x {
			x[i] = 2*rng.Float64() - 1
		}
		for i := range y {
			y[i] = float64(2*(i%2) - 1)
		}
		w[0] = 1
		p := engine.Problem{N: n, D: width, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1, LabelValues: 2}
		r, err := engine.AdoptRecords(x, y, width, p.Bounds)
		if err != nil {
			return TimeModel{}, err
		}
		plan, err := Backend{Device: d, Method: method}.plan(p)
		if err != nil {
			return TimeModel{}, err
		}
		k = plan.(planned)
		best, err := fastest(ctx, plan, r, w, tuneTime/time.Duration(2*len(sizes)))
		if err != nil {
			return TimeModel{}, err
		}
		of, _ := k.work()
		works, seconds = append(works, of), append(seconds, best)
	}
	m, ok := fit(works, seconds)
	if !ok {
		return m, fmt.Errorf("cuda: no time model fits the measured times of %s: %.3g s", k.Method(), seconds)
	}
	_, m.Method = k.work()
	m.GPU, m.Programs = d.Info().Name, map[string]string{}
	for _, name := range k.programs() {
		m.Programs[name] = embeddedPTX()[name]
	}
	return m, nil
}

// fastest returns the time of the fastest sum in seconds. It measures at least two sums and stops after about
// limit. The first sum, in which the driver loads the kernels, does not count.
func fastest(ctx context.Context, k engine.Kernel, r *engine.Records, w []float64,
	limit time.Duration) (float64, error) {
	e, err := k.Bind(r)
	if err != nil {
		return 0, err
	}
	best, dst := math.Inf(1), make([]float64, len(w))
	begin := time.Now()
	for i := 0; i < 3 || time.Since(begin) < limit && i < 100; i++ {
		start := time.Now()
		if err = e.Sum(ctx, dst, engine.Gradient(w, k.Problem().Pairs())); err != nil {
			break
		}
		if s := max(time.Since(start), time.Nanosecond).Seconds(); i > 0 {
			best = min(best, s)
		}
	}
	return best, errors.Join(err, e.Close())
}

// fit returns the model with the smallest sum of squared relative errors among the models without negative
// terms. It compares the least-squares solutions for all sets of terms.
func fit(w []work, seconds []float64) (best TimeModel, ok bool) {
	if len(seconds) < 3 {
		return TimeModel{}, false
	}
	least := math.Inf(1)
	for set := 1; set < 16; set++ {
		var terms []int
		for j := range 4 {
			if set>>j&1 == 1 {
				terms = append(terms, j)
			}
		}
		if len(terms) > len(seconds) {
			continue
		}
		scale := make([]float64, len(terms)) // scales the columns to size 1
		a, one := mat.NewDense(len(seconds), len(terms), nil), mat.NewVecDense(len(seconds), nil)
		for i, s := range seconds {
			one.SetVec(i, 1)
			for c, j := range terms {
				v := [4]float64{1, w[i].records, w[i].numbers, w[i].pairs}[j] / s
				scale[c] = max(scale[c], v)
				a.Set(i, c, v)
			}
		}
		if slices.Min(scale) == 0 {
			continue
		}
		a.Apply(func(_, c int, v float64) float64 { return v / scale[c] }, a)
		var x mat.VecDense
		if x.SolveVec(a, one) != nil {
			continue
		}
		var terms4 [4]float64
		for c, j := range terms {
			terms4[j] = x.AtVec(c) / scale[c]
		}
		if slices.Min(terms4[:]) < 0 {
			continue
		}
		m := TimeModel{Fixed: terms4[0], PerRecord: terms4[1], PerNumber: terms4[2], PerPair: terms4[3], Cases: len(seconds)}
		var total float64
		for i, s := range seconds {
			off := m.Seconds(w[i])/s - 1
			total += off * off
			m.Off = max(m.Off, math.Abs(off))
		}
		if total < least {
			best, least, ok = m, total, true
		}
	}
	return best, ok
}
