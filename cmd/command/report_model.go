package command

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"dyad/algorithms"
	"dyad/docs/checker"
	"dyad/internal/page"
	"dyad/privacy"
)

// mostWeights is the largest number of weights on a page.
const mostWeights = 40

// reportOf returns the report of a model of any kind.
func reportOf(m *model) *algorithms.Report {
	switch {
	case m.Pairs != nil:
		return m.Pairs
	case m.Tuples != nil:
		return m.Tuples
	}
	return &m.Report
}

// modelNoise returns the root mean square norm of the noise in the weights, computed from public numbers. It
// returns 0 if it is unknown. Algorithm moments adds noise to sums, from which the noise of the weights does
// not follow in this way.
func modelNoise(m *model) float64 {
	r := reportOf(m)
	if strings.HasPrefix(r.Word("algorithm"), "moment") {
		return 0
	}
	return r.Number("noise_to_radius") * r.Number("radius")
}

// addedNoise returns half the length of the 95 % interval of the noise of one weight if noise was added to the
// weights themselves; otherwise it returns 0.
func addedNoise(m *model) float64 {
	r, n, known := reportOf(m), float64(len(m.Weights)), modelNoise(m)
	sigma, scale := r.Number("sigma"), r.Number("scale")
	same := func(norm float64) bool { return norm > 0 && math.Abs(norm-known) < 1e-9*known }
	switch {
	case same(sigma * math.Sqrt(n)):
		return math.Sqrt2 * math.Erfinv(defaultConfidence) * sigma
	case r.Word("noise") == "Laplace" && same(scale*math.Sqrt(2*n)):
		return scale * math.Log(1/(1-defaultConfidence))
	}
	return 0
}

// weightsSection returns the sections with the released weights and the known amount of noise in them.
func weightsSection(m *model) []page.Section {
	s := page.Section{ID: "weights", Title: "Weights, and the noise in them"}
	length := 0.0
	for _, w := range m.Weights {
		length = math.Hypot(length, w)
	}
	noise := modelNoise(m)
	each := addedNoise(m)
	switch {
	case m.Network != nil:
		s.Text = append(s.Text, fmt.Sprintf("The model is a network of %d weights. A single weight has no meaning of its own.",
			len(m.Weights)))
	case m.Task == taskMetric:
		s.Text = append(s.Text,
			"The model is the matrix of a metric. Its diagonal shows how much each scaled feature counts.")
	default:
		s.Text = append(s.Text,
			"A score is the sum of weights times scaled features. A larger weight changes the scores more.")
		if high := direction(m.Encoder.Schema()); high != "" && m.Pairs == nil {
			s.Text = append(s.Text, "In scores, "+high+".")
		}
	}
	if noise > 0 && length > 0 {
		s.Text = append(s.Text, fmt.Sprintf("Signal and noise: the weights have length %.4g. Their noise has "+
			"length %.4g (root mean square), which is %.3g %% of the weights.",
			length, noise, 100*noise/length))
		top := max(length, noise)
		s.Tables = append(s.Tables, page.Table{Caption: "Signal and noise", Head: []string{"", "length", ""}, Rows: [][]page.Cell{
			{{Text: "released weights", Head: true}, {Text: fmt.Sprintf("%.4g", length)}, {Bar: &page.Bar{Value: length / top}}},
			{{Text: "noise alone", Head: true}, {Text: fmt.Sprintf("%.4g", noise)}, {Bar: &page.Bar{Value: noise / top}}},
		}})
	}
	if m.Network == nil {
		s.Tables = append(s.Tables, weightTable(m, each))
		s.Text = append(s.Text, intervalWords(m, each))
	}
	return []page.Section{s}
}

