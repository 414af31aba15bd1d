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

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/team"
	"dyad/internal/input"
)

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
// reads no ledger and draws no noise. After an error the process must end.
func (t *Training) Serve(ctx context.Context, crew engine.Team, share *Data) error {
	return team.Serve(ctx, crew, t.Spec.Kernel, share.Records)
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
