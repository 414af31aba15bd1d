package dyad

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"dyad/algorithms"
	"dyad/algorithms/local"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/dataset"
	"dyad/engine/embedding"
	"dyad/engine/metrics"
	"dyad/engine/team"
	"dyad/internal/input"
	"dyad/internal/memory"
	"dyad/privacy"
)

// Trained is a model and the outcome of its run.
type Trained struct {
	*Model
	Outcome
}

// Run carries out the plan on data. If the data are private, Run charges the plan to the ledger, durably, before a
// record is used. It then trains the model, stores it privately, records it as released, and saves it as Run.Out. A
// crash at any moment loses nothing that was paid for: Run.Resume continues the run or saves its model.
//
// An error after the charge is an *algorithms.ChargedError: nothing was released, and the error tells whether the
// run can be resumed. After any other error there was no charge. There are two exceptions: with an *ElsewhereError
// or an error that wraps ErrUnsaved, Run also returns the model. Cancel ctx to stop the run.
func (t *Training) Run(ctx context.Context, d *Data, o Run) (*Trained, error) {
	if err := t.fits(d); err != nil {
		return nil, err
	}
	switch {
	case t.team != "" && o.Team == nil: // this process would take part in sums that no other process was asked for
		return nil, input.Errorf("dyad: the plan is for a team; name its leader (Run.Team), or plan without " +
			"device.Options.Team")
	case o.Team != nil && o.Team.Leads(t.Spec.Kernel, d.Records) != nil:
		return nil, input.Errorf("dyad: Run.Team belongs to another plan or other records; call Training.Lead for " +
			"this plan and these records")
	}
	if err := memory.Check(t.Coordinates(), 0); err != nil {
		return nil, prefixed(err)
	}
	if o.Public || d.Source().Public {
		if err := t.Network.checkPublic(); err != nil {
			return nil, err
		}
	}
	algorithm := t.algorithm
	if moments, ok := algorithm.(algorithms.Moments); ok {
		moments.Blocks, moments.Lines = nil, nil // of the encoder: a model file has no other blocks
		if moments.LogOdds = t.Plan.Moments().Second != engine.NoSecond && t.Plan.Moments().Group == 0 &&
			!d.graded; d.encoder.IsCurved() {
			moments.Blocks, moments.Lines = d.encoder.Blocks(), d.encoder.Lines()
		}
		algorithm = moments
	}
	return o.do(ctx, d.Source(),
		func(r *algorithms.Result) *Model {
			m := d.model(t.Task, r)
			if moments, ok := algorithm.(algorithms.Moments); ok {
				chosen, odds := t.Plan.Moments().Chosen(r.Weights)
				m.Encoder = d.encoder.Chosen(chosen)
				m.Features = m.Encoder.FeatureNames()
				m.Weights, m.WeightErrors, odds, m.CurveNoise = moments.Parts(odds, len(m.Features))
				m.LogOdds = metrics.NewLogOdds(odds)
			}
			m.Loss, m.Report, m.Network = &t.Loss, t.Report(), t.Network
			if t.Network != nil && t.Network.Compare == embedding.ByContrastive {
				m.Loss = nil // the loss belongs to the network
			}
			m.Report.Guarantee, m.Approved = r.Guarantee, o.Approved
			return m
		},
		func(p algorithms.Options) (*algorithms.Result, error) {
			return algorithms.Run(ctx, d.Records, algorithm, t.Plan, p)
		})
}

// model returns the model of a result, without report and loss.
func (d *Data) model(task string, r *algorithms.Result) *Model {
	return &Model{Task: task, Features: d.encoder.FeatureNames(), Weights: r.Weights, Encoder: d.encoder,
		Guarantee: r.Guarantee}
}

// Join must be called by every process of a team between the plan and the training. d holds all records, and Join
// returns this rank's share of them. Join compares program, instruction set, schema, plan, records, shares and the
// statements in `more` with those of the other ranks. Records are compared by a hash of all records in their order: if
// the order differed, one record could be in the shares of two ranks and count twice. The plan must be for a device of
// the team. Then rank 0 sets Run.Team to the result of Lead and calls Run on its share. The others call Serve.
//
// An error that wraps ErrInput names the difference between the ranks. Every rank gets this error, before any charge.
// After any other error the team cannot continue.
func (t *Training) Join(ctx context.Context, crew engine.Team, d *Data,
	more ...team.Statement) (share *Data, err error) {
	if err := t.fits(d); err != nil {
		return nil, err
	}
	if t.team == "" {
		return nil, input.Errorf("dyad: the plan is for one process, but Join needs a plan for a team; set " +
			"device.Options.Team when you open the device")
	}
	program, err := team.Program()
	if err != nil {
		return nil, err
	}
	instructions, err := cpu.Instructions()
	if err != nil {
		return nil, err
	}
	schema, err := json.Marshal(d.encoder)
	if err != nil {
		return nil, err
	}
	share = d.with(d.Records.Shard(engine.Share(t.Spec.Kernel, crew.Rank())))
	share.groups = d.groups // groups of all records, which kernels of query groups need
	same := append([]team.Statement{
		{Name: "the program", Text: program},
		{Name: "the kind of device or the instruction set for the sums", Text: t.team + instructions},
		{Name: "the schema", Text: string(schema)},
		{Name: "the plan", Text: t.Report().Text()},
	}, more...)
	same = append(same, team.Statement{Name: "the contents of the records, or their order",
		Text: team.DigestOf(d.Records.Digests(0, d.Records.Units()))})
	if err = team.Agree(ctx, crew, t.Spec.Kernel, share.Records, same); errors.Is(err, team.ErrDisagree) {
		err = input.As(err)
	}
	return share, err
}

