package command

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"dyad/algorithms/audit"
	"dyad/internal/must"
	"dyad/internal/sizes"
)

func TestAuditReport(t *testing.T) {
	dir := t.TempDir()
	out := mustRun(t, dir, "lab", "audit", "dpgdsc", "--runs", "400", "--plot", "attack.svg")
	must.Contain(t, out, "claimed     epsilon 1 at delta 1e-05", "Clopper-Pearson", "Gaussian model", "confidence 0.999",
		"not refuted", "0 are off the noise grid", "attack.svg",
		"tightness   ", "the claimed mu 0.2681", "control     epsilon 0.5 is half the claim. These runs ", "time        ")
	if exists(filepath.Join(dir, "state")) {
		t.Error("an audit opened a ledger")
	}
	text := must.Get(os.ReadFile(filepath.Join(dir, "attack.svg")))(t)
	lines := 0
	for dec := xml.NewDecoder(bytes.NewReader(text)); ; {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("the plot is no XML: %v", err)
		}
		if e, ok := token.(xml.StartElement); ok && (e.Name.Local == "polyline" || e.Name.Local == "path") {
			lines++
		}
	}
	if lines < 3 {
		t.Errorf("the plot has %d lines, want at least the diagonal, the limit and the attack", lines)
	}
	// The same seed gives the same bytes for any number of workers.
	_, one, _ := dyad(t, dir, "lab", "audit", "offpairc", "-n", "20", "--runs", "200", "--json", "--workers", "1")
	_, three, _ := dyad(t, dir, "lab", "audit", "offpairc", "-n", "20", "--runs", "200", "--json", "--workers", "3")
	seconds := regexp.MustCompile(`"seconds": [^,]*`)
	if one, three := seconds.ReplaceAllString(one, ""), seconds.ReplaceAllString(three, ""); one == "" || one != three {
		t.Errorf("one worker:\n%s\nthree:\n%s", one, three)
	}
	var r struct {
		Claimed float64 `json:"claimed_epsilon"`
		Audited float64 `json:"audited_epsilon"`
		Holds   bool    `json:"holds"`
		Half    *bool   `json:"half_claim_refuted"`
		Bounds  []audit.Bound
		Tight   *audit.Tightness `json:"tightness"`
	}
	if err := json.Unmarshal([]byte(one), &r); err != nil || !(r.Claimed > 0 && r.Claimed <= 1) || !r.Holds ||
		len(r.Bounds) != 2 || r.Half == nil || r.Tight == nil || !(r.Tight.Claim > 0.2) {
		t.Errorf("%v: %+v", err, r)
	}
}

// At confidence 0.5 a bound on an attained certificate is above the claim for a
// quarter of the seeds or so; then the exit code is 1.
func TestAuditRefutedClaimExits1(t *testing.T) {
	sizes.NotShort(t, "40 seeds of what TestAuditReport runs")
	dir := t.TempDir()
	refuted := 0
	for seed := range 40 {
		code, out, errs := dyad(t, dir, "lab", "audit", "dpgdsc", "--runs", "200", "--confidence", "0.5", "--seed",
			fmt.Sprint(seed))
		switch {
		case code == exitFailure && strings.Contains(out, "THE CLAIM IS REFUTED"):
			refuted++
		case code != exitOK || !strings.Contains(out, "not refuted"):
			t.Fatalf("seed %d: exit %d: %s%s", seed, code, out, errs)
		}
	}
	if refuted == 0 || refuted > 30 {
		t.Errorf("%d of 40 seeds are refuted at confidence 0.5", refuted)
	}
}

