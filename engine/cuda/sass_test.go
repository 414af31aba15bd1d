package cuda

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dyad/engine"
	"dyad/internal/must"
)

// sassClasses are the instructions of a GPU by what limits them, by the beginnings of their names.
var sassClasses = []struct {
	name     string
	prefixes []string
}{
	{"special", []string{"MUFU"}},
	{"float32", []string{"FFMA", "FADD", "FMUL", "FMNMX", "FSETP", "FSEL", "FSET"}},
	{"float64", []string{"DFMA", "DADD", "DMUL", "DSETP", "DMNMX"}},
	{"tensor", []string{"HMMA", "HGMMA"}},
	{"global", []string{"LDG", "STG"}},
	{"shared", []string{"LDS", "STS"}},
	{"atomic", []string{"RED", "ATOM"}},
	{"barrier", []string{"BAR", "WARPSYNC", "WARPGROUP"}},
}

// counted are the instructions of a kernel, or of a loop of it.
type counted struct {
	total int
	of    [8]int // by class
	// underWay are the bytes that a thread has asked memory for, and not yet used, with a typical
	// load of a loop, or of the loops of a kernel.
	underWay int
}

// instruction is an opcode and its operands.
type instruction struct{ opcode, operands string }

func (i instruction) loads() bool {
	return strings.HasPrefix(i.opcode, "LDG.") && sassRegister.MatchString(i.operands)
}

var sassRegister = regexp.MustCompile(`\bR(\d+)`)

// underWay are, of each load, the bytes of loads that were under way with it, at most. Whoever
// touches a register of a load waits for it, and for those before it, since loads arrive in order.
func underWay(code []instruction) (bytes []int) {
	type load struct{ first, words, number int }
	var pending []load
	for _, i := range code {
		var touched []int
		for _, m := range sassRegister.FindAllStringSubmatch(i.operands, -1) {
			n, _ := strconv.Atoi(m[1])
			touched = append(touched, n)
		}
		for at := len(pending) - 1; at >= 0; at-- {
			l := pending[at]
			if slices.ContainsFunc(touched, func(r int) bool { return l.first <= r && r < l.first+l.words }) {
				pending = pending[at+1:]
				break
			}
		}
		if !i.loads() {
			continue
		}
		words := 1
		if strings.Contains(i.opcode, ".64") {
			words = 2
		} else if strings.Contains(i.opcode, ".128") {
			words = 4
		}
		pending = append(pending, load{touched[0], words, len(bytes)})
		bytes = append(bytes, 0)
		now := 0
		for _, l := range pending {
			now += 4 * l.words
		}
		for _, l := range pending {
			bytes[l.number] = max(bytes[l.number], now)
		}
	}
	return bytes
}

