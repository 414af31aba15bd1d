package autodiff

import (
	"strconv"
	"strings"
)

// maxInline is the largest number of operations of a formula that String writes without names for
// repeated parts.
const maxInline = 200

var opNames = [...]string{
	opNeg: "-", opExp: "exp", opLog: "log", opLog1p: "log1p", opExpm1: "expm1",
	opTanh: "tanh", opSigmoid: "sigmoid", opSoftplus: "softplus", opSqrt: "sqrt",
	opSquare: "square", opAbs: "abs", opSin: "sin", opCos: "cos",
	opAtan: "atan", opErf: "erf", opNormCDF: "normcdf", opLogNormCDF: "lognormcdf", opHazard: "hazard", opPow: "pow",
	opAdd: "+", opSub: "-", opMul: "*", opDiv: "/",
	opMax: "max", opMin: "min", opGe: "ge", opGt: "gt", opEq: "eq",
	opWhere: "where",
}

// Binding strengths of the infix forms.
const (
	precSum = iota + 1
	precProduct
	precNeg
	precAtom
)

// String returns the formula, for example "softplus(-u)". A long formula with
// shared parts is written as definitions "t1 = ...; t2 = ...; result".
func (e Expr) String() string {
	code := e.instrs()
	size := make([]int, len(code))
	uses := make([]int, len(code))
	for i, in := range code {
		size[i] = 1
		in.rename(func(k int) int {
			size[i] += size[k]
			uses[k]++
			return k
		})
		size[i] = min(size[i], maxInline+1)
	}
	last := len(code) - 1
	named := size[last] > maxInline

	text := make([]string, len(code))
	prec := make([]int, len(code))
	var defs strings.Builder
	names := 0
	for i, in := range code {
		text[i], prec[i] = format(in, text, prec)
		if named && i != last && uses[i] > 1 && !in.op.leaf() {
			names++
			name := "t" + strconv.Itoa(names)
			defs.WriteString(name + " = " + text[i] + "; ")
			text[i], prec[i] = name, precAtom
		}
	}
	return defs.String() + text[last]
}

func format(in instr, text []string, prec []int) (string, int) {
	wrap := func(i, least int) string {
		if prec[i] < least {
			return "(" + text[i] + ")"
		}
		return text[i]
	}
	switch in.op {
	case opConst:
		s := strconv.FormatFloat(in.c, 'g', -1, 64)
		if strings.HasPrefix(s, "-") {
			return s, precNeg
		}
		return s, precAtom
	case opVar:
		return "u", precAtom
	case opNeg:
		return "-" + wrap(in.a, precAtom), precNeg
	case opPow:
		return "pow(" + text[in.a] + ", " + strconv.FormatFloat(in.c, 'g', -1, 64) + ")", precAtom
	case opAdd:
		return wrap(in.a, precSum) + " + " + wrap(in.b, precSum+1), precSum
	case opSub:
		return wrap(in.a, precSum) + " - " + wrap(in.b, precSum+1), precSum
	case opMul:
		return wrap(in.a, precProduct) + "*" + wrap(in.b, precProduct+1), precProduct
	case opDiv:
		return wrap(in.a, precProduct) + "/" + wrap(in.b, precProduct+1), precProduct
	}
	if in.op == opWhere {
		return "where(" + text[in.m] + ", " + text[in.a] + ", " + text[in.b] + ")", precAtom
	}
	if in.op.binary() {
		return opNames[in.op] + "(" + text[in.a] + ", " + text[in.b] + ")", precAtom
	}
	return opNames[in.op] + "(" + text[in.a] + ")", precAtom
}
