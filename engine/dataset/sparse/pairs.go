// Package sparse reads pairs of index and value from lines of LIBSVM files and from CSR matrices of SciPy.
package sparse

import (
	"bytes"
	"strconv"

	"dyad/engine/dataset/parse"
)

// QueryPrefix is the text before the query id of a row.
var QueryPrefix = []byte("qid:")

// pair parses "INDEX:VALUE". If it returns a rule, index is 0 unless the index could be parsed.
func pair(token []byte) (index int, v float64, rule string) {
	colon := bytes.IndexByte(token, ':')
	if colon < 0 {
		return 0, 0, RuleNoPair
	}
	if bytes.HasPrefix(token, QueryPrefix) {
		return 0, 0, RuleQIDFirst
	}
	index, err := strconv.Atoi(string(token[:colon]))
	if err != nil || index < 1 {
		return 0, 0, RuleIndex
	}
	v, rule = parse.Number(token[colon+1:])
	return index, v, rule
}

// EachPair calls add for each pair of a line. The text counts indices from 1, and the argument k of add counts from
// 0. EachPair checks that indices increase and are at most dim. If a pair breaks a rule, EachPair returns the rule,
// and the index as in the text, or 0 if the pair has no valid index.
func EachPair(rest []byte, dim int, add func(k int, v float64) error) (index int, rule string, err error) {
	previous := 0
	for {
		token, more := CutToken(rest)
		if len(token) == 0 {
			return 0, "", nil
		}
		rest = more
		k, v, rule := pair(token)
		switch {
		case rule != "" && k > dim:
			return 0, rule, nil
		case rule != "":
			return k, rule, nil
		case k > dim:
			return k, ruleAboveFeatures, nil
		case k <= previous:
			return k, RuleIndexOrder, nil
		}
		previous = k
		if err := add(k-1, v); err != nil {
			return 0, "", err
		}
	}
}

// CutToken returns the first run of non-blank bytes and the text after it.
func CutToken(b []byte) (token, rest []byte) {
	start := parse.SkipBlanks(b, 0)
	end := start
	for end < len(b) && !parse.IsBlank(b[end], 0) {
		end++
	}
	return b[start:end], b[end:]
}

// The rules of a sparse row.
const (
	RuleNoPair = "the text after the label is not a list of INDEX:VALUE pairs (if this is a CSV file, set " +
		"format: csv)"
	RuleIndex         = "the index is not a positive whole number; LIBSVM indices start at 1"
	RuleIndexOrder    = "the indices do not increase within the row; sort the row and remove duplicates"
	RuleQIDFirst      = "the query id (qid:) comes after the features; put it right after the label"
	ruleAboveFeatures = "the index is larger than features; raise features in the schema, or correct the row"
)
