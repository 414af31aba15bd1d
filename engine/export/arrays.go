package export

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"

	"dyad/engine/dataset"
)

// array is a named array of float64. A vector has 0 columns.
type array struct {
	name          string
	rows, columns int
	values        []float64
}

func (a array) shape() []int {
	if a.columns == 0 {
		return []int{a.rows}
	}
	return []int{a.rows, a.columns}
}

// arrays returns the numbers of the layers as arrays NAME.weight and NAME.bias. A single layer is one array NAME.
func (f *Function) arrays() []array {
	var all []array
	for _, l := range f.Layers {
		name, a := l.Name, array{rows: l.Rows, columns: l.Cols, values: l.W}
		if len(f.Layers) > 1 {
			name += ".weight"
		} else if l.Rows == 1 {
			a.rows, a.columns = l.Cols, 0
		}
		a.name = name
		all = append(all, a)
		if l.Bias != nil {
			all = append(all, array{name: l.Name + ".bias", rows: l.Rows, values: l.Bias})
		}
	}
	return all
}

// metadata returns the facts, the schema, and the data that the layers need besides their arrays.
func (f *Function) metadata() (map[string]string, error) {
	schema, err := json.Marshal(f.Encoder)
	if err != nil {
		return nil, err
	}
	names, err := json.Marshal(f.Encoder.FeatureNames())
	if err != nil {
		return nil, err
	}
	m := map[string]string{"schema": string(schema), "features": string(names), "factor": number(f.Encoder.Factor())}
	for _, a := range f.About {
		m[a.Name] = a.Text
	}
	for _, l := range f.Layers {
		if l.Activation != Identity {
			m["activation"] = string(l.Activation)
		}
	}
	if f.Spec != nil {
		text, err := json.Marshal(f.Spec)
		if err != nil {
			return nil, err
		}
		m["layers"] = string(text)
	}
	if f.UnitFloor > 0 {
		m["unit_floor"] = number(f.UnitFloor)
	}
	if f.Within > 0 {
		m["within"] = number(f.Within)
	}
	return m, nil
}

// NPZ returns the numbers of the layers as a NumPy archive with a member metadata.json. The archive contains
// the schema but no other part of the encoder. So the arrays apply to records that are already encoded and
// projected (dyad data convert --encoded).
func (f *Function) NPZ() ([]byte, error) {
	metadata, err := f.metadata()
	if err != nil {
		return nil, err
	}
	text, err := json.MarshalIndent(metadata, "", "  ")
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	for _, a := range f.arrays() {
		w, err := archive.CreateHeader(&zip.FileHeader{Name: a.name + ".npy", Method: zip.Store})
		if err == nil {
			err = dataset.WriteNPY(w, a.values, a.columns)
		}
		if err != nil {
			return nil, err
		}
	}
	w, err := archive.Create("metadata.json")
	if err == nil {
		_, err = w.Write(text)
	}
	if err == nil {
		err = archive.Close()
	}
	return out.Bytes(), err
}

// Safetensors returns the content of NPZ in the format of safetensors: the length of a JSON header, the header,
// and the numbers.
func (f *Function) Safetensors() ([]byte, error) {
	metadata, err := f.metadata()
	if err != nil {
		return nil, err
	}
	header := map[string]any{"__metadata__": metadata}
	var data []byte
	for _, a := range f.arrays() {
		from := len(data)
		data = append(data, floats64(a.values)...)
		header[a.name] = map[string]any{"dtype": "F64", "shape": a.shape(), "data_offsets": []int{from, len(data)}}
	}
	text, err := json.Marshal(header)
	if err != nil {
		return nil, err
	}
	text = append(text, bytes.Repeat([]byte(" "), (8-len(text)%8)%8)...)
	out := binary.LittleEndian.AppendUint64(nil, uint64(len(text)))
	return append(append(out, text...), data...), nil
}

// number returns a text of v that JSON, Go, Python and SQL parse exactly.
func number(v float64) string { return fmt.Sprint(v) }