func TestAuditRefusesBadInput(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"sgd"}, "dpgdsc"},
		{[]string{"projected-gradient"}, "certified"},
		{[]string{"dpgdsc", "-n", "1"}, "-n"},
		{[]string{"dpgdsc", "--runs", "3"}, "at least 20"},
		{[]string{"dpgdsc", "--confidence", "1"}, "confidence"},
		{[]string{"dpgdsc", "--workers", "-1"}, "--workers"},
		{[]string{"dpgdsc", "--epsilon", "-1"}, "epsilon"},
		{[]string{"dpgdsc", "--delta", "2"}, "delta"},
		{[]string{"dpgdsc", "--plot", "x.gif"}, "svg"},
		{[]string{"moments", "--loss", "sigmoid"}, "moments takes no loss"},
		{[]string{"moment-metric", "--task", "metric", "--loss", "logistic"}, "moment-metric takes no loss"},
		{[]string{"dpgdsc", "--loss-clip", "2"}, "--loss linear exclude"},
		{[]string{"dpgdsc", "--time", "-1s"}, "--time"},
		{[]string{"dpgdsc", "--batch-records", "4"}, "subsampled-descent"},
		{[]string{"onpairc", "--steps", "4"}, "--steps"},
		{[]string{"dpgdsc", "--worst-start"}, "--task metric"},
		{[]string{"pairs", "--density", "2"}, "--pairs"},
		{[]string{"pairs", "--tuple", "4", "--pairs", "4"}, "--pairs"},
		{[]string{"pairs", "--tuple", "4", "--kappa", "4"}, "--kappa"},
		{[]string{"pairs", "--mode", "nonprivate"}, "claims no privacy"},
		{[]string{"pairs", "--kappa", "16"}, "individuals"},
		{[]string{"pairs", "--loss", "triplet"}, "--tuple"},
		{[]string{"dpgdsc", "--plot", "no/folder/x.svg"}, "no/folder"},
		{[]string{"dpgdsc", "--method", "canaries", "--plot", "x.svg"}, "--plot"},
		{[]string{"dpgdsc", "--method", "canaries", "--canaries", "9"}, "canaries"},
		{[]string{"offpairstrc", "--mode", "paper", "--loss", "logistic"}, "never takes a step"},
	} {
		r := ran(t, dir, append([]string{"lab", "audit"}, c.args...)...).exits(exitInput).warns(c.want)
		r.want(strings.HasPrefix(r.errs, "dyad: "), "a message of the program")
	}
	t.Chdir(dir)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, args := range [][]string{{"lab", "audit", "dpgdsc"},
		{"lab", "audit", "dpgdsc", "--method", "canaries", "-d", "20"}, {"lab", "audit", "pairs"}, {"lab", "audit", "pairs", "--all-pairs"}} {
		if code, _, errs := hooked(ctx, hooks{}, args...); code != exitCancelled {
			t.Errorf("dyad %v, cancelled: exit %d: %s", args, code, errs)
		}
	}
}

// Online algorithms and metric losses are audited too; the flags of the former are not
// for batch algorithms.
func TestAuditOfStreamsAndMetrics(t *testing.T) {
	sizes.NotShort(t, "slow")
	dir := t.TempDir()
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"onpairc", "-n", "8", "--epsilon", "4"}, "certified mode, noise fed back, linear loss, n = 8"},
		{[]string{"onpairstrc", "-n", "8", "--secret-state"}, "certified mode, secret state, linear loss"},
		{[]string{"onpairc", "-n", "9", "--every", "2", "--buffer", "3", "--reservoir", "--black-box", "--loss", "logistic"},
			"noise fed back, batches of 2, buffer of 3, reservoir, logistic loss"},
		{[]string{"onpairc", "-n", "8", "--task", "metric"}, "linear-metric loss"},
		{[]string{"dpgdsc", "-n", "8", "--task", "metric", "--loss", "logistic"}, "mahalanobis-logistic loss"},
	} {
		ran(t, dir, append([]string{"lab", "audit", "--runs", "40"}, c.args...)...).exits(exitOK).prints(c.says,
			"the claim is not refuted, but this audit has no power")
	}
	for _, args := range [][]string{
		{"dpgdsc", "--every", "2"}, {"dpgdsc", "--secret-state"}, {"onpairc", "--method", "canaries"},
		{"onpairc", "--delta", "0"},
		{"onpairc", "--secret-state", "--every", "2"}, {"onpairc", "--reservoir"},
		{"dpgdsc", "--task", "metric", "--method", "canaries"},
	} {
		ran(t, dir, append([]string{"lab", "audit", "--runs", "40"}, args...)...).exits(exitInput)
	}
}

