// Package layers describes a network in a file: the shape of a record and a list of layers. Network computes the values
// of such a network in plain Go, so that programs without Gorgonia predict with it; autodiff/gorgonia computes its
// gradients.
//
//	input: [1, 28, 28]        # an image: channels, height, width; [k, n] is a set of k vectors; nothing is a vector
//	layers:
//	  - convolution: {channels: 8, size: 5, stride: 2, padding: 2}
//	  - activation: tanh
//	  - pooling: {kind: mean, size: 2}
//	  - dense: 16
//	  - activation: tanh
//
// The last layer is not in the file: it maps what the layers give to the score or to the embedding, and has no bias, which
// cancels in losses of differences.
package layers

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"dyad/engine/dataset/strictyaml"
)

// Spec is a network as a file describes it. It is public: it must not be chosen by looking at the records.
type Spec struct {
	// Input is the shape of a record, whose features are in this order, the last dimension next to each other; nil is
	// a vector of all features.
	Input []int `json:"input,omitempty" yaml:"input"`
	// Gain is the standard deviation that the numbers of the first layer with weights start with; records have a norm
	// of at most 1. 0 means 2.
	Gain   float64 `json:"gain,omitempty" yaml:"gain"`
	Layers []Layer `json:"layers" yaml:"layers"`
}

// Layer is one of its fields; all others are zero.
type Layer struct {
	// Dense maps a vector or an image to this number of units, and a set item by item.
	Dense int `json:"dense,omitempty" yaml:"dense"`
	// Convolution maps an image to an image.
	Convolution *Convolution `json:"convolution,omitempty" yaml:"convolution"`
	// Pooling makes an image smaller, or a vector of a set.
	Pooling *Pooling `json:"pooling,omitempty" yaml:"pooling"`
	// Embedding maps columns of a vector that tell categories apart, one column for each, to vectors.
	Embedding []Categories `json:"embedding,omitempty" yaml:"embedding"`
	// Residual adds its input to what these layers make of it.
	Residual []Layer `json:"residual,omitempty" yaml:"residual"`
	// LayerNorm takes the mean of a vector, an image or each item of a set away and divides by its standard
	// deviation, then multiplies and shifts feature by feature (channel by channel in an image).
	LayerNorm bool `json:"layernorm,omitempty" yaml:"layernorm"`
	// Attention maps a set to a set.
	Attention *Attention `json:"attention,omitempty" yaml:"attention"`
	// Activation is "tanh", "softplus", "relu" or "silu" of every number.
	Activation string `json:"activation,omitempty" yaml:"activation"`
}

// Convolution has square filters of Size x Size. Stride 0 means 1.
type Convolution struct {
	Channels int `json:"channels" yaml:"channels"`
	Size     int `json:"size" yaml:"size"`
	Stride   int `json:"stride,omitempty" yaml:"stride"`
	Padding  int `json:"padding,omitempty" yaml:"padding"`
}

// Pooling is of Kind "mean" or "max", of an image by squares of Size x Size; Size 0 is the whole image, Stride 0 means
// Size. Of a set it takes the mean or maximum over its items, feature by feature.
type Pooling struct {
	Kind   string `json:"kind" yaml:"kind"`
	Size   int    `json:"size,omitempty" yaml:"size"`
	Stride int    `json:"stride,omitempty" yaml:"stride"`
}

// Categories are the columns of a record from the first to the second of Columns, counted from 1, and the Size of the
// vector that takes their place.
type Categories struct {
	Columns []int `json:"columns" yaml:"columns"`
	Size    int   `json:"size" yaml:"size"`
}

// Attention has Heads (0 means 1) with queries, keys and values of Size numbers; the numbers of an item stay as many.
type Attention struct {
	Size  int `json:"size" yaml:"size"`
	Heads int `json:"heads,omitempty" yaml:"heads"`
}

// The largest specifications.
const (
	maxLayers = 100     // residual ones and what they hold included
	maxDepth  = 8       // of residual layers
	maxWidth  = 1 << 16 // units, channels, sizes
	maxValues = 1 << 22 // of a record between two layers, or in the windows of a convolution
	maxTheta  = 1 << 30
)

// Parse reads a Spec from YAML. Its errors name line and column and, of a wrong key, the right one.
func Parse(text []byte) (Spec, error) {
	body, err := strictyaml.Parse(text)
	if errors.Is(err, strictyaml.ErrEmpty) {
		return Spec{}, errors.New("layers: the file of the network is empty; it needs a list \"layers:\", such as \"layers: [dense: 16, activation: tanh]\"")
	}
	var s Spec
	if err == nil {
		err = strictyaml.Decode(body, &s)
	}
	if err != nil {
		said := strictyaml.Describe(err)
		if m := unknownKey.FindStringSubmatch(said); m != nil {
			if near := strictyaml.Near(m[1], keys(reflect.TypeFor[Spec](), nil)); near != "" {
				said += "; " + near
			}
		}
		return Spec{}, fmt.Errorf("layers: the file of the network: %s", said)
	}
	return s, s.limits()
}

var unknownKey = regexp.MustCompile(`unknown field "([^"]*)"`)

// keys are the YAML keys of a type and of what it consists of.
func keys(t reflect.Type, seen []reflect.Type) (all []string) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || slices.Contains(seen, t) {
		return nil
	}
	for i := range t.NumField() {
		all = append(append(all, t.Field(i).Tag.Get("yaml")), keys(t.Field(i).Type, append(seen, t))...)
	}
	return all
}

// limits refuses what no record fits, before anything is made of it.
func (s Spec) limits() error {
	count := 0
	var walk func(list []Layer, depth int) error
	walk = func(list []Layer, depth int) error {
		if count += len(list); count > maxLayers || depth > maxDepth {
			return fmt.Errorf("layers: more than %d layers, or residual layers within more than %d others", maxLayers, maxDepth)
		}
		for _, l := range list {
			if err := walk(l.Residual, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	if len(s.Input) > 3 || len(s.Layers) == 0 {
		return errors.New("layers: a network needs a list of layers, and an input of at most three dimensions: channels, height and width of an image, items and features of a set, or the features of a vector")
	}
	if s.Gain != 0 && !(s.Gain > 0x1p-100 && s.Gain < 0x1p100) {
		return fmt.Errorf("layers: the gain is %v, want a positive number", s.Gain)
	}
	for _, n := range s.Input {
		if n < 1 || n > maxValues {
			return fmt.Errorf("layers: the input has a dimension of %d", n)
		}
	}
	return walk(s.Layers, 0)
}

// Digest identifies a Spec: other layers have another one.
func (s Spec) Digest() string {
	text, err := json.Marshal(s)
	if err != nil { // a gain that is not finite, which limits refuses
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// kind is the key of the layer, "" for one without a key or with several.
func (l Layer) kind() (kind string) {
	v := reflect.ValueOf(l)
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			continue
		}
		if kind != "" {
			return ""
		}
		kind = strings.Split(v.Type().Field(i).Tag.Get("json"), ",")[0]
	}
	return kind
}
