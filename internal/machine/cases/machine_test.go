package cases

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/kernels"
)

func TestRun(t *testing.T) {
	sizes.NotShort(t, "slow")
	var lines []Line
	o := Options{Records: 40, Runs: 2, Workers: 2}
	must.Do(t, Run(context.Background(), o, func(l Line) error { lines = append(lines, l); return nil }))
	perVariant := 11
	must.Equal(t, len(lines), perVariant*len(kernels.Variants())+2, "lines")
	for _, l := range lines {
		if !(l.Seconds > 0) || !(l.Least > 0 && l.Least <= l.Seconds) || !(l.Rate > 0) || l.N != 40 || l.Unit == "" || l.Workers != 2 {
			t.Errorf("%+v", l)
		}
		if strings.HasPrefix(l.Method, "mahalanobis") && math.Abs(l.Rate*l.Seconds-40*39/2) > 1e-6 {
			t.Errorf("%+v: %v pairs, want 780", l, l.Rate*l.Seconds)
		}
	}
}

// TestShare measures work of a known share: the peak itself, and the peak counted for
// a quarter of its operations.
func TestShare(t *testing.T) {
	for _, v := range kernels.Variants() {
		set := must.Get(kernels.Select(v))(t)
		for _, c := range []struct {
			of   string
			peak func(int) float64
			part float64
		}{{"FMA", set.Peak, 1}, {"FMA", set.Peak, 0.25}, {"FMA fp32", set.Peak32, 1}, {"FMA fp32", set.Peak32, 0.25}} {
			const rounds = 1_000_000
			part := c.part
			b := &prepared{line: Line{Of: c.of}, work: 1, count: part * c.peak(1) * rounds, run: func() error {
				for range rounds / 1000 {
					c.peak(1000)
				}
				return nil
			}}
			l := must.Get(measure(context.Background(), b, Options{Runs: 5}, target{Device{Name: "cpu"}, v}))(t)
			// Other programs disturb; a factor of 4 between the two cases does not get lost.
			if l.Share < 0.5*part || l.Share > 2*part || !(l.Peak > 0) || l.BestShare < l.Share {
				t.Errorf("%v: %v of the peak %s measures as %+v", v, part, c.of, l)
			}
		}
	}
}

func TestRunStops(t *testing.T) {
	stop := errors.New("stop")
	if err := Run(context.Background(), Options{Records: 20, Runs: 1}, func(Line) error { return stop }); err != stop {
		t.Errorf("an error of show: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	must.FailDo(t, Run(ctx, Options{Records: 20, Runs: 1}, func(Line) error { return nil }), context.Canceled, "cancelled")
	for _, o := range []Options{{Runs: -1}, {Records: 1}, {Workers: -1}, {Variants: []kernels.Variant{99}}} {
		must.ErrDo(t, Run(context.Background(), o, func(Line) error { return nil }), "%+v is accepted", o)
	}
}

// elsewhere is a backend of its own name that supports scores only.
type elsewhere struct{ cpu.Backend }

func (elsewhere) Plan(p engine.Problem) (engine.Kernel, error) {
	if _, metric := p.Loss.(engine.MetricLoss); metric {
		return nil, engine.ErrUnsupported
	}
	return cpu.Backend{Method: cpu.Direct}.Plan(p)
}

func TestDevices(t *testing.T) {
	var got []string
	o := Options{Records: 40, Runs: 1, Variants: []kernels.Variant{kernels.Generic}, Devices: []Device{{Name: "cpu"}, {"other", elsewhere{}}}}
	must.Do(t, o.Peers.Read(strings.NewReader("# cpu: mine\n"+peerColumns+"\nslow,exact AUC,40,,9,9e9\nfast,exact AUC,40,,9,1e9\nfar,k-NN,41,32,9,9\n")))
	err := Run(context.Background(), o, func(l Line) error {
		got = append(got, l.Method+" "+l.Device+" "+l.Variant+" "+l.Peer)
		if (l.PeerRatio > 0) != (l.Peer != "") || l.PeerRatio > 0 && math.Abs(l.PeerRatio*max(l.Processor, clockStep)-1e9) > 1 {
			t.Errorf("%+v", l)
		}
		return nil
	})
	want := []string{"logistic direct cpu generic ", "logistic direct other  ", "logistic direct fp32 cpu generic ", "logistic near-linear cpu generic ", "logistic near-linear cpu generic ", "logistic sums only cpu generic ", "mahalanobis cpu generic ", "mahalanobis fp32 cpu generic ",
		"mahalanobis cpu generic ", "mahalanobis fp32 cpu generic ", "mahalanobis cpu generic ", "mahalanobis fp32 cpu generic ", "k-NN cpu best ", "exact AUC cpu best fast"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("error %v, lines %q, want %q", err, got, want)
	}
}

func TestPeersRefuse(t *testing.T) {
	good := "# cpu: a\n" + peerColumns + "\nx,m,1,,1,1\n"
	for name, text := range map[string]string{
		"no cpu":      peerColumns + "\nx,m,1,,1,1\n",
		"no columns":  "# cpu: a\nx,m,1,,1,1\n",
		"few columns": good + "x,m,1,1,1\n",
		"no number":   good + "x,m,one,,1,1\n",
		"no time":     good + "x,m,1,,1,0\n",
		"other cpu":   strings.Replace(good, "cpu: a", "cpu: b", 1),
	} {
		var p Peers
		if err := p.Read(strings.NewReader(good)); err != nil || p.CPU != "a" {
			t.Fatal(err)
		}
		must.ErrDo(t, p.Read(strings.NewReader(text)), "%s is accepted", name)
	}
}
