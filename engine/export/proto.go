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

// message is an encoded message.
type message []byte

func (m *message) text(field protowire.Number, s string) {
	*m = protowire.AppendString(protowire.AppendTag(*m, field, protowire.BytesType), s)
}

func (m *message) bytes(field protowire.Number, b []byte) {
	*m = protowire.AppendBytes(protowire.AppendTag(*m, field, protowire.BytesType), b)
}

func (m *message) number(field protowire.Number, v int64) {
	*m = protowire.AppendVarint(protowire.AppendTag(*m, field, protowire.VarintType), uint64(v))
}

func (m *message) float(field protowire.Number, v float32) {
	*m = protowire.AppendFixed32(protowire.AppendTag(*m, field, protowire.Fixed32Type), math.Float32bits(v))
}

// tensor returns a TensorProto.
func tensor(name string, kind int64, dims []int, raw []byte) message {
	var m message
	for _, d := range dims {
		m.number(1, int64(d))
	}
	m.number(2, kind)
	m.text(8, name)
	m.bytes(9, raw)
	return m
}

// attribute is an encoded AttributeProto.
type attribute message

func floatAttribute(name string, v float32) attribute {
	var m message
	m.text(1, name)
	m.float(2, v)
	m.number(20, attributeFloat)
	return attribute(m)
}

func intAttribute(name string, v int64) attribute {
	var m message
	m.text(1, name)
	m.number(3, v)
	m.number(20, attributeInt)
	return attribute(m)
}

func floatsAttribute(name string, v []float32) attribute {
	var m, packed message
	m.text(1, name)
	for _, x := range v {
		packed = protowire.AppendFixed32(packed, math.Float32bits(x))
	}
	m.bytes(7, packed)
	m.number(20, attributeFloats)
	return attribute(m)
}

func intsAttribute(name string, v ...int64) attribute {
	var m message
	m.text(1, name)
	for _, x := range v {
		m.number(8, x)
	}
	m.number(20, attributeInts)
	return attribute(m)
}

func stringsAttribute(name string, v []string) attribute {
	var m message
	m.text(1, name)
	for _, s := range v {
		m.text(9, s)
	}
	m.number(20, attributeStrings)
	return attribute(m)
}

// valueInfo returns a ValueInfoProto of a tensor with a batch of rows.
func valueInfo(name string, kind int64, columns int, doc string) message {
	var batch, width, shape, tensorType, typed, m message
	batch.text(2, "batch")
	width.number(1, int64(columns))
	shape.bytes(1, batch)
	shape.bytes(1, width)
	tensorType.number(1, kind)
	tensorType.bytes(2, shape)
	typed.bytes(1, tensorType)
	m.text(1, name)
	m.bytes(2, typed)
	m.text(3, doc)
	return m
}

// floats64 returns the little-endian bytes of numbers.
func floats64(v []float64) []byte {
	raw := make([]byte, 0, 8*len(v))
	for _, x := range v {
		raw = binary.LittleEndian.AppendUint64(raw, math.Float64bits(x))
	}
	return raw
}
