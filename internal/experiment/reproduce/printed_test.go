package reproduce_test

import (
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"dyad/internal/must"
)

// This file is a second evaluation of what the papers print, from their text. It imports nothing of this module, so that
// no formula is checked against itself. Losses: phi(u) = log(1 + e^-u), with u = (y-y') w.(x-x') for scores and
// u = y y' (1 - (x-x')' W (x-x')) for metrics, |y| <= 1, ||x|| <= 1, C the ball of radius 1 (of the positive semidefinite
// matrices). The constants of a loss are the tightest on C. With the term lambda/2 ||w||^2 the papers' G and L could be
// read as those of the sum; the runs take those of the loss alone, which adds less noise and shortens the burn-in.

// setting is what a cell of a paper gives to a formula.
type setting struct {
	n, d                      int
	epsilon, delta, lambda    float64
	lipschitz, smooth, across float64 // G, L and ||C||, the diameter
}

// printed is what a paper prints for a setting: the number of updates, the sum of their step sizes (NaN if the paper gives
// none), and the noise. never says that no update is made, long that the step is above the largest that the paper allows.
type printed struct {
	steps       int
	path, sigma float64
	never, long bool
}

// settingOf has the constants of a loss: |phi'| <= 1/(1+e^-m) where u >= -m, phi” <= 1/4.
func settingOf(metric bool, n, d int, epsilon, delta float64) setting {
	s := setting{n: n, d: d, epsilon: epsilon, delta: delta}
	if metric { // ||(x-x')(x-x')'|| <= 4, u >= 1 - 4; W and W' have no angle above 90 degrees
		s.lipschitz, s.smooth, s.across = 4/(1+math.Exp(-3)), 4*4/4., math.Sqrt2
	} else { // |y-y'| ||x-x'|| <= 4, u >= -4
		s.lipschitz, s.smooth, s.across = 4/(1+math.Exp(-4)), 4*4/4., 2
	}
	return s
}

// gaussian is Definition 3 of Xue 2021: sqrt(2 ln(1.25/delta)) sensitivity/epsilon.
func (s setting) gaussian(sensitivity float64) float64 {
	return sensitivity * math.Sqrt(2*math.Log(1.25/s.delta)) / s.epsilon
}

// burnIn is T_1 of Huai 2020, Algorithms 1 and 3; without it the steps begin with the third record.
func burnIn(smooth, alpha float64, changed bool) int {
	if changed {
		return 2
	}
	return int(max(math.Ceil(16*smooth*smooth/(alpha*alpha)), 7))
}

// pass is the path of the steps (t-1)/(t-2) 2/(alpha t) for t = T_1 + 1..n.
func pass(n, from int, alpha float64) printed {
	p := printed{steps: n - from, never: from >= n}
	for t := from + 1; t <= n; t++ {
		p.path += float64(t-1) / float64(t-2) * 2 / (alpha * float64(t))
	}
	return p
}

