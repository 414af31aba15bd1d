package serve

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"dyad/algorithms/local"
)

// maxUserID is the largest length of a user's id in bytes.
const maxUserID = 128

// Submission is the body of POST /v1/messages. The privatised message is its only part that depends on a record.
type Submission struct {
	User  string `json:"user"`
	Epoch int    `json:"epoch"` // the epoch of the state that the message was made for
	Takes bool   `json:"takes"`
	// Seed, 32 bytes in base64, and Choice are the fields of local.DirectionMessage in package privacy/local. They
	// are set if Takes is true.
	Seed   string `json:"seed,omitempty"`
	Choice uint16 `json:"choice,omitempty"`

	// Features and Label are set only for method prestige-label. They are the public features and the user's
	// one randomised label, -1 or 1.
	Features []float64 `json:"features,omitempty"`
	Label    int       `json:"label,omitempty"`
}

// NewLabelSubmission returns the submission of a user of prestige-label.
func NewLabelSubmission(user string, features []float64, label float64) (Submission, error) {
	s := Submission{User: user, Epoch: 1, Features: features, Label: int(label)}
	return s, s.validate()
}

// labelled returns the public features and the randomised label of a validated submission.
func (s Submission) labelled(p *local.Plan) ([]float64, float64, error) {
	switch {
	case s.Takes || s.Seed != "" || s.Choice != 0:
		return nil, 0, errors.New("a message of prestige-label must have only features and a label")
	case s.Label != 1 && s.Label != -1:
		return nil, 0, errors.New("label must be -1 or 1")
	case len(s.Features) != p.Dim:
		return nil, 0, fmt.Errorf("there must be %d features", p.Dim)
	}
	sum := 0.0
	for _, v := range s.Features {
		sum += v * v
	}
	if !(math.Sqrt(sum) <= p.FeatureNorm*(1+1e-9)) {
		return nil, 0, fmt.Errorf("the norm of the features must be at most %g", p.FeatureNorm)
	}
	return s.Features, float64(s.Label), nil
}

// NewSubmission returns the submission of a message that was made for a state.
func NewSubmission(user string, epoch int, m local.Message) (Submission, error) {
	s := Submission{User: user, Epoch: epoch, Takes: m.Takes}
	if m.Gradient != nil {
		return Submission{}, errors.New("serve: the message is an exact gradient (without noise), so it is not sent")
	}
	if m.Takes {
		s.Seed, s.Choice = base64.StdEncoding.EncodeToString(m.Direction.Seed[:]), m.Direction.Choice
	}
	return s, s.validate()
}

// checkUser returns an error if id cannot name a user. Invalid UTF-8 becomes U+FFFD when JSON is decoded, so
// U+FFFD could stand for several users and is refused.
func checkUser(id string) error {
	if id == "" || len(id) > maxUserID || !utf8.ValidString(id) {
		return fmt.Errorf("user must have 1 to %d bytes of UTF-8", maxUserID)
	}
	for _, r := range id {
		if r == utf8.RuneError || !unicode.IsGraphic(r) {
			return fmt.Errorf("user must not contain control characters, format characters or %U", utf8.RuneError)
		}
	}
	return nil
}

func (s Submission) validate() error {
	if err := checkUser(s.User); err != nil {
		return err
	}
	switch {
	case s.Epoch < 1:
		return errors.New("epoch must be at least 1")
	case !s.Takes && (s.Seed != "" || s.Choice != 0):
		return errors.New("a message with takes = false must have no seed and no choice")
	}
	return nil
}

// message returns the message of a validated submission.
func (s Submission) message() (local.Message, error) {
	m := local.Message{Takes: s.Takes}
	if s.Features != nil || s.Label != 0 {
		return m, errors.New("only messages of method prestige-label have features and label")
	}
	if !s.Takes {
		return m, nil
	}
	seed, err := base64.StdEncoding.DecodeString(s.Seed)
	if err != nil || len(seed) != len(m.Direction.Seed) {
		return m, errors.New("seed must be 32 bytes in base64")
	}
	copy(m.Direction.Seed[:], seed)
	m.Direction.Choice = s.Choice
	return m, nil
}

// decodeOne reads exactly one submission. Every name must have the letters of the struct tags, in lower case, and occur
// once. Readers of JSON differ about other spellings and repeated names, so a proxy could check another user than the
// user that counts.
func decodeOne(r io.Reader, s *Submission) error {
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields() // but they are compared without case
	if err := d.Decode(s); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("more than one JSON value")
	}
	names, seen := json.NewDecoder(bytes.NewReader(text)), map[json.Token]bool{}
	_, _ = names.Token() // the start of the object, or null; the text is JSON
	for names.More() {
		var value json.RawMessage
		name, _ := names.Token()
		if text, ok := name.(string); !ok || seen[name] || strings.Trim(text, "abcdefghijklmnopqrstuvwxyz") != "" {
			return fmt.Errorf("the name %q is unknown or repeated", name)
		}
		seen[name] = true
		_ = names.Decode(&value)
	}
	return nil
}

// PublicState is the body of GET /v1/state.
type PublicState struct {
	Epoch   int       `json:"epoch"`
	Epochs  int       `json:"epochs"`
	Visits  int64     `json:"visits"` // the number of messages in all epochs
	Users   int       `json:"users"`
	Updates int64     `json:"updates"`
	Done    bool      `json:"done"`
	Model   []float64 `json:"model"`
	Average []float64 `json:"average"`
}

// Receipt is the response to an accepted message.
type Receipt struct {
	Visit   int64   `json:"visit"`         // the number of the message, from 1
	Visits  int     `json:"user_visits"`   // the number of visits of this user
	Epsilon float64 `json:"user_epsilon"`  // the local epsilon of all visits of this user together
	Left    float64 `json:"epsilon_ahead"` // the local epsilon of the remaining epochs
}
