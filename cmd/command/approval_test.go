package command

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dyad/internal/must"
)

// TestApprovedRoad: a page is made without data, a run of another plan, other columns or other figures is refused before a
// charge, the digest of the page is in ledger and model, and the filled-in page differs in the part for it alone.
func TestApprovedRoad(t *testing.T) {
	dir := t.TempDir()
	mustRun(t, dir, "data", "synth", "clinic.csv", "--schema", "clinic.yaml", "-n", "400")
	schema := must.Get(os.ReadFile(filepath.Join(dir, "clinic.yaml")))(t)
	private := strings.Replace(string(schema), "public: true", "public: false", 1)
	write(t, dir, "clinic.yaml", private)
	write(t, dir, "other.yaml", strings.Replace(private, "[18, 95]", "[18, 96]", 1))
	plan := []string{"plan", "-n", "400", "--schema", "clinic.yaml", "--epsilon", "1", "--holdout", "0.25", "--holdout-epsilon", "0.5", "--study", "A <b>", "--report"}
	for _, language := range []string{"en", "de", "fr"} {
		out := mustRun(t, dir, append(plan, language+".html", "--language", language)...)
		must.Contain(t, out, "\npurpose     Not enough: the 95 % interval of the AUC will be about ")
	}
	page := text(t, dir, "de.html")
	must.Contain(t, page, `<html lang="de">`, "von insgesamt 400; jede Person hat einen; 300 zum Trainieren, 100 zurückgehalten", "A &lt;b&gt;", "18 bis 95", "never, former, current", "% Erfolg erraten", "kann eine AUC von 0,5 nicht", "Unterschrift", `<h3 id="class-pairs">`)
	for _, link := range regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if !strings.HasPrefix(link[1], "#") || !strings.Contains(page, ` id="`+link[1][1:]+`"`) {
			t.Errorf("a link to %q, which the page does not have", link[1])
		}
	}
	body, _, _ := strings.Cut(page, `<section class="appendix"`)
	_, body, _ = strings.Cut(body, "</style>")
	must.Equal(t, regexp.MustCompile(`\d\.\d{5,}|\b[a-z]+_[a-z_]+\b|<script`).FindString(body), "", "the page has")
	train := func(schema, epsilon, held string, more ...string) []string {
		return append([]string{"train", "--data", "clinic.csv", "--schema", schema, "--epsilon", epsilon, "--holdout", "0.25", "--holdout-epsilon", held, "--approved", "de.html", "--out", "m.json"}, more...)
	}
	for _, args := range [][]string{
		train("clinic.yaml", "1.1", "0.5"), train("other.yaml", "1", "0.5"), train("clinic.yaml", "1", "0.6"), train("clinic.yaml", "1", "0.5", "--algorithm", "dpgdsc"),
	} {
		ends(t, dir, exitInput, "--approved de.html: the", args...)
	}
	// One option each, on which the guarantee or the weights rest; several leave the record of the plan as it is.
	options := []string{"--algorithm", "moments", "--second-moments", "diagonal", "--class-balance", "0.5", "--public-centre", "0", "--ridge", "0.5"}
	mustRun(t, dir, slices.Concat([]string{"plan", "-n", "400", "--schema", "clinic.yaml", "--report", "options.html"}, options)...)
	run := slices.Concat([]string{"train", "--data", "clinic.csv", "--schema", "clinic.yaml", "--approved", "options.html", "--out", "o.json"}, options)
	write(t, dir, "middle.yaml", strings.Replace(private, "columns:", "missing: {policy: middle}\ncolumns:", 1))
	write(t, dir, "basis.yaml", strings.Replace(private, "columns:", "basis: curve:2\ncolumns:", 1))
	mustRun(t, dir, "plan", "-n", "400", "--schema", "basis.yaml", "--report", "basis.html")
	if !strings.Contains(text(t, dir, "basis.html"), "curve:2: each column of numbers adds a curve to the score") {
		t.Error("the page does not name the basis")
	}
	write(t, dir, "visits.yaml", strings.Replace(private, "columns:\n", "persons: 400\nmax_rows_per_person: 2\ncolumns:\n  - {name: person, role: person}\n", 1))
	mustRun(t, dir, "plan", "--schema", "visits.yaml", "--epsilon", "1", "--holdout", "0.25", "--holdout-epsilon", "0.5", "--report", "visits.html")
	must.Contain(t, text(t, dir, "visits.html"), "at epsilon 0.5 of 100 persons, which cover", "at epsilon 0.5 of 100 persons cannot tell", "under two ids")
	write(t, dir, "named.yaml", strings.Replace(private, "data_id: ", "data_id: another-", 1))
	for _, change := range []string{
		"--second-moments full", "--class-balance 0.4", "--public-centre 0.1,0,0,0,0,0,0,0,0,0,0", "--ridge 0.6", "--clip-radius 0.9", "--radius 2", "--second-share 0.2", "--epsilon 0.9", "--delta 1e-6",
		"--data-id other", "--schema other.yaml", "--schema middle.yaml", "--schema basis.yaml", "--schema named.yaml", "--holdout 0.1",
	} {
		ends(t, dir, exitInput, "--approved options.html: the ", slices.Concat(run, strings.Fields(change))...)
	}
	// One visible number, and a page that is filled in already.
	write(t, dir, "edited.html", strings.Replace(page, "18 bis 95", "18 bis 96", 1))
	ends(t, dir, exitInput, "was changed after it was written", append(train("clinic.yaml", "1", "0.5"), "--approved", "edited.html")...)
	must.Err(os.Stat(filepath.Join(dir, "state", "dyad", "ledger.jsonl")))(t, "a refused run has made a ledger")
	mustRun(t, dir, run...)
	mustRun(t, dir, "report", "o.json", "--approved", "options.html", "--out", "options-after.html")
	for _, language := range []string{"en", "fr"} {
		mustRun(t, dir, append(train("clinic.yaml", "1", "0.5"), "--approved", language+".html", "--out", language+".json")...)
	}
	mustRun(t, dir, train("clinic.yaml", "1", "0.5")...)
	sum := sha256.Sum256([]byte(page))
	for _, file := range []string{"m.json", filepath.Join("state", "dyad", "ledger.jsonl")} {
		must.Contain(t, text(t, dir, file), hex.EncodeToString(sum[:]))
	}
	mustRun(t, dir, "report", "m.json", "--approved", "de.html", "--figures", "m.figures.json", "--out", "after.html")
	part := regexp.MustCompile(`(?s)<div id="after-the-run">.*</div><!-- /after-the-run -->`)
	after := text(t, dir, "after.html")
	if part.ReplaceAllString(after, "") != part.ReplaceAllString(page, "") || !strings.Contains(part.FindString(after), "<dd>nichts</dd>") {
		t.Errorf("the page changed elsewhere, or does not state what changed:\n%s", part.FindString(after))
	}
	// The page does not state "nothing has changed" if its figures were not approved.
	mustRun(t, dir, "evaluate", "m.json", "--data", "clinic.csv", "--holdout", "0.25", "--epsilon", "0.6", "--out", "more.json")
	mustRun(t, dir, "report", "m.json", "--approved", "de.html", "--figures", "more.json", "--out", "more.html")
	if more := part.FindString(text(t, dir, "more.html")); strings.Contains(more, "nichts") || !strings.Contains(more, "Epsilon 0,6") {
		t.Errorf("figures of another epsilon: %s", more)
	}
	// It does not state so either if a second run used the page, or if the ledger that counts its runs is not found.
	again := mustRun(t, dir, append(train("clinic.yaml", "1", "0.5"), "--out", "again.json")...)
	must.Contain(t, again, "was charged with the same approved page, which allows one run")
	for _, model := range []string{"m", "again"} {
		mustRun(t, dir, "report", model+".json", "--approved", "de.html", "--out", model+"-2.html")
		must.Contain(t, part.FindString(text(t, dir, model+"-2.html")), "<dd>die Zahl der Läufe: 2 wurden mit dieser Seite abgerechnet")
	}
	must.Do(t, os.Rename(filepath.Join(dir, "state"), filepath.Join(dir, "away")))
	mustRun(t, dir, "report", "m.json", "--approved", "de.html", "--out", "away.html")
	must.Contain(t, part.FindString(text(t, dir, "away.html")), "<dd>nicht bekannt, da das Hauptbuch")
	// Ranges from the data, and data that are public: the page does not state a risk.
	write(t, dir, "data.yaml", strings.Replace(private, "range: [18, 95]", "range: [18, 95], from_data: true", 1))
	write(t, dir, "public.yaml", string(schema))
	for _, schema := range []string{"data.yaml", "public.yaml"} {
		mustRun(t, dir, "plan", "-n", "300", "--schema", schema, "--report", schema+".html")
		if page := text(t, dir, schema+".html"); strings.Contains(page, "% success") || !strings.Contains(page, "The guarantee does not hold:") {
			t.Errorf("%s: the page states a risk", schema)
		}
	}
	ends(t, dir, exitInput, "was trained with the page", "report", "m.json", "--approved", "fr.html", "--out", "x.html")
}