// intervalWords describe the intervals of weights.
func intervalWords(m *model, each float64) string {
	switch {
	case m.WeightErrors != nil:
		return "Each 95 % interval is for one weight, as if the released objective were fitted to the whole " +
			"population. It covers the noise and the sampling of the signed sum."
	case each > 0:
		return "The 95 % intervals cover the noise of each weight, but not the sampling of the records. For both, " +
			`use "dyad train --algorithm moments --set intervals".`
	}
	return `There are no intervals, so do not interpret a single weight or its sign. "dyad train --algorithm ` +
		`moments --set intervals" gives intervals.`
}

// weightTable returns a table of the largest weights. The 95 % intervals come from standard errors, or from
// noise on both sides.
func weightTable(m *model, noise float64) page.Table {
	weights, errs := m.Weights, m.WeightErrors
	if m.Task == taskMetric {
		d, square := m.Encoder.Dim(), m.Matrix()
		weights, errs = nil, nil
		for k := range d {
			weights = append(weights, square[k*d+k])
		}
	}
	names, order, top := m.Encoder.FeatureNames(), make([]int, len(weights)), 0.0
	for k, w := range weights {
		order[k] = k
		top = max(top, math.Abs(w))
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(math.Abs(weights[b]), math.Abs(weights[a])) })
	t := page.Table{Caption: "Weights, the largest first", Head: []string{"feature", "weight", "95 % interval", ""}}
	if len(order) > mostWeights {
		t.Caption += fmt.Sprintf(" (%d of %d; the model file has all weights)", mostWeights, len(order))
		order = order[:mostWeights]
	}
	z := math.Sqrt2 * math.Erfinv(defaultConfidence)
	for _, k := range order {
		e := noise
		if errs != nil {
			e = z * errs[k]
		}
		w, interval := weights[k], "–"
		b := page.Bar{}
		if scale := 1 / (top + e); top > 0 {
			b = page.Bar{Value: w * scale, Low: w * scale, High: w * scale}
			if e > 0 {
				interval = fmt.Sprintf("%+.4f to %+.4f", w-e, w+e)
				b.Low, b.High = (w-e)*scale, (w+e)*scale
			}
		}
		t.Rows = append(t.Rows, []page.Cell{{Text: names[k], Head: true}, {Text: fmt.Sprintf("%+.4f", w)},
			{Text: interval}, {Bar: &b}})
	}
	return t
}

// facts returns the rows at the top of the page of a model.
func (d document) facts() ([][2]string, error) {
	m := d.model
	if m == nil {
		return nil, nil
	}
	t, err := page.TextsOf("en")
	if err != nil {
		return nil, err
	}
	facts := [][2]string{{t.Of("data"), m.DataID}, {t.Of("made"), m.Created.Format(time.DateOnly)}}
	if unit := d.guarantee.Unit; unit != "" {
		if n := reportOf(m).Number(strings.TrimPrefix(unit, "one ") + "s"); n > 0 {
			unit += fmt.Sprintf(" of the %.0f that train", n)
		}
		if d.guarantee.Unit == algorithms.OnePerson {
			unit += ", with all rows"
		}
		facts = append(facts, [2]string{t.Of("unit"), unit})
	}
	facts = append(facts, basisFact(t, m.Encoder.Schema())...)
	if m.Run != "" {
		facts = append(facts, [2]string{t.Of("run"), m.Run})
	}
	approved := "none: no page was approved"
	if m.Approved != "" {
		approved = "SHA-256 " + m.Approved
	}
	return append(facts, [2]string{"Page that was approved before", approved}), nil
}

// verdict states in one sentence whether the figures are accurate enough.
func (d document) verdict() (says, class string) {
	switch {
	case d.model == nil || d.open != nil || d.guarantee.Kind == privacy.Public:
		return "", ""
	case d.figures == nil || d.figures.Figures.AUC == nil:
		return "This page has no figures about the quality of the model.", ""
	}
	x := *d.figures.Figures.AUC
	says = fmt.Sprintf("The AUC is between %.2f and %.2f at %g %%. The toss of a coin has an AUC of 0.5.  ", x.Low, x.High,
		100*d.figures.Figures.Confidence)
	switch {
	case x.Low <= 0.5:
		return says + "These figures do not show that the model is better than a coin.", "short"
	case x.High-x.Low > usefulWidth:
		return says + "The scores order records better than a coin does. To learn how much better, " +
			"evaluate more records, or " +
			"spend a larger epsilon.", "short"
	}
	return says + "The scores order records better than a coin does.", "enough"
}

