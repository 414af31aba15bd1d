package tree

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dyad/internal/must"
)

// decoders are calls that turn bytes from outside into values, by package and function; "*" is any
// value with such a method.
var decoders = map[string]bool{
	"json.Unmarshal": true, "json.NewDecoder": true, "strictyaml.Parse": true, "yaml.Unmarshal": true, "yaml.NewDecoder": true, "files.ReadJSON": true,
	"os.ReadFile": true, "io.ReadAll": true, "bufio.NewReader": true, "bufio.NewScanner": true, "bufio.NewReaderSize": true, "bufio.NewReadWriter": true, "csv.NewReader": true,
	"gzip.NewReader": true, "zstd.NewReader": true, "zip.NewReader": true, "parquet.OpenFile": true, "binary.Read": true, "gob.NewDecoder": true,
	"readSealed": true, "parser.Parse": true, "durable.Read": true,
}

// decodes lists the decoders that a file calls.
func decodes(f *ast.File) (found []string) {
	for call := range nodes[*ast.CallExpr](f) {
		if name := dotted(call.Fun); decoders[name] && !slices.Contains(found, name) {
			found = append(found, name)
		}
	}
	return found
}

// parsers are the files that read bytes from outside, with their fuzz targets (folder:target), or the
// reason why there is none.
var parsers = map[string]string{
	"cmd/command/approval.go":                 "internal/page:FuzzApproved",
	"internal/page/approval.go":               "reads texts.json, which is embedded",
	"algorithms/report.go":                    "algorithms:FuzzReport",
	"algorithms/facts.go":                     "algorithms:FuzzReport",
	"algorithms/checkpoint.go":                "algorithms:FuzzCheckpoint",
	"algorithms/online_state.go":              "algorithms:FuzzStreamState",
	"algorithms/online/stream.go":             "algorithms:FuzzStreamState",
	"algorithms/seal.go":                      "algorithms:FuzzCheckpoint",
	"algorithms/local/serve/http.go":          "algorithms/local/serve:FuzzSubmission",
	"algorithms/local/serve/remote.go":        "algorithms/local/serve:FuzzResponse",
	"algorithms/local/serve/wire.go":          "algorithms/local/serve:FuzzSubmission",
	"algorithms/local/serve/log.go":           "algorithms/local/serve:FuzzLog",
	"algorithms/local/serve/memory.go":        "algorithms/local/serve:FuzzMemory",
	"algorithms/local/serve/token.go":         "algorithms/local/serve:FuzzTokenKey",
	"algorithms/local/serve/protocol.go":      "algorithms/local/serve:FuzzProtocol",
	"algorithms/audit/parts.go":               "algorithms/audit:FuzzPart",
	"docs/checker/checker.go":                 "docs/checker:FuzzCheck",
	"docs/checker/check/main.go":              "docs/checker:FuzzCheck",
	"cmd/command/judged.go":                   "docs/checker:FuzzCheck",
	"docs/checker/passing.go":                 "internal/face:FuzzModel",
	"engine/dataset/images/images.go":         "engine/dataset/images:FuzzRead",
	"engine/layers/built.go":                  "engine/layers:FuzzParse",
	"search.go":                               "internal/face:FuzzReadJSON",
	"cmd/command/verify.go":                   "docs/checker:FuzzCheck",
	"engine/dataset/pack.go":                  "engine/dataset:FuzzPackHeader",
	"autodiff/parse.go":                       "autodiff:FuzzParse",
	"cmd/command/search_candidates.go":        "cmd/command:FuzzCandidates",
	"cmd/command/config.go":                   "cmd/command:FuzzConfig",
	"figures.go":                              "internal/face:FuzzReadJSON",
	"cmd/command/track.go":                    "it copies the model file that this run wrote or read, and decodes a report that it encoded itself",
	"cmd/command/decision.go":                 "it reads back a table that it wrote itself",
	"cmd/command/report_model.go":             "cmd/command:FuzzReportTables",
	"cmd/command/local_server.go":             "algorithms/local/serve:FuzzProtocol",
	"engine/cuda/slope.go":                    "engine/cuda:FuzzSplice",
	"engine/dataset/arff/reader.go":           "engine/dataset:FuzzARFF",
	"engine/dataset/csv/reader.go":            "engine/dataset:FuzzCSV",
	"engine/dataset/source/decompress.go":     "engine/dataset:FuzzCSV",
	"engine/dataset/csv_rows.go":              "engine/dataset:FuzzCSV",
	"engine/dataset/npz_load.go":              "engine/dataset:FuzzArrays",
	"engine/dataset/drafts/named.go":          "engine/dataset:FuzzDraft",
	"engine/dataset/source/input.go":          "engine/dataset:FuzzParquet",
	"engine/dataset/sparse/csr.go":            "engine/dataset:FuzzCSR",
	"engine/dataset/drafts/draft.go":          "engine/dataset:FuzzDraft",
	"engine/dataset/schema/drafted.go":        "engine/dataset:FuzzDrafted",
	"engine/dataset/schema/answers.go":        "engine/dataset:FuzzAnswers",
	"engine/dataset/schema/encoder.go":        "engine/dataset:FuzzEncoder",
	"engine/dataset/array/idx.go":             "engine/dataset:FuzzArrays",
	"engine/dataset/jsonl/reader.go":          "engine/dataset:FuzzJSONL",
	"engine/dataset/sparse/pairs.go":          "engine/dataset:FuzzLIBSVM",
	"engine/dataset/load.go":                  "engine/dataset:FuzzParquet",
	"engine/dataset/array/npy.go":             "engine/dataset:FuzzArrays",
	"engine/dataset/npz_records.go":           "engine/dataset:FuzzArrays",
	"engine/dataset/array_csr.go":             "engine/dataset:FuzzCSR",
	"engine/dataset/array_load.go":            "engine/dataset:FuzzArrays",
	"engine/dataset/pairs.go":                 "engine/dataset:FuzzPairs",
	"engine/dataset/parquet/reader.go":        "engine/dataset:FuzzParquet",
	"engine/dataset/schema/parse.go":          "engine/dataset:FuzzSchema",
	"engine/dataset/strictyaml/strictyaml.go": "engine/dataset/strictyaml:FuzzParse",
	"engine/layers/spec.go":                   "engine/layers:FuzzParse",
	"internal/experiment/table.go":            "internal/experiment:FuzzTable",
	"internal/experiment/plan.go":             "internal/experiment:FuzzPlan",
	"internal/files/output.go":                "internal/face:FuzzReadJSON",

	"cmd/command/run.go":                       "the arguments of the command line, by kong",
	"cmd/command/ask.go":                       "lines that a person types",
	"cmd/command/data_schema.go":               "hands answers to dataset.ParseAnswers, and takes words of a person",
	"cmd/command/holdout.go":                   "compares the hash of a model",
	"cmd/command/local_client.go":              "certificates, by crypto/x509",
	"engine/cuda/auto.go":                      "a file that is embedded",
	"engine/cuda/ptxtest/host.go":              "sources of the kernels, for tests",
	"engine/dataset/catalog/fetch.go":          "unpacks an archive within a limit, by the standard library, and compares the SHA-256 of what comes out",
	"engine/dataset/catalog/hash.go":           "hashes what it unpacks, and parses nothing",
	"engine/dataset/drafts/numbered.go":        "engine/dataset:FuzzDraft",
	"engine/cuda/named.go":                     "a file that is embedded",
	"cmd/command/device.go":                    "engine/cuda:FuzzModels",
	"engine/cuda/timemodel.go":                 "engine/cuda:FuzzModels",
	"internal/experiment/paper.go":             "results that the program wrote, for pages about public data",
	"internal/experiment/reproduce/outside.go": "results that the program wrote, for pages about public data",
	"internal/experiment/peer.go":              "answers of a program that the user names",
	"internal/crash/syscalls/cell.go":          "for tests",
	"internal/crash/syscalls/strace.go":        "for tests",
	"internal/crash/syscalls/template.go":      "for tests",
	"internal/crash/crash.go":                  "for tests",
	"cmd/command/kindtest/kindtest.go":         "for tests",
	"internal/files/shelf.go":                  "compares the hash of a kept model",
	"internal/home/main.go":                    "sources of this module",
	"internal/machine/cases/cpu.go":            "the name of the processor, by the kernel",
	"internal/machine/cases/peers.go":          "times that programs of the laboratory measured, for a table",
	"internal/mutants/main.go":                 "its own log",
	"internal/mutants/patch.go":                "patches and sources of this module",
	"internal/memory/memory_linux.go":          "numbers of the kernel",
	"privacy/privtest/golden.go":               "for tests",

	"clusters.go":                 "internal/face:FuzzClusters",
	"model.go":                    "internal/face:FuzzModel",
	"internal/texts/texts.go":     "internal/face:FuzzModel",
	"internal/hostile/hostile.go": "for tests",
	"privacy/account/codec.go":    "privacy/account:FuzzEvents",
	"internal/release/main.go":    "files of this module",
	"internal/release/parts.go":   "what go list says",
	"privacy/ledger/compact.go":   "privacy/ledger:FuzzLedger",
	"privacy/ledger/count.go":     "privacy/ledger:FuzzCount",
	"privacy/ledger/file.go":      "privacy/ledger:FuzzLedger",
	"privacy/ledger/record.go":    "privacy/ledger:FuzzLedger",
	"privacy/ledger/sign.go":      "privacy/ledger:FuzzSignature",
	"privacy/ledger/signature.go": "privacy/ledger:FuzzSignature",
	"internal/files/sign.go":      "privacy/ledger:FuzzSignature",
	"privacy/durable/document.go": "it reads for others, and parses nothing",
}

