package command

import (
	"cmp"
	"math"
	"strings"

	lib "dyad"
	"dyad/engine/dataset"
	"dyad/internal/input"
	"dyad/privacy"
)

// localFlags are the public parameters of a learning task, except n and d.
type localFlags struct {
	Method        string             `default:"prestige" enum:"prestige,prestige-participation,prestige-label,djw,prestige-printed,curriculum,sgd" help:"prestige: users outside the curriculum send noise. prestige-participation: a randomised response decides who sends. prestige-label: features are public, each label is randomised once. djw: no curriculum. prestige-printed: the paper's algorithm, no guarantee. curriculum, sgd: not private."`
	Loss          string             `default:"logistic" type:"formula" placeholder:"NAME|EXPR" help:"Loss phi(u) of the margin u = y (w.x + b): a name of \"dyad lab losses\", or a formula."`
	LossParam     map[string]float64 `name:"loss-param" placeholder:"K=V" help:"Value V of the parameter K of the loss or formula. May be repeated."`
	LossClip      float64            `positive:"" name:"loss-clip" placeholder:"C"`
	Epsilon       float64            `positive:"" default:"1" help:"Local epsilon of one visit. A user pays it in every epoch, or once with prestige-label."`
	Epochs        int                `positive:"" default:"10" help:"Epochs. Every user is visited once per epoch."`
	Batch         int                `positive:"" default:"1" help:"Messages averaged in one update."`
	Pairs         int                `positive:"" name:"direction-pairs" default:"1" help:"Random directions of a message. From epsilon 2 on, more directions mean less noise, but more work for the user."`
	ResponseShare float64            `positive:"" name:"response-share" placeholder:"F" help:"Share of epsilon for the randomised response. Default: 0.2 for prestige-printed, otherwise by a public rule."`
	Curriculum    *float64           `aliases:"threshold" placeholder:"D" help:"Margin that the curriculum needs in the first epoch. Default: 1.5."`
	ThresholdStep *float64           `name:"threshold-step" placeholder:"MU" help:"After epoch t, the --curriculum margin falls by MU * sqrt(t). Default: 1."`
	Bias          *float64           `placeholder:"B" help:"Public bias b. Default: 0."`
	L2            float64            `positive:"" name:"l2" placeholder:"LAMBDA" help:"Weight lambda of the term lambda/2 ||w||^2 of a linear model. Choose it without the data. Default: 0.1."`
	Radius        float64            `positive:"" placeholder:"R" help:"Bound of ||w|| and of margins, for a linear model. Default: 5."`
	KWIKRatio     float64            `positive:"" name:"kwik-ratio" placeholder:"r" help:"Use the KWIK bound ceil((r/R) ln(1/delta)) of [Han19] Theorem 2 for --epochs; r is maximum/virtual complexity. Needs --kwik-delta."`
	KWIKDelta     float64            `positive:"" name:"kwik-delta" placeholder:"DELTA" help:"Probability that the KWIK bound fails. Not a privacy parameter."`
	ShuffleDelta  float64            `not:"l2-grid" why:"it is stated for the messages of one training, and a grid makes more of them" positive:"" name:"shuffle-delta" placeholder:"DELTA" help:"Also print the guarantee of all epochs at this delta, with a trusted message shuffler."`
	localNetworkFlags
}

// study returns the protocol described by the flags.
func (f localFlags) study() (o lib.StudyOptions, err error) {
	if o.Loss, err = (lossFlags{f.Loss, f.LossParam, f.LossClip}).definition(); err != nil {
		return o, err
	}
	o.Method, o.KWIKRatio, o.KWIKDelta, o.Rate = f.Method, f.KWIKRatio, f.KWIKDelta, f.StepSize
	p := &o.Protocol
	p.Radius, p.L2, p.Epochs, p.Batch, p.Epsilon, p.ResponseShare, p.Pairs = f.Radius, f.L2, f.Epochs, f.Batch, f.Epsilon,
		f.ResponseShare, f.Pairs
	p.Threshold, p.ThresholdStep, p.Bias = given(f.Curriculum), given(f.ThresholdStep), *cmp.Or(f.Bias, new(float64))
	o.Network = f.network()
	return o, nil
}

// given returns the value of a flag for a field in which 0 means the default.
func given(v *float64) float64 {
	switch {
	case v == nil:
		return 0
	case *v == 0:
		return math.SmallestNonzeroFloat64
	}
	return *v
}

// plan returns the plan for users with a shape.
func (f localFlags) plan(s lib.Shape) (*lib.Study, error) {
	o, err := f.study()
	if err != nil {
		return nil, err
	}
	return lib.PlanStudy(s, o)
}

// shuffled returns the guarantee of --shuffle-delta, or nil without this flag.
func (f localFlags) shuffled(p *lib.Study) (*privacy.Guarantee, error) {
	if f.ShuffleDelta == 0 {
		return nil, nil
	}
	g, err := p.Shuffled(f.ShuffleDelta)
	if err != nil {
		return nil, asInput(err)
	}
	return &g, nil
}

// schemaEncoder returns the encoder of a schema file.
func schemaEncoder(path string) (*dataset.Encoder, error) {
	s, err := dataset.LoadSchema(path)
	if err != nil {
		return nil, asInput(err)
	}
	why := input.Needs{Rows: s.DataID + ": its schema has a column with role: person, but a local user has " +
		"only one record; give the column role: ignore"}
	if err := why.Of(input.Lacks{Rows: s.ByPerson()}); err != nil { // the same error as when reading its data
		return nil, err
	}
	e, err := dataset.NewEncoder(s)
	return e, asInput(err)
}

// taskFlags are the flags of a protocol without data.
type taskFlags struct {
	Schema string `xor:"features" required:"" placeholder:"FILE" help:"Schema file (YAML), which gives the number of encoded features. No data file is opened."`
	D      int    `xor:"features" required:"" positive:"" short:"d" help:"Number of features, if there is no schema."`
	localFlags
}

// plans returns the plan of n users and the guarantee of --shuffle-delta, which is nil without this flag. Both
// include the schema's statements about its data.
func (f taskFlags) plans(n int) (p *lib.Study, shuffled *privacy.Guarantee, err error) {
	shape := lib.Shape{Records: n, Features: f.D}
	if f.Schema != "" {
		e, err := schemaEncoder(f.Schema)
		if err != nil {
			return nil, nil, err
		}
		shape = lib.ShapeOf(e, n)
	}
	if p, err = f.plan(shape); err != nil {
		return nil, nil, err
	}
	p.Guarantee = shape.OfUsers(p.Guarantee)
	shuffled, err = f.shuffled(p)
	return p, shuffled, err
}

// hanging returns a text whose later lines are indented by 2 columns.
func hanging(text string) string {
	return strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n"+strings.Repeat(" ", 10))
}

// localText returns the report of a protocol, including the guarantee of shuffled messages if it is requested.
func localText(p *lib.Study, shuffled *privacy.Guarantee) string {
	var b strings.Builder
	b.WriteString(p.Report().Text())
	if shuffled != nil {
		line(&b, "shuffled", "%s", hanging(shuffled.Report()))
	}
	return b.String()
}