// typical is the median of bytes under way with the loads of some ranges of code, those of what
// no kernel writes (LDG.CONSTANT) where there are any: X, not numbers that all threads share.
func typical(code []instruction, ranges [][2]int) int {
	var constant, all []int
	for _, r := range ranges {
		bytes := underWay(code[r[0]:r[1]])
		for _, i := range code[r[0]:r[1]] {
			if !i.loads() {
				continue
			}
			if all = append(all, bytes[0]); strings.Contains(i.opcode, ".CONSTANT") {
				constant = append(constant, bytes[0])
			}
			bytes = bytes[1:]
		}
	}
	if len(constant) > 0 {
		all = constant
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[(len(all)-1)/2]
}

// leastUnderWay are bytes that a thread of compute capability 9.0 must have under way, for kernels
// that read memory at its speed. By Little's law 4.3 TB/s at 700 ns need 23 KB a multiprocessor:
// 64 bytes of each of 512 threads are enough, of network_gram and tuples 48, and 32 of the 1024 threads or more of
// other kernels of networks. Kernels that are not named have 2048 threads there, with 40 bytes or
// more, or read little.
var leastUnderWay = map[string]int{
	"clipped_small": 128, "clipped_small_narrow": 64, "clipped_gram": 64, "score_moments": 128, "scores": 64, "weighted_sums": 64, "weighted_series": 64,
	"pair_products": 64, "pair_slopes": 64, "pair_sums": 40, "clip_rows": 40, "clipped_sums": 40, "expand": 32,
	"network_gram": 48, "network_layer": 32, "network_output": 32, "network_norm": 32, "tuple_squares": 48, "tuple_sums": 48, "tuple_clip": 40,
}

func (c *counted) add(opcode string) {
	c.total++
	for i, class := range sassClasses {
		for _, p := range class.prefixes {
			if strings.HasPrefix(opcode, p) && !(p == "LDG" && strings.HasPrefix(opcode, "LDGDEPBAR")) {
				c.of[i]++
				return
			}
		}
	}
}

var (
	sassKernel = regexp.MustCompile(`^\.text\.(\w+):`)
	sassLabel  = regexp.MustCompile(`^(\.L_x_\d+):`)
	sassCode   = regexp.MustCompile(`^\s+/\*[0-9a-f]+\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)(.*)`)
	sassTarget = regexp.MustCompile(`\((\.L_x_\d+)\)`)
)

// countSASS reads what nvdisasm -c prints and returns, by kernel, the counts of all its code and
// of the largest loop that has no other in it.
func countSASS(text string) map[string][2]counted {
	all := map[string][2]counted{}
	var kernel string
	var codes []instruction
	labels := map[string]int{}
	var loops [][2]int
	end := func() {
		if kernel == "" {
			return
		}
		var whole, loop counted
		for _, c := range codes {
			whole.add(c.opcode)
		}
		whole.underWay = typical(codes, slices.DeleteFunc(slices.Clone(loops), func(l [2]int) bool { // of the outer ones
			return slices.ContainsFunc(loops, func(o [2]int) bool { return o != l && o[0] <= l[0] && o[1] >= l[1] })
		}))
		for _, l := range loops {
			inner := !slices.ContainsFunc(loops, func(o [2]int) bool { return o != l && o[0] >= l[0] && o[1] <= l[1] })
			if size := l[1] - l[0]; inner && size > loop.total {
				loop = counted{underWay: typical(codes, [][2]int{l})}
				for _, c := range codes[l[0]:l[1]] {
					loop.add(c.opcode)
				}
			}
		}
		all[kernel] = [2]counted{whole, loop}
	}
	for line := range strings.Lines(text) {
		if m := sassKernel.FindStringSubmatch(line); m != nil {
			end()
			kernel, codes, labels, loops = m[1], nil, map[string]int{}, nil
		} else if m := sassLabel.FindStringSubmatch(line); m != nil {
			labels[m[1]] = len(codes)
		} else if m := sassCode.FindStringSubmatch(line); m != nil && m[1] != "NOP" {
			codes = append(codes, instruction{m[1], m[2]})
			if to := sassTarget.FindStringSubmatch(m[2]); to != nil && strings.HasPrefix(m[1], "BRA") {
				// The last one of a kernel jumps to itself.
				if from, known := labels[to[1]]; known && from < len(codes)-1 {
					loops = append(loops, [2]int{from, len(codes)})
				}
			}
		}
	}
	end()
	return all
}

// TestSASS counts the instructions that NVIDIA's assembler makes of every kernel, without spills,
// and compares them with sass.csv, if that is of the same assembler. With DYAD_SASS_OUT it writes
// them to that folder, and the predicted rates to predicted.csv. Needs ptxas and nvdisasm.
func TestSASS(t *testing.T) {
	ptxas, nvdisasm := tool(t, "ptxas"), tool(t, "nvdisasm")
	version := must.Get(exec.Command(ptxas, "--version").Output())(t)
	release := regexp.MustCompile(`V[\d.]+`).FindString(string(version))
	var out strings.Builder
	out.WriteString("ptxas,program,ptx_sha256,target,kernel,registers,code,instructions")
	for _, c := range sassClasses {
		out.WriteString("," + c.name)
	}
	out.WriteString(",bytes_under_way\n")
	dir := t.TempDir()
	file, cubin := filepath.Join(dir, "k.ptx"), filepath.Join(dir, "k.cubin")
	programs := assembledPrograms(t)
	for _, name := range slices.Sorted(maps.Keys(programs)) {
		if spliced, ok := strings.CutPrefix(name, "spliced: "); ok && !strings.Contains(spliced, "logistic") {
			continue // one loss tells
		}
		must.Do(t, os.WriteFile(file, []byte(programs[name]), 0o600))
		for _, arch := range targets(name) {
			text, err := exec.Command(ptxas, "-v", "-arch="+arch, "-o", cubin, file).CombinedOutput()
			if err != nil {
				t.Fatalf("%s, %s: %v\n%s", name, arch, err, text)
			}
			registers, kernel := map[string]string{}, ""
			for line := range strings.Lines(string(text)) {
				if m := compiled.FindStringSubmatch(line); m != nil {
					kernel = m[1]
				} else if m := regexp.MustCompile(`Used (\d+) registers`).FindStringSubmatch(line); m != nil {
					registers[kernel] = m[1]
				}
			}
			var ignored strings.Builder
			for _, bad := range assembled(string(text), strings.Count(programs[name], ".entry "), &ignored) {
				t.Errorf("%s, %s: %s", name, arch, bad)
			}
			sass := must.Get(exec.Command(nvdisasm, "-c", cubin).Output())(t)
			counts := countSASS(string(sass))
			must.Equal(t, len(counts), len(registers), "%s, %s: code of ... kernels", name, arch)
			for _, kernel := range slices.Sorted(maps.Keys(counts)) {
				for i, code := range []string{"kernel", "largest inner loop"} {
					c := counts[kernel][i]
					if i == 1 && c.total == 0 {
						continue
					}
					fmt.Fprintf(&out, "%s,%q,%x,%s,%s,%s,%s,%d", release, name, sha256.Sum256([]byte(programs[name])), arch, kernel, registers[kernel], code, c.total)
					for _, n := range c.of {
						fmt.Fprintf(&out, ",%d", n)
					}
					fmt.Fprintf(&out, ",%d\n", c.underWay)
				}
				if least := leastUnderWay[kernel]; arch == "sm_90" && counts[kernel][0].underWay < least {
					t.Errorf("%s: %s has %d bytes under way, want %d: a load waits for the one before it", name, kernel, counts[kernel][0].underWay, least)
				}
			}
		}
	}
	committed := must.Get(os.ReadFile(filepath.Join(results, "sass.csv")))(t)
	if to := os.Getenv("DYAD_SASS_OUT"); to == "" && strings.Contains(string(committed), "\n"+release+",") {
		must.Equal(t, string(committed), out.String(), "bench/results/gpu/sass.csv is not what this assembler makes of the programs; run TestSASS with DYAD_SASS_OUT")
	} else if to != "" {
		for name, text := range map[string]string{"sass.csv": out.String(), "predicted.csv": predictedRates(t)} {
			must.Do(t, os.WriteFile(filepath.Join(to, name), []byte(text), 0o644))
		}
	}
}

// predictedRates is predicted.csv: the time of a gradient sum on an H200 by the models of
// bench/gpu, of pairs that are visited and of records. Nothing here was measured.
func predictedRates(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	out.WriteString("gpu,method,n,d,labels,predicted_seconds,visited_pairs,visited_pairs_per_second,records_per_second,programs\n")
	embedded := embeddedPTX()
	row := func(k planned, f Forecast, p engine.Problem, labels, features int) {
		w, method := k.work()
		var programs []string
		for _, name := range k.programs() {
			programs = append(programs, name+":"+embedded[name])
		}
		visited := w.pairs / float64(features)
		if f.Moments {
			visited = 0 // products of entries
		}
		if f.Seconds == 0 {
			t.Fatalf("%s has no model", method)
		}
		fmt.Fprintf(&out, "%s,%q,%d,%d,%d,%.3g,%.0f,%.3g,%.3g,%s\n", f.GPU, method, p.N, p.D, labels, f.Seconds, visited, visited/f.Seconds,
			float64(p.N)/f.Seconds, strings.Join(programs, " "))
	}
	for _, c := range []struct {
		n, d, labels int
		method       Method
		precision    Precision
	}{
		{1e4, 20, 2, NearLinear, 0}, {1e6, 20, 2, NearLinear, 0}, {1e8, 20, 2, NearLinear, 0}, {1e6, 20, 2, Direct, 0}, {1e6, 20, 5, Direct, 0},
		{1e5, 64, 0, 0, FP32}, {1e5, 64, 0, 0, BF16x3}, {1e5, 128, 0, 0, BF16x3}, {1e5, 256, 0, 0, BF16x3},
	} {
		p := engine.Problem{N: c.n, D: c.d, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1, LabelValues: max(c.labels, 2)}
		features := 1
		if c.labels == 0 {
			p.Loss, features = engine.MahalanobisLogistic{}, roundUp(c.d, 64)
		}
		k, f := forecastOn(t, "h200", p, c.method, c.precision)
		row(k.(planned), f, p, c.labels, features)
		if c.method != NearLinear || c.n < 1e6 {
			continue
		}
		m := must.Get(k.(*kernel).backend.planMoments(p))(t) // of the same records
		f, _ = ForecastOf(m)
		row(m, f, p, c.labels, 1)
	}
	for _, p := range predictedNetworks() {
		const n = 1e6
		seconds := p.work.seconds("NVIDIA H200", n, 1)
		fmt.Fprintf(&out, "NVIDIA H200,\"%s, without sums over pairs\",%d,%d,2,%.3g,0,0,%.3g,%s\n", p.name, int(n), p.d, seconds, n/seconds, p.programs)
	}
	return out.String()
}

// staleCounts says why a file is not what is wanted or, if nothing is, not of the embedded PTX,
// or returns "".
func staleCounts(text, want string, embedded map[string]string) string {
	if want != "" && text != want {
		return "is not what the models predict for the embedded PTX"
	}
	for _, name := range slices.Sorted(maps.Keys(embedded)) {
		if want == "" && !strings.Contains(text, embedded[name]) {
			return "has no row of the embedded " + name + ".ptx"
		}
	}
	return ""
}

// TestCountSASS is the control of TestSASS and of the test of its files.
func TestCountSASS(t *testing.T) {
	text := ".text.k:\n\t/*0000*/   S2R R5, SR_TID.X ;\n.L_x_1:\n\t/*0010*/   MUFU.RCP R1, R2 ;\n.L_x_0:\n\t/*0020*/   @!P0 FFMA R1, R2, R3, R4 ;\n" +
		"\t/*0030*/   DFMA R1, R2, R3, R4 ;\n\t/*0040*/   @P0 BRA `(.L_x_0);\n\t/*0050*/   LDGDEPBAR ;\n\t/*0058*/   RED.E.ADD.64.STRONG.GPU desc[UR4][R2.64], R4 ;\n\t/*0060*/   @P1 BRA `(.L_x_1);\n" +
		"\t/*0070*/   EXIT ;\n.L_x_2:\n\t/*0080*/   BRA `(.L_x_2);\n\t/*0090*/   NOP;\n.text.m:\n\t/*0000*/   EXIT ;\n"
	got := countSASS(text)
	want := map[string][2]counted{
		"k": {{total: 10, of: [8]int{1, 1, 1, 0, 0, 0, 1, 0}}, {total: 3, of: [8]int{0, 1, 1, 0, 0, 0, 0, 0}}},
		"m": {{total: 1}, {}},
	}
	if !maps.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	// Loads that are used one by one, and all behind them; a load of two words and one of four.
	for text, want := range map[string]int{
		"LDG.E.64 R2, desc[UR4][R10.64] ;LDG.E.64 R4, desc[UR4][R10.64+0x8] ;DADD R8, R2, -R4 ;":                                              16,
		"LDG.E.64 R2, desc[UR4][R10.64] ;DADD R8, R2, R8 ;LDG.E.64 R4, desc[UR4][R10.64] ;DADD R8, R4, R8 ;":                                  8,
		"LDG.E.64 R2, desc[UR4][R10.64] ;DADD R8, R8, R9 ;LDG.E.64 R4, desc[UR4][R12.64] ;LDG.E R6, desc[UR4][R12.64] ;BAR.SYNC 0x0 ;":        20,
		"LDG.E.128 R4, desc[UR4][R10.64] ;LDG.E R20, desc[UR4][R10.64] ;IADD R1, R7, R1 ;LDG.E.64 R22, desc[UR4][R10.64] ;IADD R1, R23, R1 ;": 20,
		"LDG.E.64 R2, desc[UR4][R10.64] ;LDG.E.64 R4, desc[UR4][R2.64] ;":                                                                     8,
	} {
		var code []instruction
		for _, line := range strings.Split(strings.TrimSuffix(text, ";"), ";") {
			opcode, operands, _ := strings.Cut(line, " ")
			code = append(code, instruction{opcode, operands})
		}
		must.Equal(t, typical(code, [][2]int{{0, len(code)}}), want, "%s: ... bytes under way", text)
	}
	rates, embedded := predictedRates(t), embeddedPTX()
	counts := strings.Join(slices.Collect(maps.Values(embedded)), "\n")
	for _, c := range []struct{ text, want, changed string }{{rates, rates, embedded["rows"]}, {rates, rates, strconv.Itoa(1e8)}, {counts, "", embedded["pairs"]}} {
		if why := staleCounts(c.text, c.want, embedded); why != "" {
			t.Error(why)
		}
		if staleCounts(strings.Replace(c.text, c.changed, "1", 1), c.want, embedded) == "" || staleCounts("", c.want, embedded) == "" {
			t.Errorf("accepted without %s", c.changed)
		}
	}
}
