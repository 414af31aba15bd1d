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

// ownOp has the methods that the operations of this file share. The result of each operation has its own memory.
type ownOp struct{}

// ReturnsPtr implements gorgonia.Op.
func (ownOp) ReturnsPtr() bool { return false }

// CallsExtern implements gorgonia.Op.
func (ownOp) CallsExtern() bool { return false }

// OverwritesInput implements gorgonia.Op.
func (ownOp) OverwritesInput() int { return -1 }

// hashOf hashes an operation.
func hashOf(op gorgonia.Op) uint32 {
	h := fnv.New32a()
	op.WriteHash(h)
	return h.Sum32()
}

// tensorOf returns the type of tensors with the given number of dimensions.
func tensorOf(dims int) hm.Type { return gorgonia.TensorType{Dims: dims, Of: tensor.Float64} }

// gather is the operation y_k = x_of(k), with y_k = 0 where of(k) is negative. It implements reshaping,
// transposition, the windows of an image, and repetition. Its derivative adds y_k to the element of(k). The
// derivative is a gather whose back is true.
//
// Gorgonia's own operations for these purposes are not used. The result of its Reshape shares memory with the
// operand, and the tape machine lets later operations overwrite the memory of operands that are no longer
// needed. Derivatives are then wrong without an error. The derivative of its OuterProd does not run, and its
// Repeat overwrites its operand.
type gather struct {
	ownOp
	from, to []int
	of       []int // for each element of to (of from, if back is true), its index in the other shape, or a negative number
	back     bool
}

// newGather returns the operation from one shape to another.
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
	return hm.NewFnType(tensorOf(len(g.from)), tensorOf(len(g.to)))
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
func (g gather) Hashcode() uint32 { return hashOf(g) }

// String returns the name of the operation with its shapes.
func (g gather) String() string { return fmt.Sprintf("gather %v %v %t", g.from, g.to, g.back) }

// DiffWRT implements gorgonia.SDOp.
func (gather) DiffWRT(int) []bool { return []bool{true} }

// SymDiff implements gorgonia.SDOp.
func (g gather) SymDiff(_ gorgonia.Nodes, _, gradient *gorgonia.Node) (gorgonia.Nodes, error) {
	d, err := gorgonia.ApplyOp(gather{from: g.to, to: g.from, of: g.of, back: !g.back}, gradient)
	return gorgonia.Nodes{d}, err
}

// highest is the operation that returns the maximum of each of rows rows of long numbers, and NaN for a row
// with a NaN. If back is true, it is the derivative, which passes the gradient to the first element that
// attains the maximum. Gorgonia's MaxPool2D is not used, because at a window of NaNs it panics in its own
// goroutine, which stops the program.
type highest struct {
	ownOp
	rows, long int
	back       bool
}

// Arity implements gorgonia.Op.
func (o highest) Arity() int {
	if o.back {
		return 2
	}
	return 1
}

// Type implements gorgonia.Op.
func (o highest) Type() hm.Type {
	if o.back {
		return hm.NewFnType(tensorOf(2), tensorOf(1), tensorOf(2))
	}
	return hm.NewFnType(tensorOf(2), tensorOf(1))
}

// InferShape implements gorgonia.Op.
func (o highest) InferShape(...gorgonia.DimSizer) (tensor.Shape, error) {
	if o.back {
		return tensor.Shape{o.rows, o.long}, nil
	}
	return tensor.Shape{o.rows}, nil
}

// Do implements gorgonia.Op.
func (o highest) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	x, err := numbers(in[0], o.rows*o.long)
	if err != nil {
		return nil, err
	}
	var y, dy []float64
	if o.back {
		if dy, err = numbers(in[1], o.rows); err != nil {
			return nil, err
		}
		y = make([]float64, len(x))
	} else {
		y = make([]float64, o.rows)
	}
	for r := range o.rows {
		row, at := x[r*o.long:][:o.long], 0
		for k, v := range row {
			if v > row[at] || v != v && row[at] == row[at] {
				at = k
			}
		}
		if o.back {
			y[r*o.long+at] = dy[r]
		} else {
			y[r] = row[at]
		}
	}
	shape, err := o.InferShape()
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(y)), err
}

// WriteHash implements gorgonia.Op.
func (o highest) WriteHash(h hash.Hash) { fmt.Fprint(h, o.String()) }

// Hashcode implements gorgonia.Op.
func (o highest) Hashcode() uint32 { return hashOf(o) }

// String returns the name of the operation with its sizes.
func (o highest) String() string { return fmt.Sprintf("highest %d %d %t", o.rows, o.long, o.back) }

// DiffWRT implements gorgonia.SDOp.
func (highest) DiffWRT(int) []bool { return []bool{true} }

// SymDiff implements gorgonia.SDOp.
func (o highest) SymDiff(in gorgonia.Nodes, _, gradient *gorgonia.Node) (gorgonia.Nodes, error) {
	o.back = true
	d, err := gorgonia.ApplyOp(o, in[0], gradient)
	return gorgonia.Nodes{d}, err
}
