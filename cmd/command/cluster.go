package command

import (
	"fmt"
	"strings"

	lib "dyad"
	"dyad/algorithms"
	"dyad/engine/dataset"
	"dyad/privacy"
)

type clusterCmd struct {
	K          int       `positive:"" short:"k" required:"" help:"Number of clusters."`
	Data       dataFiles `required:"" xor:"records" placeholder:"FILE" help:"As in train. Labels are not read."`
	Schema     string    `required:"" placeholder:"FILE"`
	Metric     string    `placeholder:"MODEL" help:"Model file of a metric (dyad pairs train, dyad train --task metric), which maps the records first. Its training is not charged again. Default: no metric."`
	Out        string    `writes:"clusters" short:"o" default:"clusters.json" placeholder:"FILE" help:"File of the clusters."`
	PublicData bool      `help:"The data are public: no budget is charged, and the report says so."`
	Epsilon    float64   `positive:"" default:"1"`
	Delta      *float64  `placeholder:"DELTA" help:"Delta; 0 asks for pure epsilon. Default: min(1e-5, n^-1.5)."`
	Rounds     int       `positive:"" placeholder:"T" help:"Rounds of k-means, which share the budget. Default: 5."`
	Clip       float64   `positive:"" placeholder:"R" help:"Public norm to which mapped records are clipped. A larger norm needs more noise. Default: enough for all records."`
	StartSeed  uint64    `name:"init-seed" aliases:"start-seed" default:"1" help:"Public seed of the first centres."`
	Plan       bool      `required:"" xor:"records" needs:"n" `
	N          int       `positive:"" needs:"plan" short:"n" help:"As in plan, with --plan."`
	identityFlag
	storeFlag
	runFlags
}

// clusterResult is the JSON output of a clustering.
type clusterResult struct {
	runOutcome
	Records int               `json:"records"`
	Metric  string            `json:"metric,omitempty"`
	Counts  []float64         `json:"counts"`
	Noise   float64           `json:"count_noise"`
	Report  algorithms.Report `json:"report"`
}

// Run prints the plan or carries out the clustering.
func (c *clusterCmd) Run(a *app) error {
	schema, metric, err := c.schema(a)
	if err != nil {
		return err
	}
	if schema.ByPerson() { // refuse persons before rows are read as records
		_, err := lib.PlanClusters(lib.Shape{PersonRows: schema.PersonCap()}, lib.ClusterOptions{})
		return err
	}
	if c.Plan {
		e, err := dataset.NewEncoder(schema)
		if err != nil {
			return asInput(err)
		}
		p, err := lib.PlanClusters(lib.ShapeOf(e, c.N), c.options(metric))
		if err != nil {
			return err
		}
		return a.emitPlan(&p.Plan.Plan)
	}
	return c.cluster(a, schema, metric)
}

// schema returns the schema of the data. If there is a metric, data are encoded as for the metric.
func (c *clusterCmd) schema(a *app) (*dataset.Schema, *model, error) {
	schema, err := dataset.LoadUnlabelledSchema(c.Schema)
	if err != nil || c.Metric == "" {
		return schema, nil, asInput(err)
	}
	metric, err := a.openModel(c.Metric, c.Ledger)
	if err != nil {
		return nil, nil, err
	}
	schema, err = schemaOf(c.Metric, metric.Encoder.Schema(), schema)
	return schema, metric, err
}

func (c *clusterCmd) options(metric *model) lib.ClusterOptions {
	return lib.ClusterOptions{
		Clusters: c.K, Rounds: c.Rounds, Seed: c.StartSeed, Clip: c.Clip, Metric: metric,
		LookAlikes: dataset.LookAlikes(c.LookAlikeIDs), Epsilon: c.Epsilon, Delta: c.Delta,
	}
}

// cluster carries out the clustering.
func (c *clusterCmd) cluster(a *app, schema *dataset.Schema, metric *model) error {
	r := clusterResult{Metric: c.Metric, runOutcome: runOutcome{Data: c.Data.String(), Public: c.PublicData}}
	var data *lib.Data
	var p *lib.Clustering
	return charging{
		runFlags: c.runFlags, as: target{name: c.Out}, inputs: c.Data.and(c.Schema, c.Metric), doing: "clustering",
		outcome:   &r.runOutcome,
		recovered: func(saved *lib.Outcome, l *lib.Ledger) error { return c.recovered(a, saved, l, &r) },
		plan: func() (planned, error) {
			o, err := c.storeFlag.options(schema, c.Data, c.options(metric).LoadOptions())
			if err != nil {
				return planned{}, err
			}
			read, err := a.readTraining(c.Data, schema, o, c.PublicData)
			if err != nil {
				return planned{}, err
			}
			if err := c.options(metric).CheckIndividuals(read); err != nil {
				return planned{}, err
			}
			data = lib.NewData(read)
			if p, err = lib.PlanClusters(data.Shape(), c.options(metric)); err != nil {
				return planned{}, err
			}
			r.DataID, r.Public, r.Records = data.Schema().DataID, c.PublicData || data.Schema().Public, data.Records.Units()
			out := planned{plan: &p.Plan.Plan, delta: p.Plan.Options.Budget.Delta, n: r.Records}
			if metric != nil {
				out.models = []string{c.Metric}
			}
			return out, nil
		},
		run: func(o lib.Run) (bool, error) {
			found, away := p.Run(a.ctx, data, o)
			if found == nil {
				return false, a.charged(away)
			}
			r.fill(found)
			return settled(asResult(away))
		},
		tell: func() error { return a.emitBrief(r, r.text(), r.brief(a, p.Guarantee)) },
	}.perform(a)
}

// recovered reports clusters that an earlier command had released.
func (c *clusterCmd) recovered(a *app, saved *lib.Outcome, l *lib.Ledger, r *clusterResult) error {
	found, err := lib.LoadClusters(saved.File)
	if err != nil {
		return err
	}
	r.fill(&lib.Clustered{Clusters: found, Outcome: *saved})
	r.Run, r.Ledger, r.DataID = c.Resume, l.Path(), found.DataID
	var b strings.Builder
	r.writeReleased(&b, saved)
	r.writeClusters(&b)
	return a.emit(r, b.String())
}

func (r *clusterResult) fill(found *lib.Clustered) {
	r.Guarantee, r.Run, r.Model, r.Seconds = found.Guarantee, found.Run, found.File, found.Seconds
	r.Counts, r.Noise, r.Report = found.Counts, found.CountNoise, found.Report
}

// writeClusters reports the clusters.
func (r *clusterResult) writeClusters(b *strings.Builder) {
	counts := make([]string, len(r.Counts))
	for j, n := range r.Counts {
		counts[j] = fmt.Sprintf("%.0f", n)
	}
	line(b, "clusters", "their sizes are about %s records; each size has noise of standard deviation %.2g",
		strings.Join(counts, ", "), r.Noise)
	line(b, "model", "%s (assign records: dyad predict %s --data FILE)", r.Model, r.Model)
}

// brief returns the report in a few lines.
func (r *clusterResult) brief(a *app, planned privacy.Guarantee) string {
	var b strings.Builder
	r.writeClusters(&b)
	a.writeWords(&b, r.Guarantee, planned, r.Spent)
	return b.String()
}

func (r *clusterResult) text() string {
	var b strings.Builder
	r.writeData(&b, fmt.Sprintf(": %d records", r.Records))
	b.WriteString(r.Report.Text())
	r.writeLedger(&b)
	r.writeClusters(&b)
	r.writeTime(&b)
	return b.String()
}
