package dyad

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"dyad/algorithms"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/team"
	"dyad/internal/input"
	"dyad/internal/memory"
)

// Trained is a model with what became of its run.
type Trained struct {
	*Model
	Outcome
}

// Train carries out a plan on data. On private data the plan is charged to the ledger,
// durably, before a record is used; then the model is trained, kept privately, recorded as
// released, and gets its name. A crash at any moment loses nothing that was paid for:
// Run.Resume continues the run or saves its model.
//
// An error after the charge is an *algorithms.ChargedError, which says whether the run can be
// resumed; nothing was released. Before it, nothing was charged. With an *ElsewhereError, or
// one that wraps ErrUnsaved, the model is returned as well. Cancel ctx to stop.
func Train(ctx context.Context, d *Data, t *Training, o Run) (*Trained, error) {
	if err := t.fits(d); err != nil {
		return nil, err
	}
	switch {
	case t.team && o.Team == nil: // this process would take part in sums that nobody else was asked for
		return nil, input.Errorf("dyad: the plan is for a team; name its leader (Run.Team), or plan without DeviceOptions.Team")
	case o.Team != nil && o.Team.Leads(t.Spec.Kernel, d.Records) != nil:
		return nil, input.Errorf("dyad: Run.Team leads another plan or other records; make it by Training.Lead of this plan and this share, after Join")
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
	if moments, ok := algorithm.(algorithms.Moments); ok && d.encoder.IsCurved() {
		moments.Blocks, moments.Lines = d.encoder.Blocks(), d.encoder.Lines()
		algorithm = moments
	}
	return o.Do(ctx, d.Source(),
		func(r *algorithms.Result) *Model {
			m := d.model(t.Task, r)
			if moments, ok := algorithm.(algorithms.Moments); ok {
				d := len(m.Features) // without errors and noise where no direction was found
				rest := r.Weights[d:]
				if m.Weights = r.Weights[:d:d]; moments.Intervals && len(rest) > 0 {
					m.WeightErrors, rest = rest[:d:d], rest[d:]
				}
				if len(rest) > 0 {
					m.CurveNoise = rest
				}
			}
			m.Loss, m.Report, m.Network = &t.Loss, t.Report(), t.Network
			if t.Network != nil && t.Network.Compare == contrastive {
				m.Loss = nil // it is the network's
			}
			m.Report.Guarantee = r.Guarantee
			return m
		},
		func(p algorithms.Options) (*algorithms.Result, error) {
			p.Team = o.Team
			return algorithms.Run(ctx, d.Records, algorithm, t.Plan, p)
		})
}

// model is the model of a result; report and loss are missing.
func (d *Data) model(task string, r *algorithms.Result) *Model {
	return &Model{Task: task, Features: d.encoder.FeatureNames(), Weights: r.Weights, Encoder: d.encoder, Guarantee: r.Guarantee}
}

// Join is what every process of a team does between the plan and the training: it takes this rank's
// share of the records of d, which are all, and compares program, instruction set, schema, plan,
// records and shares with those of the other ranks, and what the caller adds. The records are compared
// by a hash of all in their order: in files of another order a record could be in the shares of two
// ranks, and count twice. The plan must be for a Device of the team. Rank 0 then calls Train on the share with Run.Team, made by Lead, the others Serve.
//
// An error that wraps ErrInput says where the ranks differ; every rank gets it, and nothing was
// charged. Any other means that the team is lost.
func (t *Training) Join(ctx context.Context, crew engine.Team, d *Data, more ...team.Statement) (share *Data, err error) {
	if err := t.fits(d); err != nil {
		return nil, err
	}
	if !t.team {
		return nil, input.Errorf("dyad: the plan is for one process; open the Device with DeviceOptions.Team")
	}
	program, err := programHash()
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
	share.groups = d.groups // of all records, which kernels of query groups need
	same := append([]team.Statement{
		{Name: "the program", Text: program},
		{Name: "the instruction set that sums are computed with", Text: instructions},
		{Name: "the schema", Text: string(schema)},
		{Name: "the plan", Text: t.Report().Text()},
	}, more...)
	same = append(same, team.Statement{Name: "the contents of the records, or their order", Text: team.DigestOf(d.Records.Digests(0, d.Records.Units()))})
	if err = team.Agree(ctx, crew, t.Spec.Kernel, share.Records, same); errors.Is(err, team.ErrDisagree) {
		err = input.As(err)
	}
	return share, err
}

// Lead is the team for Run.Team, on rank 0 after Join. Stop it when no more runs come.
func (t *Training) Lead(crew engine.Team, share *Data) *team.Leader {
	return team.Lead(crew, t.Spec.Kernel, share.Records)
}

// Serve computes this rank's part of what rank 0 trains, after Join, until that stops its Leader. It
// reads no ledger and draws no noise. Before a release rank 0 asks every rank whether the packs that it reads are what they were. After
// an error the process must end; one that wraps team.ErrInputs names a pack of this rank, and comes after the stop.
func (t *Training) Serve(ctx context.Context, crew engine.Team, share *Data) error {
	return team.Serve(ctx, crew, t.Spec.Kernel, share.Records, share.Source().unchanged)
}

// programHash is the SHA-256 of the program that runs.
func programHash() (string, error) {
	name, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("dyad: the program's own file: %w", err)
	}
	f, err := os.Open(name)
	if err != nil {
		return "", fmt.Errorf("dyad: the program's own file: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("dyad: the program's own file: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
