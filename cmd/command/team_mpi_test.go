//go:build linux

package command

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"dyad/internal/crash"
	"dyad/internal/must"
	"dyad/internal/sizes"
)

// mpirun is the launcher of so many ranks of Open MPI; the test is skipped without it.
func mpirun(t *testing.T, size int) []string {
	t.Helper()
	sizes.NotShort(t, "slow")
	path, err := exec.LookPath("mpirun")
	if err != nil {
		t.Skip("mpirun is missing: install openmpi-bin; .ci/run does")
	}
	t.Setenv("OMPI_ALLOW_RUN_AS_ROOT", "1")
	t.Setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
	return []string{path, "--oversubscribe", "-n", strconv.Itoa(size)}
}

// mpiJob runs the program as an MPI job with a fault, or alone for 0 ranks, and waits until no
// process of it is left.
func mpiJob(t *testing.T, dir string, size int, s crash.Spec) ended {
	t.Helper()
	s.Ranks = t.TempDir()
	if size > 0 {
		s.Launch = mpirun(t, size)
		s.Args = append(slices.Clone(s.Args), "--team", "mpi")
	}
	c := crash.Start(t, t.TempDir(), s)
	e := c.End()
	files, err := filepath.Glob(filepath.Join(s.Ranks, "rank-*"))
	if err != nil || len(files) != max(size, 1) {
		t.Fatalf("%d processes started, want %d (%v): %s", len(files), max(size, 1), err, e.Stderr)
	}
	for _, name := range files {
		text := must.Get(os.ReadFile(name))(t)
		pid := must.Get(strconv.Atoi(string(text)))(t)
		for began := time.Now(); syscall.Kill(pid, 0) == nil; time.Sleep(50 * time.Millisecond) {
			if time.Since(began) > 20*time.Second {
				t.Fatalf("%s is still there after the job", filepath.Base(name))
			}
		}
	}
	return e
}

// TestMPIBytes: three processes under mpirun write the model of one.
func TestMPIBytes(t *testing.T) {
	mpirun(t, 3)
	dir := clinic(t, 9000)
	t.Chdir(dir)
	for name, args := range map[string][]string{
		"near-linear": {"--algorithm", "gradient-perturbation", "--steps", "10"},
		"moments":     {"--algorithm", "moments-descent"},
		"metric":      {"--task", "metric", "--algorithm", "gradient-perturbation", "--steps", "2", "--holdout", "0.9"},
	} {
		args = append([]string{"train", "--data", "patients.csv", "--schema", "patients.yaml", "--seed", "7", "--force", "--workers", "2", "--ledger", "l.jsonl"}, args...)
		mpiJob(t, dir, 0, crash.Spec{Args: append(args, "--out", "one.json")}).Want(t, name, exitOK, "")
		e := mpiJob(t, dir, 3, crash.Spec{Args: append(args, "--out", "team.json", "--verbose")})
		if e.Want(t, name, exitOK, ""); !t.Failed() && !sameButRun(t, "one.json", "team.json") {
			t.Errorf("%s: the model of three processes differs from the model of one process", name)
		}
		if name == "near-linear" && !strings.Contains(e.Stdout, "near-linear") {
			t.Errorf("the records were not shared:\n%s", e.Stdout)
		}
	}
}

// TestMPIKills: whichever process is killed, at whatever stage, the run is charged once, releases
// nothing, and another number of processes finishes it. Ordinarily each stage has one of the kills.
func TestMPIKills(t *testing.T) {
	mpirun(t, 3)
	again := []int{0, 2, 1, 4, 0, 4, 2, 0, 4, 2} // processes of the attempt that resumes; 0 is without MPI
	for i, fault := range []string{"kill", "kill rank 1"} {
		for j, stage := range []string{"charged", "bound", "training", "trained", "kept"} {
			if !sizes.Full() && i != j%2 {
				continue
			}
			again := again[5*i+j]
			t.Run(fmt.Sprintf("%s, %s, resumed by %d", fault, stage, again), func(t *testing.T) {
				dir := clinic(t, 9000)
				t.Chdir(dir)
				args := []string{"train", "--data", "patients.csv", "--schema", "patients.yaml", "--algorithm", "gradient-perturbation", "--steps", "30", "--checkpoint-every", "1ns", "--ledger", "l.jsonl", "--out", "team.json"}
				if e := mpiJob(t, dir, 3, crash.Spec{Args: args, Stage: stage, Fault: fault}); e.Code == exitOK {
					t.Fatalf("a process was killed, and the job ended well: %s", e.Stderr)
				}
				run := wantCharged(t, 0)
				if _, err := os.Stat("team.json"); err == nil {
					t.Fatal("a killed job left a model")
				}
				says := ""
				if stage != "charged" && stage != "bound" {
					says = "continued after step"
				}
				mpiJob(t, dir, again, crash.Spec{Args: append(args, "--resume", run)}).Want(t, "resume", exitOK, says)
				wantCharged(t, 1)
				must.Check(os.Stat("team.json"))(t)
			})
		}
	}
}

// TestMPIInterrupt: an interrupt of rank 0 ends all processes in good order.
func TestMPIInterrupt(t *testing.T) {
	mpirun(t, 3)
	dir := clinic(t, 9000)
	t.Chdir(dir)
	args := []string{"train", "--data", "patients.csv", "--schema", "patients.yaml", "--algorithm", "gradient-perturbation", "--steps", "30", "--ledger", "l.jsonl", "--out", "team.json"}
	mpiJob(t, dir, 3, crash.Spec{Args: args, Stage: "training", Fault: "interrupt"}).Want(t, "interrupt", exitCancelled, "continues it at no further cost")
	wantCharged(t, 0)
}

// TestMPIHung: a process that does not answer ends the job after the deadline. The others spin until then.
func TestMPIHung(t *testing.T) {
	mpirun(t, 3)
	dir := clinic(t, 9000)
	t.Chdir(dir)
	args := []string{"train", "--data", "patients.csv", "--schema", "patients.yaml", "--algorithm", "gradient-perturbation", "--steps", "30", "--ledger", "l.jsonl", "--out", "team.json"}
	e := mpiJob(t, dir, 3, crash.Spec{Args: append(args, "--team-deadline", "2s"), Stage: "training", Fault: "stop rank 1"})
	if e.Code == exitOK || !strings.Contains(e.Stderr, "a process does not answer within 2s") {
		t.Errorf("exit %d: %s", e.Code, e.Stderr)
	}
	mpiJob(t, dir, 0, crash.Spec{Args: append(args, "--resume", wantCharged(t, 0))}).Want(t, "resume", exitOK, "")
	wantCharged(t, 1)
}