// Lead returns the leader of the team for Run.Team, on rank 0 after Join. Stop the leader when there are no more runs.
func (t *Training) Lead(crew engine.Team, share *Data) *team.Leader {
	return team.Lead(crew, t.Spec.Kernel, share.Records)
}

// Serve computes this rank's part of every sum that rank 0 requests. Call Serve after Join. Serve returns when rank 0
// stops the leader (see Lead), or when an error occurs. It reads no ledger and draws no noise. Before a release, rank
// 0 asks every rank whether the packs that the rank read have changed. An error that wraps team.ErrInputs names a
// changed pack of this rank. Serve returns such an error only after rank 0 has stopped the leader. After any error the
// process must end.
func (t *Training) Serve(ctx context.Context, crew engine.Team, share *Data) error {
	return team.Serve(ctx, crew, t.Spec.Kernel, share.Records, share.Source().unchanged)
}

// StudyOptions decides what users of a local protocol send, and how the server learns from it. All options are public.
type StudyOptions struct {
	// The fields Method, Loss, Network, Users, Dim and FeatureNorm of Protocol must be zero, because their values
	// follow from the other options and from the shape. For a linear model, Radius defaults to 5 and L2 to 0.1.
	Protocol local.Protocol
	Method   string // name of the method, such as "prestige"; see local.ParseMethod
	Loss     Loss   // loss of margins
	// Network has one hidden layer. If it is nil, the model is linear. Rate determines the
	// step sizes of the network (local.Network.Rate).
	Network *Network
	Rate    float64
	// KWIKRatio and KWIKDelta, if they are not 0, set the number of epochs (local.KWIKEpochs).
	KWIKRatio, KWIKDelta float64

	Candidates []float64 // values of L2; the users first choose one by cross-validation; nil: no choice
	Folds      int       // number of folds of the cross-validation
	Last       bool      // the model is the last iterate instead of the average of the iterates
	Balanced   bool      // the users were chosen by their labels (Data.Balanced), on public data only
}

// Study is a planned local protocol.
type Study struct {
	*local.Plan
	Loss    Loss // the loss as the model file states it
	options StudyOptions
}

// PlanStudy plans a protocol in which each user has one record. It reads no data and sends no message.
func PlanStudy(s Shape, o StudyOptions) (*Study, error) {
	if err := (input.Needs{Rows: "the schema has a column with role: person, but a local user has only one record; " +
		"give the column role: ignore"}).Of(s.lacks()); err != nil {
		return nil, err
	}
	p, t := o.Protocol, &Study{options: o}
	phi, err := o.Loss.Scalar()
	if err != nil {
		return nil, err
	}
	if t.Loss, err = o.Loss.Defined(); err != nil {
		return nil, err
	}
	if p.Method, err = local.ParseMethod(o.Method); err != nil {
		return nil, input.As(err)
	}
	p.Loss, p.Users, p.Dim, p.FeatureNorm = phi, s.Records, s.Features, engine.UnitBounds().FeatureNorm
	switch n := o.Network; {
	case n == nil:
		p.Radius, p.L2 = cmp.Or(p.Radius, 5), cmp.Or(p.L2, 0.1)
	case o.KWIKRatio != 0 || p.Radius != 0 || p.L2 != 0:
		return nil, input.Errorf("dyad: --model mlp takes no --radius, --l2 or --kwik-ratio; use --gain and --step-size")
	case len(n.Hidden) != 1 || !reflect.DeepEqual(*n, Network{Hidden: n.Hidden, Clip: n.Clip, Gain: n.Gain, Seed: n.Seed}):
		return nil, input.Errorf("dyad: a network of users has one hidden layer of tanh units; set only its fields " +
			"Hidden, Clip, Gain and Seed")
	default:
		p.Network = &local.Network{Hidden: n.Hidden[0], Clip: n.Clip, Gain: n.Gain, Seed: n.Seed, Rate: o.Rate}
	}
	if (o.KWIKRatio == 0) != (o.KWIKDelta == 0) {
		return nil, input.Errorf("dyad: --kwik-ratio and --kwik-delta belong together")
	}
	if o.KWIKRatio != 0 {
		if p.Epochs, err = local.KWIKEpochs(o.KWIKRatio, p.Radius, o.KWIKDelta); err != nil {
			return nil, input.As(err)
		}
	}
	if t.Plan, err = p.Plan(); err == nil && o.Candidates != nil {
		err = local.CheckChoice(p, o.Candidates, o.Folds, s.Records)
	}
	return t, input.As(err)
}

