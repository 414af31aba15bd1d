package must

import (
	"crypto/rand"
	mathrand "math/rand/v2"
)

// SameRandomness calls f with the same random numbers in place of the system's in every call, so that two calls draw the same
// noise, ids and names. No other test may run at the same time.
func SameRandomness(f func()) {
	system := rand.Reader
	defer func() { rand.Reader = system }()
	rand.Reader = mathrand.NewChaCha8([32]byte{1})
	f()
}