// usefulWidth is the largest width of an AUC interval that "dyad plan --needs" accepts as narrow enough by default.
const usefulWidth = 0.2

// columnsSection returns the section on the columns with all facts about them that the guarantee treats as public.
func columnsSection(m *model) (s page.Section) {
	t, err := page.TextsOf("en")
	if err != nil || len(m.Encoder.Schema().Columns) == 0 {
		return s
	}
	return page.Section{ID: "columns", Title: t.Of("columns"), Text: []string{t.Of("columns_why")},
		Tables: []page.Table{columnsTable(t, m.Encoder.Schema())}}
}

// schedule returns the section with all contents of the plan, which are public.
func (d document) schedule() page.Section {
	s := page.Section{ID: "plan", Title: "Schedule and noise",
		Text: []string{"All numbers here follow from public ones: the number of records, the schema and the options."},
		List: shortened(d.report.Events)}
	if d.report.Events != nil {
		s.Text = append(s.Text, "The accountant counted these releases:")
	}
	facts := page.Table{Caption: "The plan"}
	text, err := json.Marshal(d.report.Values())
	if err != nil {
		s.Text = append(s.Text, "The plan cannot be shown.")
		return s
	}
	if d.recomputed() { // the report also has numbers that were not verified
		s.List, s.Text = nil, []string{"All numbers are from the plan and are public. The checker recomputed the " +
			"derived numbers."}
		var plan bytes.Buffer
		if json.Compact(&plan, d.model.Plan) == nil { // the plan may span several lines in a file
			text = plan.Bytes()
		}
	}
	more := flatten(&facts, "", text)
	s.Tables = append([]page.Table{facts}, more...)
	return s
}

// recomputed reports whether the document describes a verified file.
func (d document) recomputed() bool {
	return d.judged != nil && d.judged.Verdict.Verdict == checker.Verified
}

// flatten adds the members of a JSON object to t. For each list of objects in it, it returns a table.
func flatten(t *page.Table, prefix string, text []byte) (more []page.Table) {
	for _, m := range members(text) {
		if m.key == "max_rows_per_person" && string(m.value) == "0" { // there are no persons
			continue
		}
		name := prefix + strings.ReplaceAll(m.key, "_", " ")
		if word := planWords[name]; word != "" {
			name = word
		}
		switch m.value[0] {
		case '{':
			more = append(more, flatten(t, name+": ", m.value)...)
		case '[':
			var objects []json.RawMessage
			if json.Unmarshal(m.value, &objects) == nil && len(objects) > 0 && objects[0][0] == '{' {
				table, ok := releasedRows(objects)
				if !ok {
					table = listed(name, objects)
				}
				more = append(more, table)
				continue
			}
			fallthrough
		default:
			t.Add(name, jsonScalar(m.value))
		}
	}
	return more
}

