package algorithms

import (
	"fmt"
	"strings"
)

// Catalog returns every algorithm with its default options, private algorithms first. Tests that must hold for
// all algorithms iterate over Catalog, so that no algorithm is forgotten.
func Catalog() []Algorithm {
	return []Algorithm{
		DPGDSC{},
		OffPairStrC{},
		OffPairC{},
		DPGDC{},
		DPGDC2{},
		DPEGD{},
		GradientPerturbation{},
		ConvergentDescent{},
		SubsampledDescent{},
		Moments{},
		MomentMetric{},
		MomentsDescent{},
		ProjectedGradient{},
		OffGIGA{},
	}
}

// ByName returns the algorithm of the catalogue with the given name.
func ByName(name string) (Algorithm, error) {
	var names []string
	for _, a := range Catalog() {
		if a.Info().Name == name {
			return a, nil
		}
		names = append(names, a.Info().Name)
	}
	if _, err := StreamByName(name); err == nil {
		return nil, fmt.Errorf("algorithms: %s is an online algorithm, which takes its records one by one (dyad online)",
			name)
	}
	var online []string
	for _, s := range StreamCatalog() {
		online = append(online, s.Info().Name)
	}
	return nil, fmt.Errorf("algorithms: %q is not in the catalogue; choose one of %s, or an online algorithm: %s",
		name, strings.Join(names, ", "), strings.Join(online, ", "))
}

// StreamCatalog returns every online algorithm with its default options.
func StreamCatalog() []Stream { return []Stream{OnPairStrC{}, OnPairC{}, DPFTRL{}, OnGIGA{}} }

// DefaultStream returns the online algorithm that a mode uses if the user names none.
func DefaultStream(m Mode) Stream {
	if m == NonPrivate {
		return OnGIGA{}
	}
	return OnPairC{}
}

// StreamByName returns the online algorithm with the given name.
func StreamByName(name string) (Stream, error) {
	var names []string
	for _, s := range StreamCatalog() {
		if s.Info().Name == name {
			return s, nil
		}
		names = append(names, s.Info().Name)
	}
	return nil, fmt.Errorf("algorithms: %q is not an online algorithm; choose one of %s", name, strings.Join(names, ", "))
}

// paperOf returns Info.Paper of an algorithm of either catalogue, or "" for any other name.
func paperOf(name string) string {
	if a, err := ByName(name); err == nil {
		return a.Info().Paper
	}
	if s, err := StreamByName(name); err == nil {
		return s.Info().Paper
	}
	return ""
}