// TestEveryParserIsFuzzed: what reads bytes from outside is in the list, with a target that is there.
func TestEveryParserIsFuzzed(t *testing.T) {
	t.Chdir("../..")
	target := regexp.MustCompile(`^[a-z/.]+:Fuzz\w+$`)
	for s := range sources(t) {
		if calls := decodes(s.file); len(calls) > 0 && !strings.HasPrefix(s.name, "bench/") && parsers[s.name] == "" {
			t.Errorf("%s calls %s: add a fuzz target, and name it in the list", s.name, strings.Join(calls, ", "))
		}
	}
	for name, at := range parsers {
		must.Check(os.Stat(filepath.FromSlash(name)))(t)
		if !target.MatchString(at) {
			continue // a reason
		}
		folder, target, _ := strings.Cut(at, ":")
		if !hasTarget(t, folder, target) {
			t.Errorf("%s: %s has no %s", name, folder, target)
		}
	}
	// The guard catches what it is for.
	toy := made(t, "x.go", "package x\n\nfunc f() { json.NewDecoder(r).Decode(&v); readSealed(r, v); strings.Cut(a, b) }\n")
	if got := decodes(toy.file); !slices.Equal(got, []string{"json.NewDecoder", "readSealed"}) {
		t.Errorf("found %q", got)
	}
	if hasTarget(t, ".", "FuzzNothing") {
		t.Error("a target is found that is not there")
	}
}

// hasTarget reports whether a test of a folder has a fuzz target.
func hasTarget(t *testing.T, folder, target string) bool {
	t.Helper()
	return slices.ContainsFunc(everything(t), func(s source) bool {
		return s.test && s.room == folder && strings.Contains(s.text, "\nfunc "+target+"(f *testing.F) {")
	})
}