// Pairs, tuples and all pairs are audited by the options of their trainings.
func TestAuditOfPairs(t *testing.T) {
	sizes.NotShort(t, "slow")
	dir := t.TempDir()
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--kappa", "3"}, "pairs, certified mode, unit individual, kappa 3, 3 pairs, fixed batches of 3, 5 epochs"},
		{[]string{"--kappa", "3", "--pairs", "12", "--batch", "6", "--noise", "laplace"},
			"unit individual, kappa 3, 12 pairs, fixed batches of 6"},
		{[]string{"--unit", "group", "--kappa", "2", "--epochs", "1"}, "for a group of 2 pairs"},
		{[]string{"--unit", "pair", "--loss", "bradley-terry"}, "for one pair"},
		{[]string{"--kappa", "4", "--sampling", "poisson", "--batch", "2", "--epochs", "1", "--epsilon", "3", "--delta",
			"0.01"}, "poisson batches of 2"},
		{[]string{"--kappa", "2", "--method", "labels", "--unit", "group"}, "pairs-labels, certified mode"},
		{[]string{"--kappa", "2", "--method", "input", "--epsilon", "4"}, "pairs-input, certified mode"},
		{[]string{"-n", "12", "--tuple", "4"}, "tuples of 4, batches of 3, 5 epochs"},
		{[]string{"-n", "12", "--all-pairs", "--noise", "knorm"}, "all-pairs, certified mode, all pairs"},
	} {
		const runs = "1000"
		ran(t, dir, append([]string{"lab", "audit", "pairs", "--runs", runs}, c.args...)...).exits(exitOK).prints(c.says,
			"the claim is not refuted")
	}
	// What the paper claims for its printed algorithm is refuted; the report of it is not.
	// An audit of listed pairs with a network once attacked a matrix.
	ends(t, dir, exitInput, "a network cannot learn from pairs of individuals", "lab", "audit", "pairs", "--model", "mlp", "--rows",
		"2", "--runs", "40")
	ends(t, dir, exitOK, "the paper's claim, epsilon 3, IS REFUTED", "lab", "audit", "pairs", "--unit", "group", "--kappa",
		"2", "--mode", "paper", "--rows", "2", "--epsilon", "3", "--runs", "2000")
	// The options of a training are attacked as they are given.
	var own, small struct {
		Move float64 `json:"move_to_certificate"`
	}
	for _, c := range []struct {
		into *struct {
			Move float64 `json:"move_to_certificate"`
		}
		args []string
	}{{&small, nil}, {&own, []string{"--clip", "50"}}} {
		ran(t, dir, append([]string{"lab", "audit", "pairs", "--json", "--runs", "40"},
			c.args...)...).exits(exitOK).decode(c.into)
	}
	if !(small.Move > 0.99 && own.Move < 0.1) {
		t.Errorf("moves %v with the clip of the audit, %v with one that clips nothing", small.Move, own.Move)
	}
}

// Hidden steps cannot be attacked with the usual runs: the verdict says so.
func TestAuditSaysWhereItHasNoPower(t *testing.T) {
	ran(t, t.TempDir(), "lab", "audit", "convergent-descent", "-n", "20", "--runs", "400").exits(exitOK).prints("no power",
		"These runs do NOT refute this value; try more --runs, or")
	// If these runs cannot tell the gap from the gap of half the claim, the control gives a number of runs.
	out := mustRun(t, t.TempDir(), strings.Fields("lab audit moments -n 400 -d 4 --set choose-interactions=1 "+
		"--epsilon 200 --runs 60")...)
	if !regexp.MustCompile(`this value; use at least about \d{3,}`).MatchString(out) {
		t.Errorf("no number of runs: %s", out)
	}
}

// A time limit and an interrupt end with the bound so far.
func TestAuditEndsWithTheBoundSoFar(t *testing.T) {
	sizes.NotShort(t, "slow")
	dir := t.TempDir()
	ran(t, dir, "lab", "audit", "subsampled-descent", "-n", "20", "--steps", "4", "--time", "200ms").exits(exitOK).prints(
		"stopped before 200000 runs (time)", "audited     epsilon >= ")
	t.Chdir(dir)
	ctx, stop := context.WithCancel(context.Background())
	const after = 500 * time.Millisecond
	start := time.Now()
	time.AfterFunc(after, stop)
	code, out, errs := hooked(ctx, hooks{}, "lab", "audit", "dpgdsc", "--runs", "10000000")
	if took := time.Since(start) - after; code != exitCancelled || !strings.Contains(out, "(interrupt)") ||
		took > time.Second {
		t.Errorf("exit %d, %v after the interrupt: %s%s", code, took, out, errs)
	}
}
