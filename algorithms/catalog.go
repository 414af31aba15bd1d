package algorithms

import (
	"fmt"
	"strings"
)

// Catalog returns every algorithm with its default options, private ones first.
// Tests that must hold for all algorithms take them from here, so that none can
// be forgotten.
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

// ByName returns the catalogue's algorithm of that name.
func ByName(name string) (Algorithm, error) {
	var names []string
	for _, a := range Catalog() {
		if a.Info().Name == name {
			return a, nil
		}
		names = append(names, a.Info().Name)
	}
	if _, err := StreamByName(name); err == nil {
		return nil, fmt.Errorf("algorithms: %s is an online algorithm, which takes its records one by one (dyad online)", name)
	}
	var online []string
	for _, s := range StreamCatalog() {
		online = append(online, s.Info().Name)
	}
	return nil, fmt.Errorf("algorithms: %q is not in the catalogue; choose one of %s, or of the online algorithms %s", name, strings.Join(names, ", "), strings.Join(online, ", "))
}

// paperOf is Info.Paper of an algorithm of either catalogue, "" for others.
func paperOf(name string) string {
	if a, err := ByName(name); err == nil {
		return a.Info().Paper
	}
	if s, err := StreamByName(name); err == nil {
		return s.Info().Paper
	}
	return ""
}
