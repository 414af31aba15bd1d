package export

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// graph is an ONNX graph that is built node by node. The names of its values consist of prefix and a number.
type graph struct {
	prefix    string
	count     int
	nodes     []message
	constants []message
	inputs    []message
	known     map[string]string // scalar constants
}

func (g *graph) name() string {
	g.count++
	return fmt.Sprintf("%s%d", g.prefix, g.count)
}

// op adds a node with one output and returns the name of the output.
func (g *graph) op(kind string, inputs []string, attributes ...attribute) string {
	out := g.name()
	g.node(kind, out, inputs, attributes...)
	return out
}

func (g *graph) node(kind, out string, inputs []string, attributes ...attribute) {
	var m message
	for _, in := range inputs {
		m = m.text(1, in)
	}
	m = m.text(2, out).text(3, out+"/"+kind)
	domain, kind, found := strings.Cut(kind, ":")
	if !found {
		domain, kind = "", domain
	}
	m = m.text(4, kind)
	for _, a := range attributes {
		m = m.bytes(5, a)
	}
	g.nodes = append(g.nodes, m.text(7, domain))
}

// on is like op, for operators without attributes.
func (g *graph) on(kind string, inputs ...string) string { return g.op(kind, inputs) }

// doubles adds a constant array of float64.
func (g *graph) doubles(v []float64, dims ...int) string {
	name := g.name()
	g.constants = append(g.constants, tensor(name, typeDouble, dims, floats64(v)))
	return name
}

// bools adds a constant boolean array.
func (g *graph) bools(v []byte, dims ...int) string {
	name := g.name()
	g.constants = append(g.constants, tensor(name, typeBool, dims, v))
	return name
}

// scalar adds a constant number, once for each value.
func (g *graph) scalar(v float64) string {
	key := fmt.Sprint(v)
	if g.known[key] == "" {
		g.known[key] = g.doubles([]float64{v}, 1, 1)
	}
	return g.known[key]
}

// ints adds a constant vector of integers.
func (g *graph) ints(v ...int64) string {
	var raw []byte
	for _, x := range v {
		raw = binary.LittleEndian.AppendUint64(raw, uint64(x))
	}
	name := g.name()
	g.constants = append(g.constants, tensor(name, typeInt64, []int{len(v)}, raw))
	return name
}

// cast converts the elements to another type.
func (g *graph) cast(x string, kind int64) string {
	return g.op("Cast", []string{x}, intAttribute("to", kind))
}

// rowSum returns the sums of the rows as a column.
func (g *graph) rowSum(x string) string {
	if g.known["axis"] == "" {
		g.known["axis"] = g.ints(1)
	}
	return g.op("ReduceSum", []string{x, g.known["axis"]}, intAttribute("keepdims", 1))
}

// concat joins columns.
func (g *graph) concat(parts []string) string {
	if len(parts) == 1 {
		return parts[0]
	}
	return g.op("Concat", parts, intAttribute("axis", 1))
}

// noFeature marks a column of zeros instead of the k-th feature of a number with a smaller basis than another
// number.
const noFeature = -1

func (g *graph) activated(x string, a Activation) string {
	switch a {
	case Tanh:
		return g.on("Tanh", x)
	case Softplus: // max(z, 0) + log(1 + exp(-|z|))
		small := g.on("Log", g.on("Add", g.on("Exp", g.on("Neg", g.on("Abs", x))), g.scalar(1)))
		return g.on("Add", g.on("Max", x, g.scalar(0)), small)
	}
	return x
}

// transposed returns W^T, a Cols x Rows matrix.
func transposed(l Layer) []float64 {
	t := make([]float64, len(l.W))
	for i := range l.Rows {
		for j := range l.Cols {
			t[j*l.Rows+i] = l.W[i*l.Cols+j]
		}
	}
	return t
}