func text(t *testing.T, dir, file string) string {
	t.Helper()
	b := must.Get(os.ReadFile(filepath.Join(dir, file)))(t)
	return string(b)
}

// TestApprovedPageOfGroups: a page without the query groups of the training names them as the cause, and how to give them.
func TestApprovedPageOfGroups(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "g.yaml", "data_id: g\ncsv: {header: true}\ncolumns:\n  - {name: q, role: group}\n  - {name: a, range: [0, 1]}\n  - {name: y, role: label, positive: \"1\", negative: \"0\"}\n")
	write(t, dir, "g.csv", "q,a,y\n"+strings.Repeat("A,0.5,0\nA,0.7,1\n", 5)+strings.Repeat("B,0.4,0\nB,0.9,1\n", 5))
	plan := []string{"plan", "-n", "20", "--schema", "g.yaml", "--report"}
	train := []string{"train", "--data", "g.csv", "--schema", "g.yaml", "--out", "m.json", "--approved"}
	mustRun(t, dir, append(plan, "without.html")...)
	ends(t, dir, exitInput, "no or other query groups", append(train, "without.html")...)
	ends(t, dir, exitInput, "--set group-sizes=S,...", append(train, "without.html")...)
	mustRun(t, dir, append(plan, "with.html", "--set", "group-sizes=10,10")...)
	mustRun(t, dir, append(train, "with.html")...)
}
