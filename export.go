package dyad

import (
	"encoding/hex"
	"fmt"

	"dyad/engine/embedding"
	"dyad/engine/export"
	"dyad/engine/metrics"
	"dyad/internal/input"
)

// ExportFormat is a format of Model.Export.
type ExportFormat string

// The formats of Model.Export.
const (
	ONNX        ExportFormat = "onnx"        // with the encoder: raw columns to scores or maps
	NPZ         ExportFormat = "npz"         // the numbers alone, for encoded records
	Safetensors ExportFormat = "safetensors" // as NPZ
	Python      ExportFormat = "python"      // a function on NumPy, of linear scores
	GoSource    ExportFormat = "go"          // a function on the standard library, of linear scores
	SQL         ExportFormat = "sql"         // a SELECT for DuckDB and PostgreSQL, of linear scores
)

// Export is the model in a format of other programs, with its guarantee in words and its checksum.
// table is the one that SQL selects from; "" means records.
func (m *Model) Export(format ExportFormat, table string) ([]byte, error) {
	f, err := m.function()
	if err != nil {
		return nil, err
	}
	var text []byte
	switch format {
	case ONNX:
		text, err = f.ONNX()
	case NPZ:
		text, err = f.NPZ()
	case Safetensors:
		text, err = f.Safetensors()
	case Python:
		text, err = f.Python()
	case GoSource:
		text, err = f.Go()
	case SQL:
		if table == "" {
			table = "records"
		}
		text, err = f.SQL(table)
	default:
		return nil, input.Errorf("dyad: the format of an export is %q, want %s, %s, %s, %s, %s or %s", format, ONNX, NPZ, Safetensors, Python, GoSource, SQL)
	}
	return text, input.As(err)
}

// function is what Score or Transform computes, from raw columns.
func (m *Model) function() (*export.Function, error) {
	checksum, err := m.checksum()
	if err != nil {
		return nil, err
	}
	f := &export.Function{Encoder: m.Encoder, Output: "score", About: []export.Fact{
		{Name: "guarantee", Text: m.Guarantee.Words()},
		{Name: "data_id", Text: m.DataID},
		{Name: "task", Text: m.Task},
		{Name: "model", Text: checksum},
		{Name: "dyad_version", Text: m.Version},
	}}
	if m.Task == Metric {
		f.Output = "z"
	}
	if m.Network != nil {
		return f, m.networkLayers(f)
	}
	layer := export.Layer{Name: "weights", Rows: 1, Cols: m.Encoder.Dim(), W: m.Weights}
	if m.Task == Metric {
		factor, err := metrics.FactorMetric(m.Matrix(), m.Encoder.Dim())
		if err != nil {
			return nil, err
		}
		if factor.Rank == 0 {
			return nil, input.Errorf("dyad: the metric is zero: all distances are 0")
		}
		layer = export.Layer{Name: "factor", Rows: factor.Rank, Cols: factor.Dim, W: factor.L}
	}
	f.Layers = []export.Layer{layer}
	return f, nil
}

// networkLayers adds the layers and the output stage of a network.
func (m *Model) networkLayers(f *export.Function) error {
	net, err := m.Network.model()
	if err != nil {
		return err
	}
	weights := m.Weights
	for i, l := range net.Network.Layers() {
		layer := export.Layer{Name: fmt.Sprintf("hidden%d", i+1), Rows: l.Rows, Cols: l.Cols, W: weights[:l.Len()]}
		if i == len(m.Network.Hidden) {
			layer.Name = "output"
		} else {
			layer.Activation = export.Activation(m.Network.Activation)
		}
		if l.Bias {
			layer.Cols--
			layer.W, layer.Bias = make([]float64, 0, layer.Rows*layer.Cols), nil
			for r := range l.Rows {
				row := weights[r*l.Cols:][:l.Cols]
				layer.W, layer.Bias = append(layer.W, row[:layer.Cols]...), append(layer.Bias, row[layer.Cols])
			}
		}
		f.Layers, weights = append(f.Layers, layer), weights[l.Len():]
	}
	if net.Output.Unit {
		f.UnitFloor = embedding.SmallestNorm * embedding.SmallestNorm
	}
	f.Within = net.Output.Within
	return nil
}

// checksum is the one of the model's file, as it was read or would be written.
func (m *Model) checksum() (string, error) {
	if m.read != nil && m.read.sum != nil {
		return kindOfSum + hex.EncodeToString(m.read.sum), nil
	}
	text, err := m.Text()
	if err != nil {
		return "", err
	}
	at := len(text) - len(modelEnd) - 1 - 64 // hexadecimal digits, a quotation mark
	return kindOfSum + string(text[at:][:64]), nil
}
