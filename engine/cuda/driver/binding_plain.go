//go:build !gorgoniacu || !cgo

package driver

import "errors"

// OpenGorgonia is Open through gorgonia.org/cu. This build does not contain gorgonia.org/cu, so OpenGorgonia
// returns an error. See the package documentation.
func OpenGorgonia() (Driver, error) {
	return nil, errors.New("driver: this program lacks gorgonia.org/cu; build it with -tags gorgoniacu and cgo, or " +
		"unset " + bindingVariable)
}
