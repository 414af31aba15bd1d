package command

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"dyad/algorithms/audit"
	"dyad/engine/dataset"
	"dyad/internal/files"
)

// partFlag is the flag for carrying out a part of many runs, for job arrays.
type partFlag struct {
	Part  string   `xor:"part" not:"plot report" why:"a part has no page and no plot; ask for them with --merge" placeholder:"I/N" help:"Make only part I of N, from 1, and write it to a file of its own; auto/N takes I from the job array: SLURM_ARRAY_TASK_ID, from 1, or JOB_COMPLETION_INDEX of Kubernetes, from 0. auto alone is for a Slurm array of tasks 1 to N."`
	Merge []string `xor:"part" sep:"," placeholder:"FILE,..." help:"Join the files of all parts, or a folder or a pattern of them, instead of running: the same flags give the result of a single run."`
}

// given returns the number of the part and the number of parts, or 0 and 0 without the flag.
func (f partFlag) given() (part, parts int, err error) {
	if f.Part == "" {
		return 0, 0, nil
	}
	share, of, two := strings.Cut(f.Part, "/")
	task, index := os.Getenv("SLURM_ARRAY_TASK_ID"), os.Getenv("JOB_COMPLETION_INDEX")
	why := ""
	if two {
		parts, err = strconv.Atoi(of)
	}
	switch {
	case err != nil || two && parts < 1:
		why = "want I/N or auto/N with a number of parts N"
	case share != "auto" && !two:
		why = "want I/N, auto/N or auto"
	case share != "auto":
		part, err = strconv.Atoi(share)
	case task != "" && index != "":
		why = "both SLURM_ARRAY_TASK_ID and JOB_COMPLETION_INDEX are set; write the part as I/N"
	case task != "":
		if part, err = strconv.Atoi(task); err == nil && !two {
			// An array of only some tasks, such as the failed ones, does not contain the number of parts.
			if parts, err = strconv.Atoi(os.Getenv("SLURM_ARRAY_TASK_MAX")); err != nil ||
				os.Getenv("SLURM_ARRAY_TASK_MIN") != "1" || os.Getenv("SLURM_ARRAY_TASK_COUNT") != strconv.Itoa(parts) {
				why = "this is not a Slurm array of tasks 1 to N (sbatch --array=1-N); write auto/N, which also repeats single " +
					"tasks of an array"
			}
		}
	case index != "" && !two:
		why = "Kubernetes gives a job its index but not the number of indexes; write auto/N with N the completions of the job"
	case index != "":
		part, err = strconv.Atoi(index)
		part++
	default:
		why = "neither SLURM_ARRAY_TASK_ID nor JOB_COMPLETION_INDEX is set; write the part as I/N"
	}
	if why == "" && (err != nil || part < 1 || part > parts) {
		why = fmt.Sprintf("part %d of %d, want 1 to the number of parts; tasks of a Slurm array are numbered from 1 (sbatch "+
			"--array=1-%d)", part, parts, max(parts, 1))
	}
	if why != "" {
		return 0, 0, badInput("--part %s: %s", f.Part, why)
	}
	return part, parts, nil
}

// partName returns the name of the file of a part.
func partName(prefix string, part, parts int, ending string) string {
	return fmt.Sprintf("%s-%d-of-%d%s", prefix, part, parts, ending)
}

// merged returns the files named by --merge.
func (f partFlag) merged() ([]string, error) {
	names, err := dataset.Expand(f.Merge...)
	return names, asInput(err)
}

// partResult is the JSON output of a part.
type partResult struct {
	Part  int    `json:"part"`
	Parts int    `json:"parts"`
	Runs  int    `json:"runs"`
	Out   string `json:"out"`
}

func (r partResult) text() string {
	return fmt.Sprintf("part %d of %d is in %s; --merge joins all %d\n", r.Part, r.Parts, r.Out, r.Parts)
}

// writePart carries out one part of the runs of an audit and writes its file.
func (f auditFlags) writePart(a *app, target audit.Target, part, parts int) error {
	out, err := files.NewOutput(partName(f.PartOut, part, parts, ".part"), f.Force)
	if err != nil {
		return err
	}
	bar := a.describedTracker("auditing")
	p, err := audit.RunPart(a.ctx, target, f.options(bar), part, parts)
	if a.ctx.Err() != nil {
		return a.ctx.Err()
	}
	if err != nil {
		return asInput(err)
	}
	var text bytes.Buffer
	if err := p.Write(&text); err != nil {
		return err
	}
	if err := out.Write(!files.Private, text.Bytes()); err != nil {
		return err
	}
	r := partResult{part, parts, len(p.Trials[0]), out.Path}
	return a.emit(r, r.text())
}

// join returns the report for the parts named by --merge.
func (f auditFlags) join(a *app, target audit.Target) (*audit.Report, error) {
	names, err := f.merged()
	if err != nil {
		return nil, err
	}
	var parts []*audit.Part
	for _, name := range names {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		p, err := audit.ReadPart(file)
		file.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		parts = append(parts, p)
	}
	r, err := audit.Join(a.ctx, target, f.options(a.describedTracker("auditing")), parts...)
	if errors.Is(err, audit.ErrParts) {
		err = asInput(err)
	}
	return r, err
}
