package algorithms

// Trusted lets tests run algorithms that are not in the catalogue as if they
// were.
func Trusted(o Options) Options {
	o.trusted = true
	return o
}
