package dataset

import "dyad/engine/dataset/source"

// ParseError is a rule that the content of a file breaks.
type ParseError = source.ParseError

// Encodings of a text file that is not UTF-8.
const (
	EncodingUTF16       = source.EncodingUTF16
	EncodingWindows1252 = source.EncodingWindows1252
)