// formulas are the algorithms as printed. changed is the schedule that takes steps, which no paper has.
var formulas = map[string]func(s setting, changed bool) printed{
	// Xue 2021, Algorithm 1; the objective is L-smooth with L = smooth + lambda.
	"dpgdsc": func(s setting, _ bool) printed {
		whole := s.smooth + s.lambda
		steps := int(math.Ceil(whole / s.lambda * math.Log(float64(s.n))))
		return printed{steps: steps, path: float64(steps) * 2 / (whole + s.lambda), sigma: s.gaussian(8 * s.lipschitz / (s.lambda * float64(s.n)))}
	},
	// Xue 2021, Algorithm 2 and Theorem 2; the changed step has the ratio turned round.
	"dpgdc2": func(s setting, changed bool) printed {
		n, log := float64(s.n), math.Log(1/s.delta)
		steps := math.Floor(min(n, n*n*s.epsilon*s.epsilon/(float64(s.d)*log)))
		steps = max(steps, 1)
		eta := s.lipschitz / (s.across * math.Sqrt(steps))
		if changed {
			eta = min(s.across/(s.lipschitz*math.Sqrt(steps)), 2/s.smooth)
		}
		return printed{steps: int(steps), path: steps * eta, sigma: 4 * s.lipschitz * math.Sqrt(1.25*steps*log) / (n * s.epsilon), long: eta > 2/s.smooth}
	},
	// Xue 2021, Algorithm 3 and Theorem 3: epoch i has 2^-i n records, as many steps, of 4^-i eta; the noise is that of the
	// last of the smallest epochs, whose average moves most, (T+1)/T of the bound.
	"dpegd": func(s setting, _ bool) printed {
		n := float64(s.n)
		eta := s.across / s.lipschitz * min(4/math.Sqrt(n), s.epsilon/math.Sqrt(float64(s.d)*math.Log(1/s.delta)))
		p := printed{long: eta > 2/s.smooth}
		k, least := int(math.Log2(n)), s.n
		for i := 1; i <= k; i++ {
			size := s.n >> i
			if i == k {
				size = s.n - p.steps
			}
			eta /= 4
			p.steps, p.path = p.steps+size, p.path+float64(size)*eta
			if size <= least {
				least, p.sigma = size, s.gaussian(4*s.lipschitz*eta)
			}
		}
		return p
	},
	// Xue 2021, Algorithm 4; the paper gives neither T nor eta, so the noise is that of the path that was run.
	"dpgdc": func(s setting, _ bool) printed {
		return printed{steps: -1, path: math.NaN(), sigma: s.gaussian(4 * s.lipschitz / float64(s.n))}
	},
	// Huai 2020, Algorithm 3.
	"offpairstrc": func(s setting, changed bool) printed {
		p := pass(s.n, burnIn(s.smooth, s.lambda, changed), s.lambda)
		n := float64(s.n)
		p.sigma = math.Sqrt(128*s.lipschitz*s.lipschitz*math.Pow(math.Log(n), 2)*math.Log(1.25/s.delta)) / (s.lambda * n * s.epsilon)
		return p
	},
	// Huai 2020, Algorithm 4: alpha = 1/sqrt n, G~ = G + alpha ||C||, L~ = L + alpha. Here ||C|| is 2 for metrics, too.
	"offpairc": func(s setting, changed bool) printed {
		alpha := 1 / math.Sqrt(float64(s.n))
		p := pass(s.n, burnIn(s.smooth+alpha, alpha, changed), alpha)
		n, g := float64(s.n), s.lipschitz+alpha*2
		p.sigma = math.Sqrt(128*g*g*math.Pow(math.Log(n), 2)*math.Log(1.25/s.delta)) / (alpha * n * s.epsilon)
		return p
	},
	// Huai 2020, Algorithm 1; sigma_t alpha t/2, which does not depend on t.
	"onpairstrc": func(s setting, changed bool) printed { return online(s, s.lambda, s.lipschitz, s.smooth, changed) },
	// Huai 2020, Algorithm 2.
	"onpairc": func(s setting, changed bool) printed {
		alpha := 1 / math.Sqrt(float64(s.n))
		return online(s, alpha, s.lipschitz+alpha*s.across, s.smooth+alpha, changed)
	},
}

func online(s setting, alpha, lipschitz, smooth float64, changed bool) printed {
	p := pass(s.n, burnIn(smooth, alpha, changed), alpha)
	// rho + 2 sqrt(rho ln(1/delta)) = epsilon, by bisection.
	low, high := 0.0, s.epsilon
	for range 200 {
		if rho := (low + high) / 2; rho+2*math.Sqrt(rho*math.Log(1/s.delta)) < s.epsilon {
			low = rho
		} else {
			high = rho
		}
	}
	t := float64(s.n) // of sigma_t
	p.sigma = math.Sqrt(32*lipschitz*lipschitz*float64(p.steps)/(alpha*alpha*t*t*low)) * alpha * t / 2
	return p
}

var refusedSigma = regexp.MustCompile(`sigma = ([0-9.e+-]+)`)