// Network returns the network of the protocol in the form of a model file, or nil for a linear model.
func (t *Study) Network() *Network {
	n := t.Plan.Network
	if n == nil {
		return nil
	}
	return &Network{Kind: mlp, Features: t.Dim, Hidden: []int{n.Hidden}, Dim: 1, Activation: embedding.Tanh.String(),
		Clip: n.Clip, Gain: n.Gain, Seed: n.Seed}
}

// Model returns the model file of an iterate after the given number of visits.
func (t *Study) Model(e *dataset.Encoder, w []float64, visits int64, g privacy.Guarantee) *Model {
	r := algorithms.Report{Facts: t.Facts.Values(), Guarantee: g}
	r.Add("steps", visits)
	return &Model{Network: t.Network(), Version: Version, Task: AUC, Loss: &t.Loss, DataID: e.Schema().DataID,
		Features: e.FeatureNames(), Weights: w, Encoder: e, Guarantee: g, Report: r}
}

// Fits returns an error if the records do not match the protocol, or if they are private and the protocol does not
// protect whole records.
func (t *Study) Fits(d *Data, public bool) error {
	const classes = "local learners need labels of two classes, not grades or missing labels"
	if err := (input.Needs{Labels: classes, TwoClasses: classes}).Of(d.lacks()); err != nil {
		return err
	}
	switch {
	case t.options.Balanced && !public:
		return input.Errorf("dyad: --balance reveals the labels; use it only for data declared public")
	case t.Guarantee.Kind != privacy.LocalDP && !public:
		return input.Errorf("dyad: method %s does not protect whole records, so it needs data that are declared public: "+
			"--public-data", t.Method)
	case d.Records.Units() != t.Users || d.Records.Dim() != t.Dim:
		return input.Errorf("dyad: the plan has %d users and %d features, but the data have %d users and %d "+
			"features; plan with Data.Shape", t.Users, t.Dim, d.Records.Units(), d.Records.Dim())
	}
	return nil
}

// Run simulates the protocol on the records: it computes the messages of all users and the server's model in one
// process. This process sees the records, so a run on private data is charged. The charge, the release, the files
// and the errors are as in Training.Run, except that a resumed run starts again from the beginning. The *local.Found
// is nil if the result was released before.
func (t *Study) Run(ctx context.Context, d *Data, o Run) (*Trained, *local.Found, error) {
	public := o.Public || d.Source().Public
	if err := t.Fits(d, public); err != nil {
		return nil, nil, err
	}
	seeded := o.Source != nil
	if !seeded {
		var err error
		if o.Source, err = privacy.NewSource(); err != nil {
			return nil, nil, err
		}
	}
	network, iterate := "", "average"
	if n := t.Plan.Network; n != nil {
		network = fmt.Sprintf("; network %+v", *n)
	}
	if t.options.Last {
		iterate = "last"
	}
	var found *local.Found
	objective := fmt.Sprintf("%s: %s %v, clip %v; lambda = %v of %v; radius = %v; bias = %v; %s of the iterates%s",
		t.Loss.Name, t.Loss.Formula, t.Loss.Params, t.Loss.Clip, t.L2, t.options.Candidates, t.Radius, t.Bias,
		iterate, network)
	job := t.Job(objective, len(t.options.Candidates), t.options.Folds, func(ctx context.Context, tracker algorithms.Tracker) (w []float64, err error) {
		found, err = local.Find(ctx, t.Plan, t.options.Candidates, t.options.Folds, d.Records, o.Source, tracker)
		if err != nil {
			return nil, err
		}
		return t.Iterate(found.State), nil
	})
	m, err := o.do(ctx, d.Source(), func(r *algorithms.Result) *Model {
		g := found.Guarantee
		if public { // the guarantee covers the messages, which are private whatever the data are
			if seeded {
				g.Warnings = append(slices.Clone(g.Warnings),
					"the simulation is reproducible, so its noise is not secret; the guarantee holds only if users "+
						"draw their own noise")
			}
		} else { // the guarantee covers the charged release, the model, in the words of the charge
			g.Warnings = append(slices.Clone(g.Warnings), r.Guarantee.Warnings...)
			g.Unit, g.Relation, g.Released = r.Guarantee.Unit, r.Guarantee.Relation, r.Guarantee.Released
		}
		if t.options.Balanced {
			g.Warnings = append(slices.Clone(g.Warnings),
				"NOT PRIVATE: labels decided which users were left out; in a deployment, this would reveal labels")
		}
		of := *t
		of.Plan = found.Plan
		return of.Model(d.encoder, r.Weights, found.Visits, d.Shape().OfUsers(g))
	}, func(a algorithms.Options) (*algorithms.Result, error) { return algorithms.Execute(ctx, job, a) })
	return m, found, err
}

// Iterate returns the model of a state.
func (t *Study) Iterate(s *local.State) []float64 {
	if t.options.Last {
		return s.W
	}
	return s.Average()
}
