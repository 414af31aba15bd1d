// Package layers describes a network in a file: the shape of a record and a list of layers. Network computes the values
// of such a network in plain Go, so programs without Gorgonia can predict with it. Package autodiff/gorgonia computes
// its gradients.
//
//	input: [1, 28, 28]        # an image: channels, height, width; [k, n] is a set of k vectors; nothing is a vector
//	layers:
//	  - convolution: {channels: 8, size: 5, stride: 2, padding: 2}
//	  - activation: tanh
//	  - pooling: {kind: mean, size: 2}
//	  - dense: 16
//	  - activation: tanh
//
// The last layer is not in the file. It maps the output of the listed layers to the score or to the embedding. It
// has no bias, since a bias cancels in losses of differences.
package layers

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"dyad/engine/dataset/strictyaml"
)

// Spec is the content of a file that describes a network. It is public: it must not be chosen by looking
// at the records.
type Spec struct {
	// Input is the shape of a record. The features of a record are in row-major order of this shape: the last
	// dimension varies fastest. If Input is nil, a record is a vector of all features.
	Input []int `json:"input,omitempty"`
	// Gain is the standard deviation of the outputs of the first layer that has weights, at the start of training
	// and for records of norm at most 1. The value 0 means 2.
	Gain   float64 `json:"gain,omitempty"`
	Layers []Layer `json:"layers"`

	file string // that was read; errors name it
}

// Layer is one layer. Exactly one of its fields is set.
type Layer struct {
	// Dense is a number of units. The layer maps a vector, an image or each item of a set to this number of units.
	Dense int `json:"dense,omitempty"`
	// Convolution maps an image to an image.
	Convolution *Convolution `json:"convolution,omitempty"`
	// Pooling makes an image smaller, or turns a set into a vector.
	Pooling *Pooling `json:"pooling,omitempty"`
	// Embedding replaces columns that encode categories by vectors. Each category has one column of the record.
	Embedding []Categories `json:"embedding,omitempty"`
	// Residual is a list of inner layers. The residual layer adds its input to the output of the last inner layer.
	Residual []Layer `json:"residual,omitempty"`
	// LayerNorm subtracts the mean of a vector, an image or each item of a set and divides by its standard
	// deviation. Then it multiplies and shifts each feature (each channel of an image) by parameters.
	LayerNorm bool `json:"layernorm,omitempty"`
	// Attention maps a set to a set.
	Attention *Attention `json:"attention,omitempty"`
	// Activation is "tanh", "softplus", "relu" or "silu". The function is applied to every number.
	Activation string `json:"activation,omitempty"`
}

// Convolution has square filters of Size x Size. If Stride is 0, the stride is 1.
type Convolution struct {
	Channels int `json:"channels"`
	Size     int `json:"size"`
	Stride   int `json:"stride,omitempty"`
	Padding  int `json:"padding,omitempty"`
}

// Pooling takes means if Kind is "mean", and maxima if Kind is "max". For an image it pools squares of Size x Size.
// If Size is 0, it pools the whole image. If Stride is 0, the stride is Size. For a set it pools over the items,
// feature by feature.
type Pooling struct {
	Kind   string `json:"kind"`
	Size   int    `json:"size,omitempty"`
	Stride int    `json:"stride,omitempty"`
}

// Categories replaces columns of a record by a vector of Size numbers. Columns holds the first and the last column,
// counted from 1.
type Categories struct {
	Columns []int `json:"columns"`
	Size    int   `json:"size"`
}

// Attention has Heads heads with queries, keys and values of Size numbers. If Heads is 0, one head is used. The
// number of features of an item does not change.
type Attention struct {
	Size  int `json:"size"`
	Heads int `json:"heads,omitempty"`
}

// The largest specifications.
const (
	maxLayers = 100     // residual layers and the layers inside them included
	maxDepth  = 8       // of residual layers
	maxWidth  = 1 << 16 // units, channels, sizes
	maxValues = 1 << 22 // of a record between two layers, or in the windows of a convolution
	maxTheta  = 1 << 30
)

// Parse reads a Spec from YAML. Its errors state the line and column. For an unknown key they also suggest the
// right key.
func Parse(text []byte) (Spec, error) {
	body, err := strictyaml.Parse(text)
	if errors.Is(err, strictyaml.ErrEmpty) {
		return Spec{}, errors.New("layers: the file is empty" + remedy)
	}
	var s Spec
	if err == nil {
		err = strictyaml.Decode(body, &s)
	}
	if err != nil {
		then := remedy
		if near := strictyaml.NearKey(err, s); near != "" {
			then = "; " + near
		}
		return Spec{}, fmt.Errorf("layers: %s%s", strictyaml.Describe(err), then)
	}
	return s, s.limits()
}

// remedy ends the message about a file that is not a description of a network.
const remedy = "; want a list such as \"layers: [{dense: 16}, {activation: tanh}]\" (docs/networks.md)"

// limits returns an error for a Spec that no record fits. It is called before anything is built from the Spec.
func (s Spec) limits() error {
	count := 0
	var walk func(list []Layer, depth int) error
	walk = func(list []Layer, depth int) error {
		if count += len(list); count > maxLayers || depth > maxDepth {
			return fmt.Errorf("layers: there are more than %d layers, or residual layers are nested %d deep or more",
				maxLayers, maxDepth)
		}
		for _, l := range list {
			if err := walk(l.Residual, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	if len(s.Input) > 3 || len(s.Layers) == 0 {
		return errors.New("layers: a network needs layers and an input of at most 3 dimensions, such as [features] " +
			"or [channels, height, width]")
	}
	if s.Gain != 0 && !(s.Gain > 0x1p-100 && s.Gain < 0x1p100) {
		return fmt.Errorf("layers: the gain is %v, but it must be a positive number", s.Gain)
	}
	for _, n := range s.Input {
		if n < 1 || n > maxValues {
			return fmt.Errorf("layers: the input has a dimension of %d", n)
		}
	}
	return walk(s.Layers, 0)
}

// Digest identifies a Spec. Different Specs have different digests.
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
