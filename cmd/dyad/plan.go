package main

import (
	"dyad/engine/dataset"
)

type planCmd struct {
	Schema string `placeholder:"FILE" help:"Schema file (YAML): gives the number of encoded features. No data file is opened."`
	N      int    `short:"n" required:"" help:"Number of training records."`
	D      int    `short:"d" help:"Number of features, if there is no schema."`
	Groups []int  `name:"group-sizes" placeholder:"S,..." help:"Sizes of the public query groups, if pairs are formed within groups."`
	planFlags
	streamFlags
}

// Help shows examples.
func (planCmd) Help() string {
	return `Everything is computed from public numbers: the report is the one that "dyad train" prints.

Examples:
  dyad plan -n 512 -d 8 --epsilon 1 --delta 1e-5
  dyad plan -n 768 --schema bench/schemas/pima.yaml --epsilon 2
  dyad plan -n 5000 -d 20 --algorithm offpairstrc --l2 0.01
  dyad plan -n 60 -d 4 --group-sizes 10,20,30
  dyad plan -n 100000 -d 20 --json
  dyad plan -n 100000 -d 20 --algorithm dpftrl --every 100 --buffer 500`
}

// Run prints the report.
func (c *planCmd) Run(a *app) error {
	shape := dataShape{n: c.N, d: c.D}
	if c.Schema != "" {
		if c.D != 0 {
			return badInput("-d and --schema both give the number of features; leave one out")
		}
		s, err := dataset.LoadSchema(c.Schema)
		if err != nil {
			return asInput(err)
		}
		e, err := dataset.NewEncoder(s)
		if err != nil {
			return asInput(err)
		}
		shape = shapeOf(e, c.N)
	}
	if shape.d < 1 {
		return badInput("give the number of features with -d, or a --schema")
	}
	if asked, err := c.streams(a, shape); asked {
		return err
	}
	shape.groups = c.Groups
	_, p, err := c.plan(shape)
	if err != nil {
		return err
	}
	r := p.Report()
	return a.emit(r, r.Text()+"nothing     was charged or read: this is a plan\n")
}

// shapeOf is what an encoder makes public about n records.
func shapeOf(e *dataset.Encoder, n int) dataShape {
	s := dataShape{n: n, d: e.Dim(), boundsFromData: e.Schema().BoundsFromData}
	if nz := e.NonZerosPerRow(); nz < s.d {
		s.nonZeros = nz
	}
	return s
}
