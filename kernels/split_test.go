package kernels

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dyad/internal/must"
)

// halves are the numbers of src whose bits are 0 and 1.
func halves(src []float64, mask []uint8) (zero, one []float64) {
	for k, v := range src {
		if mask[k/8]>>(k%8)&1 == 0 {
			zero = append(zero, v)
		} else {
			one = append(one, v)
		}
	}
	return zero, one
}

// masks are bits of n numbers: none, all, alternating, random ones.
func masks(rng *rand.Rand, n int) (all [][]uint8) {
	for _, fill := range []func() uint8{
		func() uint8 { return 0 }, func() uint8 { return 255 }, func() uint8 { return 0x55 },
		func() uint8 { return uint8(rng.IntN(256)) }, func() uint8 { return uint8(rng.IntN(256)) },
	} {
		all = append(all, filled((n+7)/8, fill))
	}
	return all
}

// splitFault says what is wrong with splitByMask and join of a variant for the numbers and bits.
func splitFault(kernel *Set, x []float64, mask []uint8, offset int) string {
	n := len(x)
	wantZero, wantOne := halves(x, mask)
	slices.Reverse(wantOne)
	src, dst := newGuarded(x, offset), newGuarded(make([]float64, n+16+offset), 3-offset)
	for i := range dst.data {
		dst.data[i] = math.NaN()
	}
	bits, pad := slices.Clone(mask), make([]float64, 8)
	zeros := kernel.Split(dst.data, src.data, mask)
	switch end := len(dst.data); {
	case zeros != len(wantZero):
		return "wrong count"
	case !slices.Equal(dst.data[:zeros+8], append(wantZero, pad...)):
		return "wrong first part"
	case !slices.Equal(dst.data[end-n+zeros-8:], append(pad, wantOne...)):
		return "wrong second part"
	case !src.unchanged() || !slices.Equal(mask, bits):
		return "Split wrote to its arguments"
	case !dst.intact():
		return "Split wrote outside dst"
	}
	same := func(a, b []float64) bool { return slices.EqualFunc(a, b, sameBits) }
	back, parts := newGuarded(make([]float64, n), offset), slices.Clone(dst.data)
	kernel.Join(back.data, dst.data, mask)
	switch {
	case !same(back.data, x):
		return "Join is not the way back"
	case !back.intact() || !dst.intact() || !same(dst.data, parts):
		return "Join wrote outside dst"
	}
	return ""
}

func TestSplit(t *testing.T) { variants(t, testSplit) }

func testSplit(t *testing.T, kernel *Set) {
	rng := rand.New(rand.NewPCG(9, 9))
	for _, n := range lengths() {
		for offset := range 4 {
			x := normals(rng, n)
			if n > 2 {
				x[0], x[n-1] = math.Inf(1), math.Copysign(0, -1)
			}
			for i, mask := range masks(rng, n) {
				if fault := splitFault(kernel, x, mask, offset); fault != "" {
					t.Fatalf("n=%d offset=%d mask %d: %s", n, offset, i, fault)
				}
			}
		}
	}
	// Too little room, whatever the capacity.
	for name, call := range map[string]func(short []float64){
		"Split": func(short []float64) { kernel.Split(short, make([]float64, 16), make([]uint8, 2)) },
		"Join":  func(short []float64) { kernel.Join(make([]float64, 16), short, make([]uint8, 2)) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s takes a buffer that is too short", name)
				}
			}()
			call(make([]float64, 31, 64))
		}()
	}
	// Every byte.
	for b := range 256 {
		must.Equal(t, splitFault(kernel, []float64{1, 2, 3, 4, 5, 6, 7, 8}, []uint8{uint8(b)}, 0), "", "mask %08b", b)
	}
}

// TestSplitFaults: splitFault sees a lane in the wrong place, a missing end, a write beyond
// the room and the wrong way back.
func TestSplitFaults(t *testing.T) {
	for name, wrong := range map[string]func(s *Set){
		"order": func(s *Set) {
			s.Split = func(dst, src []float64, mask []uint8) int {
				i := splitByMask(dst, src, mask)
				dst[0], dst[1] = dst[1], dst[0]
				return i
			}
		},
		"end": func(s *Set) {
			s.Split = func(dst, src []float64, mask []uint8) int {
				i := splitByMask(dst, src, mask)
				dst[i+7] = 1
				return i
			}
		},
		"room": func(s *Set) {
			s.Split = func(dst, src []float64, mask []uint8) int {
				dst[:len(dst)+1][len(dst)] = 0
				return splitByMask(dst, src, mask)
			}
		},
		"back": func(s *Set) {
			s.Join = func(dst, src []float64, mask []uint8) {
				join(dst, src, mask)
				slices.Reverse(dst)
			}
		},
	} {
		s := must.Get(Select(Generic))(t)
		x, mask := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9}, []uint8{0xa3, 1}
		if fault := splitFault(s, x, mask, 1); fault != "" {
			t.Fatalf("plain Go: %s", fault)
		}
		wrong(s)
		if splitFault(s, x, mask, 1) == "" {
			t.Errorf("%s: not seen", name)
		}
	}
}

func TestTake(t *testing.T) {
	src, dst := []float64{3, 5, 7}, []float64{0, 0, 0, 0, -1}
	Take(dst, src, []uint16{2, 0, 0, 1})
	must.Same(t, dst, []float64{7, 3, 3, 5, -1}, "Take")
	Put(dst, src, []uint16{4, 0})
	must.Same(t, dst, []float64{5, 3, 3, 5, 3}, "Put")
}
