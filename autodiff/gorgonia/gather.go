package gorgonia

import (
	"encoding/binary"
	"fmt"
	"hash"
	"hash/fnv"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"dyad/engine/layers"
)

// gather is the operation y_k = x_of(k), 0 where of(k) is negative: reshaping, transposition, the windows of an image,
// and what is repeated. Its derivative adds up y_k at of(k), which is gather with back.
//
// Gorgonia's own operations for these are not taken. The result of its Reshape shares memory with the operand, and the
// tape machine lets later operations overwrite the memory of operands that are not needed any more: derivatives then come
// out wrong without an error. Its OuterProd has a derivative that does not run, and its Repeat overwrites its operand.
type gather struct {
	from, to []int
	of       []int // for each number of to, or with back of from, its place in the other
	back     bool
}

// newGather is the operation from one shape to another.
func newGather(from, to []int, of func(k int) int) gather {
	g := gather{from: from, to: to, of: make([]int, layers.Size(to))}
	for k := range g.of {
		g.of[k] = of(k)
	}
	return g
}

// Arity implements gorgonia.Op.
func (gather) Arity() int { return 1 }

// Type implements gorgonia.Op.
func (g gather) Type() hm.Type {
	return hm.NewFnType(gorgonia.TensorType{Dims: len(g.from), Of: tensor.Float64}, gorgonia.TensorType{Dims: len(g.to), Of: tensor.Float64})
}

// InferShape implements gorgonia.Op.
func (g gather) InferShape(...gorgonia.DimSizer) (tensor.Shape, error) {
	return tensor.Shape(g.to).Clone(), nil
}

// Do implements gorgonia.Op.
func (g gather) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	return g.UsePreallocDo(tensor.New(tensor.Of(tensor.Float64), tensor.WithShape(g.to...)), in...)
}

// UsePreallocDo implements gorgonia.UsePreallocDoer. It writes every number of out.
func (g gather) UsePreallocDo(out gorgonia.Value, in ...gorgonia.Value) (gorgonia.Value, error) {
	x, err := numbers(in[0], layers.Size(g.from))
	if err != nil {
		return nil, err
	}
	y, err := numbers(out, layers.Size(g.to))
	if err != nil {
		return nil, err
	}
	clear(y)
	for k, at := range g.of {
		switch {
		case at < 0:
		case g.back:
			y[at] += x[k]
		default:
			y[k] = x[at]
		}
	}
	return out, nil
}

// ReturnsPtr implements gorgonia.Op: the result has memory of its own.
func (gather) ReturnsPtr() bool { return false }

// CallsExtern implements gorgonia.Op.
func (gather) CallsExtern() bool { return false }

// OverwritesInput implements gorgonia.Op.
func (gather) OverwritesInput() int { return -1 }

// WriteHash implements gorgonia.Op.
func (g gather) WriteHash(h hash.Hash) {
	fmt.Fprintf(h, "gather %v %v %t", g.from, g.to, g.back)
	b := make([]byte, 0, 8*len(g.of))
	for _, at := range g.of {
		b = binary.LittleEndian.AppendUint64(b, uint64(at))
	}
	h.Write(b) // never fails
}

// Hashcode implements gorgonia.Op.
func (g gather) Hashcode() uint32 {
	h := fnv.New32a()
	g.WriteHash(h)
	return h.Sum32()
}

// String names the operation and its shapes.
func (g gather) String() string { return fmt.Sprintf("gather %v %v %t", g.from, g.to, g.back) }

// DiffWRT implements gorgonia.SDOp.
func (gather) DiffWRT(int) []bool { return []bool{true} }

// SymDiff implements gorgonia.SDOp.
func (g gather) SymDiff(_ gorgonia.Nodes, _, gradient *gorgonia.Node) (gorgonia.Nodes, error) {
	d, err := gorgonia.ApplyOp(gather{from: g.to, to: g.from, of: g.of, back: !g.back}, gradient)
	return gorgonia.Nodes{d}, err
}
