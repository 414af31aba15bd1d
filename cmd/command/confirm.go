package command

import (
	"fmt"
	"io"
	"strings"

	"dyad/algorithms"
	"dyad/engine/dataset"
)

// confirmFlag is the --yes flag of commands that charge.
type confirmFlag struct {
	Yes bool `short:"y" help:"Do not ask before a final charge or a training of more than ten minutes."`
}

// confirm shows what will be done and asks for confirmation on a terminal. Without a terminal or without
// agreement, it returns a bad input error, before any charge.
func (f confirmFlag) confirm(a *app, what string) error {
	if f.Yes {
		return nil
	}
	if !isTerminal(a.stdin) {
		return badInput("%s. To go on, repeat the command with --yes. No budget was charged", what)
	}
	answer, err := a.asker().ask("dyad: %s. Go on? [y/N] ", what)
	if a.ctx.Err() != nil {
		return a.ctx.Err()
	}
	if err != nil && err != io.EOF {
		return err
	}
	switch strings.ToLower(answer) {
	case "y", "yes":
		return nil
	}
	return badInput("not confirmed; no budget was charged")
}

// unprotected asks for confirmation before a training without privacy on data that neither their schema nor a
// flag declares public. A resumed run was confirmed before and is not asked about. No data are read.
func (f confirmFlag) unprotected(a *app, mode, schema string, public, resumed bool) error {
	if mode != algorithms.NonPrivate.String() || public || resumed || schema == "" {
		return nil
	}
	s, err := dataset.LoadUnlabelledSchema(schema)
	if err != nil || s.Public {
		return asInput(err)
	}
	return f.confirm(a, fmt.Sprintf("training on the private data %q without privacy may reveal records; the total "+
		"of this data id will have no finite epsilon", s.DataID))
}

// unsoundFlag is the --paper-unsound flag.
type unsoundFlag struct {
	PaperUnsound bool `needs:"mode=paper" help:"Change the paper's schedule: offpair* and onpair* without burn-in, dpgdc2 with a corrected step. The paper's claim does not cover this. Needs --mode paper; a run also needs --public-data."`
}

// checkUnsound returns an error if the flag could affect private data. No data have been read at this point.
func (f unsoundFlag) checkUnsound(public bool) error {
	if f.PaperUnsound && !public {
		return badInput("--paper-unsound is only for public data; add --public-data, even if the schema is public")
	}
	return nil
}
