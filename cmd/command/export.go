package command

import (
	"fmt"
	"path/filepath"
	"strings"

	"dyad/internal/files"
)

type exportCmd struct {
	Model       string `arg:"" help:"Model file."`
	ONNX        bool   `needs:"out" why:"it is a binary file" name:"onnx" xor:"format" help:"ONNX model with its encoder. Input: raw columns; output: scores or mapped records."`
	SQL         string `name:"sql" xor:"format" placeholder:"duckdb|postgres|bigquery|snowflake|spark|sqlserver" help:"SQL SELECT that adds a linear score to each row of a table."`
	Python      bool   `xor:"format" help:"Python function for linear scores. It needs only NumPy."`
	Go          bool   `xor:"format" help:"Go function for linear scores. It needs only the standard library."`
	NPZ         bool   `needs:"out" why:"it is a binary file" name:"npz" xor:"format" help:"NumPy archive of the model's numbers. They apply to encoded records."`
	Safetensors bool   `needs:"out" why:"it is a binary file" xor:"format" help:"The same in safetensors."`
	Table       string `default:"records" placeholder:"NAME" help:"Table of --sql."`
	Out         string `short:"o" placeholder:"FILE" help:"File to write. Default for text: standard output."`
	Force       bool
}

type exportResult struct {
	Format    string `json:"format"`
	Out       string `json:"out,omitempty"`
	Text      string `json:"text,omitempty"`
	Guarantee string `json:"guarantee"`
}

// format returns the requested format, given by a flag or by the ending of the file's name.
func (c *exportCmd) format() string {
	for format, asked := range map[string]bool{"onnx": c.ONNX, "npz": c.NPZ, "safetensors": c.Safetensors,
		"python": c.Python, "go": c.Go} {
		if asked {
			return format
		}
	}
	if c.SQL != "" {
		return map[string]string{"duckdb": "sql", "postgres": "sql", "bigquery": "bigquery", "snowflake": "snowflake",
			"spark": "spark", "sqlserver": "sqlserver"}[c.SQL]
	}
	return map[string]string{".onnx": "onnx", ".npz": "npz", ".safetensors": "safetensors", ".py": "python", ".go": "go",
		".mjs": "javascript", ".js": "javascript", ".sql": "sql"}[filepath.Ext(c.Out)]
}

// Run writes the file.
func (c *exportCmd) Run(a *app) error {
	format := c.format()
	if format == "" {
		return badInput("name a format (--onnx, --python, --go, --npz, --safetensors, --sql duckdb), or an --out " +
			"file such as m.onnx or m.mjs")
	}
	m, _, err := a.trustedModel(c.Model, "")
	if err != nil {
		return err
	}
	if err := files.CheckEnding(c.Out, files.Content(pick(c.SQL != "", "sql", format))); err != nil {
		return err
	}
	out, err := files.NewOutput(c.Out, c.Force, c.Model)
	if err != nil {
		return err
	}
	text, err := m.Export(format, c.Table)
	if err != nil {
		return err
	}
	r := exportResult{Format: string(format), Out: c.Out, Guarantee: m.Guarantee.Words()}
	if out == nil {
		r.Text = string(text)
		return a.print(r, r.Text)
	}
	if err := out.Write(files.Shared, text); err != nil {
		return err
	}
	var b strings.Builder
	line(&b, "export", "%s", fmt.Sprintf("%s, %d bytes, written to %s", format, len(text), c.Out))
	line(&b, "guarantee", "%s; results of the function are not protected and reveal information about the scored "+
		"records", m.Guarantee.Words())
	return a.emit(r, b.String())
}