// TestPrintedFormulas: in every literal cell of the committed results the radius is that of the papers, and the noise, the
// number of steps and the step sizes are those of the second evaluation, to all printed digits. The results that were
// committed with the program's radius in the place of the papers' fail here: noise of 434 for 834.
func TestPrintedFormulas(t *testing.T) {
	files, err := filepath.Glob("../../../bench/results/reproduce/*-gives.csv")
	if err != nil || len(files) == 0 {
		t.Fatal("no results", err)
	}
	close := func(got string, want float64) bool { // six digits are printed
		v, err := strconv.ParseFloat(got, 64)
		return err == nil && math.Abs(v-want) <= 1.0001*math.Pow(10, math.Floor(math.Log10(want))-5)
	}
	cells, algorithms := 0, map[string]int{}
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), "-gives.csv")
		dims, lines := dimensions(t, name), read(t, path)
		column := map[string]int{}
		for k, c := range lines[0] {
			column[c] = k
		}
		for _, line := range lines[1:] {
			at := func(c string) string {
				k, ok := column[c]
				if !ok {
					t.Fatalf("%s has no column %s", path, c)
				}
				return line[k]
			}
			if !strings.Contains(at("options"), "mode=paper") {
				continue
			}
			formula, ok := formulas[at("algorithm")]
			if !ok {
				t.Errorf("%s: no formula of %s", name, at("algorithm"))
				continue
			}
			metric := strings.HasPrefix(name, "xue-table2") || strings.HasPrefix(name, "xue-table3") || name == "huai-figure5" || name == "huai-figure6"
			s := settingOf(metric, whole(t, at("n")), dims[at("data")], real(t, at("epsilon")), real(t, at("delta")))
			if metric {
				s.d = s.d * (s.d + 1) / 2 // of the symmetric matrices
			}
			s.lambda = 1e-3
			if l2 := regexp.MustCompile(`l2=([0-9.e-]+)`).FindStringSubmatch(at("options")); l2 != nil {
				s.lambda = real(t, l2[1])
			}
			want := formula(s, strings.Contains(at("options"), "paper_unsound=true"))
			cell := name + ": " + strings.Join(line[:6], " ")
			cells++
			algorithms[at("algorithm")]++
			if refused := at("refused"); refused != "" || want.never || want.long {
				if want.never != strings.Contains(refused, "never takes a step") || want.long != strings.Contains(refused, "needs eta") || !want.never && !want.long {
					t.Errorf("%s: refused %q, the print gives %+v", cell, refused, want)
				}
				if said := refusedSigma.FindStringSubmatch(refused); said != nil && !strings.HasPrefix(at("algorithm"), "on") && !close(said[1], want.sigma) {
					t.Errorf("%s: sigma %s, the print gives %.6g", cell, said[1], want.sigma)
				}
				continue
			}
			if at("radius") != "1" {
				t.Errorf("%s: radius %s, the papers' is 1", cell, at("radius"))
			}
			if at("algorithm") == "dpgdc" {
				want.sigma *= real(t, at("total_step"))
			} else if at("steps") != strconv.Itoa(want.steps) || !close(at("total_step"), want.path) {
				t.Errorf("%s: %s steps of %s in all, the print gives %d of %.6g", cell, at("steps"), at("total_step"), want.steps, want.path)
			}
			if !close(at("sigma"), want.sigma) {
				t.Errorf("%s: sigma %s, the print gives %.6g", cell, at("sigma"), want.sigma)
			}
		}
	}
	t.Logf("%d literal cells: %v", cells, algorithms)
	for name := range formulas {
		if algorithms[name] == 0 {
			t.Errorf("no cell of %s was compared", name)
		}
	}
}

func read(t *testing.T, path string) [][]string {
	t.Helper()
	f := must.Get(os.Open(path))(t)
	defer f.Close()
	r := csv.NewReader(f)
	r.Comment = '#'
	return must.Get(r.ReadAll())(t, path)
}

// dimensions are the numbers of features of the data sets of a result.
func dimensions(t *testing.T, name string) map[string]int {
	d := map[string]int{}
	for _, line := range read(t, "../../../bench/results/reproduce/"+name+".csv")[1:] {
		d[line[0]] = whole(t, line[2])
	}
	return d
}

func real(t *testing.T, s string) float64 {
	t.Helper()
	return must.Get(strconv.ParseFloat(s, 64))(t)
}

func whole(t *testing.T, s string) int { return int(real(t, s)) }
