package command

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"dyad/engine/dataset"
)

// partFlag is the flag for carrying out a part of many runs, for job arrays.
type partFlag struct {
	Part  string   `xor:"part" not:"plot report" why:"a part has no page and no plot; ask for them with --merge" placeholder:"I/N" help:"Run only part I of N, and write a separate file. I counts from 1. auto/N: take I from a Slurm task (from 1) or a Kubernetes index (from 0). auto: take N, too, from Slurm tasks 1 to N."`
	Merge []string `xor:"part" sep:"," placeholder:"FILE" help:"Join these parts: files, a folder or a pattern. Repeat their flags; the result equals a single run."`
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
		why = "want I/N or auto/N, where N is the number of parts"
	case share != "auto" && !two:
		why = "want I/N, auto/N or auto"
	case share != "auto":
		part, err = strconv.Atoi(share)
	case task != "" && index != "":
		why = "both SLURM_ARRAY_TASK_ID and JOB_COMPLETION_INDEX are set; write the part as I/N, such as 2/8"
	case task != "":
		if part, err = strconv.Atoi(task); err == nil && !two {
			// An array of only some tasks, such as the failed ones, does not contain the number of parts.
			if parts, err = strconv.Atoi(os.Getenv("SLURM_ARRAY_TASK_MAX")); err != nil ||
				os.Getenv("SLURM_ARRAY_TASK_MIN") != "1" || os.Getenv("SLURM_ARRAY_TASK_COUNT") != strconv.Itoa(parts) {
				why = "the Slurm array must have tasks 1 to N (sbatch --array=1-N); for another array, write " +
					"--part auto/N"
			}
		}
	case index != "" && !two:
		why = "Kubernetes does not tell the number of parts; write auto/N, where N is the job's number of completions"
	case index != "":
		part, err = strconv.Atoi(index)
		part++
	default:
		why = "neither SLURM_ARRAY_TASK_ID nor JOB_COMPLETION_INDEX is set; write the part as I/N, such as 2/8"
	}
	if why == "" && (err != nil || part < 1 || part > parts) {
		why = fmt.Sprintf("part %d of %d does not exist; number parts from 1 (in Slurm: sbatch --array=1-%d)", part,
			parts, max(parts, 1))
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
