package command

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"dyad/internal/files"
	"dyad/privacy"
	"dyad/privacy/durable"
)

// trackFlag is the flag that requests a run folder.
type trackFlag struct {
	Track string `placeholder:"DIR" help:"Also write an MLflow run folder (mlruns). For private data, it has only charged releases."`
}

// checkTrack makes sure, before anything is charged, that the folder can be written.
func (f trackFlag) checkTrack() error {
	if f.Track == "" {
		return nil
	}
	if err := os.MkdirAll(f.Track, 0o755); err != nil {
		return badInput("the folder of --track cannot be made: %v", err)
	}
	probe, err := durable.Create(f.Track, durable.TempPrefix, "")
	if err != nil {
		return badInput("--track: cannot write to %s: %v", f.Track, err)
	}
	probe.Remove()
	return nil
}

// trackedRun holds the contents of a run folder: a released model, and figures that were charged or, for public
// data, exact figures. The folder depends only on these contents and on its own path, so it reveals nothing
// else.
type trackedRun struct {
	model   *model
	text    []byte         // content of the model file
	figures *privateResult // charged figures, nil if there are none
	open    *evaluation    // exact figures of public records, nil if there are none
}

// write writes the run folder. The charged results must be printed and saved before. file is the name of the
// model file, or "" if the model is not saved.
func (f trackFlag) write(a *app, file string, r trackedRun) error {
	if f.Track == "" {
		return nil
	}
	var err error
	if file != "" {
		r.text, err = os.ReadFile(file)
	} else {
		r.text, err = r.model.Text()
	}
	var at string
	if err == nil {
		at, err = r.save(f.Track)
	}
	if err != nil {
		again := pick(file != "", fmt.Sprintf(`; write it at no cost with "dyad report %s --track DIR"`, file), "")
		return fmt.Errorf("the run folder was not written: %w%s", err, again)
	}
	a.note("dyad: the run folder is %s", at)
	return nil
}

// saved writes the folder of a model that received its name by --resume, if a folder is requested.
func (f trackFlag) saved(a *app, r *runOutcome) error {
	if f.Track == "" || r.Model == "" {
		return nil
	}
	m, err := readModel(r.Model)
	if err != nil {
		return err
	}
	return f.write(a, r.Model, trackedRun{model: m})
}

// ids returns the id of the experiment, which identifies the data, and the id of the run, which identifies the
// model. MLflow requires decimal digits for the former and hexadecimal digits for the latter.
func (r trackedRun) ids() (experiment, run string) {
	of, made := sha256.Sum256([]byte(r.model.DataID)), sha256.Sum256(r.text)
	return fmt.Sprintf("%018d", binary.BigEndian.Uint64(of[:8])%1e18), hex.EncodeToString(made[:16])
}

// mostTracked is the largest size of a model that is copied to a run folder.
const mostTracked = files.MaxSmallBytes

// save writes the folder of the run below root and returns its path. Files in an existing folder are replaced by
// their new versions.
func (r trackedRun) save(root string) (string, error) {
	whole, err := filepath.Abs(root)
	if err != nil {
		return "", err
	}
	experiment, run := r.ids()
	dir := filepath.Join(whole, experiment, run)
	for _, sub := range []string{"params", "metrics", "tags", "artifacts"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return "", err
		}
	}
	at := r.model.Created.UnixMilli()
	out := map[string][]byte{
		// quoted as in JSON, which is valid YAML
		"meta.yaml": fmt.Appendf(nil, "artifact_uri: %q\nend_time: %d\nentry_point_name: \"\"\nexperiment_id: %q\n"+
			"lifecycle_stage: \"active\"\nrun_id: %q\nrun_name: %q\nrun_uuid: %[4]q\nsource_name: \"\"\nsource_type: 4\n"+
			"source_version: \"\"\nstart_time: %[2]d\nstatus: 3\ntags: []\nuser_id: \"\"\n",
			fileURI(filepath.Join(dir, "artifacts")), at, experiment, run, r.name()),
		"artifacts/guarantee.txt": []byte(r.model.Guarantee.Report()),
	}
	params, metrics := r.params(), r.metrics()
	for name, v := range params {
		out["params/"+name] = []byte(v)
	}
	for name, v := range metrics {
		out["metrics/"+name] = fmt.Appendf(nil, "%d %v 0\n", at, v)
	}
	for name, v := range map[string]string{"mlflow.runName": r.name(), "mlflow.source.name": "dyad " + version,
		"mlflow.source.type": "LOCAL", "dyad.data_id": r.model.DataID, "dyad.run": r.model.Run, "dyad.guarantee": r.model.Guarantee.Words()} {
		out["tags/"+name] = []byte(v)
	}
	if len(r.text) <= mostTracked {
		out["artifacts/model.json"] = r.text
	}
	if r.figures != nil { // leave out the contents of the ledger and the paths of files
		kept := *r.figures
		kept.Name, kept.Ledger, kept.Spent, kept.Seconds, kept.Evaluated, kept.Out = "", "", nil, 0, "", ""
		if out["artifacts/figures.json"], err = indented(kept); err != nil {
			return "", err
		}
	}
	if out["artifacts/params.json"], err = indented(params); err != nil {
		return "", err
	}
	if out["artifacts/metrics.json"], err = indented(metrics); err != nil {
		return "", err
	}
	about := filepath.Join(whole, experiment, "meta.yaml")
	if _, err := os.Stat(about); errors.Is(err, fs.ErrNotExist) {
		text := fmt.Appendf(nil, "artifact_location: %q\ncreation_time: %d\nexperiment_id: %q\nlast_update_time: %[2]d\n"+
			"lifecycle_stage: \"active\"\nname: %[4]q\n", fileURI(filepath.Join(whole, experiment)), at, experiment,
			"dyad "+r.model.DataID)
		if err := files.Replace(about, text); err != nil {
			return "", err
		}
	}
	// meta.yaml is written last, because a tracker recognises a run by this file.
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(out))) {
		if name != "meta.yaml" {
			if err := files.Replace(filepath.Join(dir, filepath.FromSlash(name)), out[name]); err != nil {
				return "", err
			}
		}
	}
	return filepath.Join(root, experiment, run), files.Replace(filepath.Join(dir, "meta.yaml"), out["meta.yaml"])
}