// planWords maps the keys of a recorded plan to readable names.
var planWords = map[string]string{
	"format": "format of the plan", "mode": "mode: certified has a proof", "budget: epsilon": "epsilon",
	"budget: delta": "delta", "bounds from data": "ranges were taken from the data",
	"problem: records": "records or persons", "problem: max rows per person": "most rows counted per person",
	"problem: features": "features, encoded", "problem: norm bound": "longest record",
	"problem: label bound": "largest label", "problem: radius": "radius of the model", "problem: l2": "regularisation",
	"problem: loss: form": "model", "problem: loss: name": "loss",
	"problem: loss: formula": "formula of the loss", "problem: loss: params: m": "its parameter m",
	"problem: loss: definition": "the loss in full", "problem: constants: lipschitz": "largest slope of a pair (G)",
	"problem: constants: smoothness":    "largest curvature of a pair (L)",
	"problem: constants: pair diameter": "largest change of a pair's slope by one record (Dg)",
	"problem: constants: convex":        "the loss is convex",
	"problem: constants: origin":        "these constants were", "problem: method": "how pairs are summed",
	"problem: mean error": "rounding of a mean", "schedule: steps": "steps", "schedule: step size": "length of a step",
	"schedule: average": "the steps are averaged", "clip radius": "records are clipped to length",
}

// releasedRows returns the table of the releases of a recorded plan.
func releasedRows(objects []json.RawMessage) (page.Table, bool) {
	t := page.Table{Caption: "Releases", Head: []string{"release", "theorem", "largest change by one unit",
		"noise", "times"}}
	for _, o := range objects {
		var r struct {
			Name        string
			Certificate struct {
				Theorem     string
				Sensitivity *float64
			}
			Noise struct {
				Law   string
				Scale *float64
			}
			Event struct{ Count int }
		}
		if err := json.Unmarshal(o, &r); err != nil || r.Name == "" || r.Certificate.Theorem == "" ||
			r.Certificate.Sensitivity == nil || r.Noise.Scale == nil {
			return t, false
		}
		t.Add(r.Name, "docs/theory.md#"+r.Certificate.Theorem, fmt.Sprintf("%.4g", *r.Certificate.Sensitivity),
			fmt.Sprintf("%s, scale %.4g", r.Noise.Law, *r.Noise.Scale), fmt.Sprint(max(r.Event.Count, 1)))
	}
	return t, true
}

// listed returns a table of objects with the keys of the first object.
func listed(name string, objects []json.RawMessage) page.Table {
	t := page.Table{Caption: name}
	for _, m := range members(objects[0]) {
		t.Head = append(t.Head, strings.ReplaceAll(m.key, "_", " "))
	}
	for _, o := range objects {
		values := map[string]string{}
		for _, m := range members(o) {
			values[strings.ReplaceAll(m.key, "_", " ")] = jsonScalar(m.value)
		}
		var row []string
		for _, h := range t.Head {
			row = append(row, values[h])
		}
		t.Add(row...)
	}
	return t
}

type member struct {
	key   string
	value json.RawMessage
}

// members returns the members of a JSON object in their order. It returns nil for a value of another kind.
func members(text []byte) (all []member) {
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	for d.More() {
		key, err := d.Token()
		var value json.RawMessage
		if err == nil {
			err = d.Decode(&value)
		}
		if err != nil {
			return all
		}
		all = append(all, member{key.(string), value})
	}
	return all
}

// jsonScalar returns a JSON value as readable text.
func jsonScalar(text json.RawMessage) string {
	var number float64
	var word string
	var list []json.RawMessage
	switch {
	case string(text) == "null":
		return "–"
	case json.Unmarshal(text, &word) == nil:
		return manyDigits.ReplaceAllStringFunc(word, shortNumber)
	case json.Unmarshal(text, &number) == nil:
		return fmt.Sprintf("%.4g", number)
	case json.Unmarshal(text, &list) == nil:
		var all []string
		for _, x := range list[:min(len(list), 12)] {
			all = append(all, jsonScalar(x))
		}
		if len(list) > len(all) {
			all = append(all, fmt.Sprintf("and %d more", len(list)-len(all)))
		}
		return strings.Join(all, ", ")
	case text[0] == '{':
		var all []string
		for _, m := range members(text) {
			all = append(all, strings.ReplaceAll(m.key, "_", " ")+" "+jsonScalar(m.value))
		}
		return strings.Join(all, ", ")
	}
	return string(text)
}
