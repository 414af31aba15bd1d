package parse

// TrimBlanks removes spaces and tabs at both ends of b. If the delimiter is a space or a tab, it is kept.
func TrimBlanks(b []byte, delim byte) []byte {
	b = b[SkipBlanks(b, delim):]
	for len(b) > 0 && IsBlank(b[len(b)-1], delim) {
		b = b[:len(b)-1]
	}
	return b
}

// SkipBlanks returns the number of spaces and tabs at the beginning of b. If the delimiter is a space
// or a tab, it is not counted.
func SkipBlanks(b []byte, delim byte) int {
	k := 0
	for k < len(b) && IsBlank(b[k], delim) {
		k++
	}
	return k
}

// IsBlank reports whether a character is a space or a tab and not the delimiter.
func IsBlank(c, delim byte) bool { return (c == ' ' || c == '\t') && c != delim }