// name returns the name of the run in the tracker.
func (r trackedRun) name() string {
	name := reportOf(r.model).Word("algorithm")
	if r.model.Guarantee.Epsilon > 0 {
		name += " epsilon " + privacy.FormatUp(r.model.Guarantee.Epsilon)
	}
	return strings.TrimSpace(name + " " + r.model.Created.UTC().Format("2006-01-02 15:04:05"))
}

// longestParam is the largest length of a value for a tracker. Longer values are only in the model.
const longestParam = 500

var notInKey = regexp.MustCompile(`[^\w\-. ]`)

// trackKey returns a name in a form that trackers accept and that is a valid file name.
func trackKey(name string) string { return notInKey.ReplaceAllString(name, "_") }

// params returns the public numbers of the run, as in its report, and its options.
func (r trackedRun) params() map[string]string {
	out := map[string]string{"task": r.model.Task, "guarantee_kind": string(r.model.Guarantee.Kind),
		"unit": r.model.Guarantee.Unit, "features": strconv.Itoa(len(r.model.Features))}
	add := func(prefix string, text []byte) {
		var all map[string]json.RawMessage
		if json.Unmarshal(text, &all) != nil {
			return
		}
		for name, v := range all {
			word := string(v)
			if text := ""; json.Unmarshal(v, &text) == nil {
				word = text
			}
			if name != "guarantee" && len(word) <= longestParam && word != "" && word != "null" {
				out[prefix+trackKey(name)] = word
			}
		}
	}
	if text, err := json.Marshal(reportOf(r.model)); err == nil {
		add("", text)
	}
	if text, err := json.Marshal(r.model.Options); err == nil {
		add("option.", text)
	}
	maps.DeleteFunc(out, func(_, v string) bool { return v == "" })
	return out
}

// metrics returns the guarantee and the figures, which were charged or are exact figures of public records.
func (r trackedRun) metrics() map[string]float64 {
	out := map[string]float64{}
	guarantee := func(prefix string, g privacy.Guarantee) {
		if g.Kind == privacy.ApproxDP || g.Kind == privacy.PureDP {
			out[prefix+"epsilon"], out[prefix+"delta"] = g.Epsilon, g.Delta
		}
	}
	guarantee("", r.model.Guarantee)
	if r.figures != nil {
		guarantee("evaluation_", r.figures.Guarantee)
		f := r.figures.Figures
		if f.AUC != nil {
			out["auc"], out["auc_low"], out["auc_high"] = f.AUC.Value, f.AUC.Low, f.AUC.High
		}
		if f.MeanLoss != nil {
			out["mean_loss"] = f.MeanLoss.Value
		}
		for _, right := range f.Right {
			out["accuracy "+trackKey(right.Classifier)] = right.Value
		}
	}
	if e := r.open; e != nil {
		for name, v := range map[string]*float64{"auc": e.AUC, "auc_low": e.AUCLow, "auc_high": e.AUCHigh,
			"accuracy": e.Accuracy, "objective": e.Objective, "ndcg": e.NDCG, "precision": e.Precision, "ranking_accuracy": e.Ranking} {
			if v != nil {
				out[name] = *v
			}
		}
		for _, k := range e.KNN {
			out[fmt.Sprintf("accuracy %d-NN", k.K)] = k.Learned
		}
	}
	maps.DeleteFunc(out, func(_ string, v float64) bool { return math.IsInf(v, 0) || math.IsNaN(v) })
	return out
}

func fileURI(path string) string {
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()
}
