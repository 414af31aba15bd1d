// Package hostile changes files as an attacker would who also recomputes their checksums. Only tests use it.
//
// A file is a tree of values in the order of the file. A change is described by bytes, so the inputs of a fuzz target
// are small. The bytes select a value and its replacement. Each format has its own writer, which writes and seals the
// changed tree.
package hostile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"
)

// Value is a value of a document. It implements json.Marshaler and can be written as a block of YAML. An object
// keeps the order of its members and may contain the same key twice.
type Value struct {
	Leaf  string   // the text in the file; "" for a list or an object
	Keys  []string // the keys of an object, one for each item
	Items []*Value
	list  bool // a list, not an object
}

// Parse reads a document in JSON.
func Parse(text []byte) (*Value, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	v, err := read(d)
	if err != nil {
		return nil, fmt.Errorf("hostile: %w", err)
	}
	return v, nil
}

func read(d *json.Decoder) (*Value, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	delim, ok := token.(json.Delim)
	if !ok {
		raw, err := json.Marshal(token)
		return &Value{Leaf: string(raw)}, err
	}
	v := &Value{list: delim == '['}
	for d.More() {
		if !v.list {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			v.Keys = append(v.Keys, key.(string))
		}
		item, err := read(d)
		if err != nil {
			return nil, err
		}
		v.Items = append(v.Items, item)
	}
	_, err = d.Token()
	return v, err
}

// List returns a list of values.
func List(items ...*Value) *Value { return &Value{Items: items, list: true} }

// Get returns the value that an object has for a key, or nil if the object does not have the key.
func (v *Value) Get(key string) *Value {
	if i := slices.Index(v.Keys, key); i >= 0 {
		return v.Items[i]
	}
	return nil
}

// Without returns a copy of an object that lacks all members with the given key.
func (v *Value) Without(key string) *Value {
	v = v.clone()
	for i := slices.Index(v.Keys, key); i >= 0; i = slices.Index(v.Keys, key) {
		v.Keys, v.Items = slices.Delete(v.Keys, i, i+1), slices.Delete(v.Items, i, i+1)
	}
	return v
}

func (v *Value) clone() *Value {
	c := *v
	c.Keys, c.Items = slices.Clone(v.Keys), make([]*Value, len(v.Items))
	for i, item := range v.Items {
		c.Items[i] = item.clone()
	}
	return &c
}

// MarshalJSON implements json.Marshaler.
func (v *Value) MarshalJSON() ([]byte, error) { return v.json(nil), nil }

func (v *Value) json(b []byte) []byte {
	if v.Leaf != "" {
		return append(b, v.Leaf...)
	}
	b = append(b, "{["[v.kind()])
	for i, item := range v.Items {
		if i > 0 {
			b = append(b, ',')
		}
		if !v.list {
			b = append(append(b, quoted(v.Keys[i])...), ':')
		}
		b = item.json(b)
	}
	return append(b, "}]"[v.kind()])
}

func (v *Value) kind() int {
	if v.list {
		return 1
	}
	return 0
}

// YAML returns the document in YAML with a line for each leaf. Texts are quoted as in JSON, which is valid YAML.
func (v *Value) YAML() []byte {
	if v.Leaf != "" || len(v.Items) == 0 {
		return append(v.json(nil), '\n')
	}
	return v.yaml(nil, 0)
}

func (v *Value) yaml(b []byte, depth int) []byte {
	for i, item := range v.Items {
		b = append(b, bytes.Repeat([]byte("  "), depth)...)
		if v.list {
			b = append(b, '-')
		} else {
			b = append(append(b, key(v.Keys[i])...), ':')
		}
		if item.Leaf != "" || len(item.Items) == 0 {
			b = append(append(append(b, ' '), item.json(nil)...), '\n')
		} else {
			b = item.yaml(append(b, '\n'), depth+1)
		}
	}
	return b
}

// key returns a key of YAML, in quotes if it needs them.
func key(text string) string {
	for _, c := range text {
		if (c < 'a' || c > 'z') && c != '_' {
			return quoted(text)
		}
	}
	if text == "" {
		return quoted(text)
	}
	return text
}

// quoted returns a text in JSON. A text that is not UTF-8 is unchanged.
func quoted(text string) string {
	if !utf8.ValidString(text) {
		return `"` + text + `"`
	}
	raw, _ := json.Marshal(text) // never fails
	return string(raw)
}
