package export

import (
	"encoding/binary"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// The messages of onnx.proto3 (IR version 8), field by field. This file has only the messages that graph.go needs.

// Types of elements, TensorProto.DataType.
const (
	typeFloat  = 1
	typeInt64  = 7
	typeString = 8
	typeBool   = 9
	typeDouble = 11
)

// Types of attributes, AttributeProto.AttributeType.
const (
	attributeFloat   = 1
	attributeInt     = 2
	attributeFloats  = 6
	attributeInts    = 7
	attributeStrings = 8
)

// message is an encoded message. Its methods return it with one more field.
type message []byte

func (m message) text(field protowire.Number, s string) message {
	return protowire.AppendString(protowire.AppendTag(m, field, protowire.BytesType), s)
}

func (m message) bytes(field protowire.Number, b []byte) message {
	return protowire.AppendBytes(protowire.AppendTag(m, field, protowire.BytesType), b)
}

func (m message) number(field protowire.Number, v int64) message {
	return protowire.AppendVarint(protowire.AppendTag(m, field, protowire.VarintType), uint64(v))
}

func (m message) float(field protowire.Number, v float32) message {
	return protowire.AppendFixed32(protowire.AppendTag(m, field, protowire.Fixed32Type), math.Float32bits(v))
}

// tensor returns a TensorProto.
func tensor(name string, kind int64, dims []int, raw []byte) (m message) {
	for _, d := range dims {
		m = m.number(1, int64(d))
	}
	return m.number(2, kind).text(8, name).bytes(9, raw)
}

// attribute is an encoded AttributeProto.
type attribute = message

func named(name string) attribute { return message{}.text(1, name) }

func floatAttribute(name string, v float32) attribute {
	return named(name).float(2, v).number(20, attributeFloat)
}

func intAttribute(name string, v int64) attribute {
	return named(name).number(3, v).number(20, attributeInt)
}

func floatsAttribute(name string, v []float32) attribute {
	var packed message
	for _, x := range v {
		packed = protowire.AppendFixed32(packed, math.Float32bits(x))
	}
	return named(name).bytes(7, packed).number(20, attributeFloats)
}

func intsAttribute(name string, v ...int64) attribute {
	m := named(name)
	for _, x := range v {
		m = m.number(8, x)
	}
	return m.number(20, attributeInts)
}

func stringsAttribute(name string, v []string) attribute {
	m := named(name)
	for _, s := range v {
		m = m.text(9, s)
	}
	return m.number(20, attributeStrings)
}

// valueInfo returns a ValueInfoProto of a tensor with a batch of rows.
func valueInfo(name string, kind int64, columns int, doc string) message {
	batch, width := message{}.text(2, "batch"), message{}.number(1, int64(columns))
	tensorType := message{}.number(1, kind).bytes(2, message{}.bytes(1, batch).bytes(1, width))
	return named(name).bytes(2, message{}.bytes(1, tensorType)).text(3, doc)
}

// floats64 returns the little-endian bytes of numbers.
func floats64(v []float64) []byte {
	raw := make([]byte, 0, 8*len(v))
	for _, x := range v {
		raw = binary.LittleEndian.AppendUint64(raw, math.Float64bits(x))
	}
	return raw
}
