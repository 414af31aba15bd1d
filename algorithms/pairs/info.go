package pairs

import "dyad/algorithms"

// Info describes the learner for catalogues.
func Info() algorithms.Info {
	return algorithms.Described("pairs", algorithms.Info{Modes: []algorithms.Mode{algorithms.Certified, algorithms.Paper,
		algorithms.NonPrivate}, PureModes: []algorithms.Mode{algorithms.Certified, algorithms.Paper}})
}

// TuplesInfo describes the learner from classes for catalogues.
func TuplesInfo() algorithms.Info {
	return algorithms.Described("tuples", algorithms.Info{Modes: []algorithms.Mode{algorithms.Certified,
		algorithms.NonPrivate}, PureModes: []algorithms.Mode{algorithms.Certified}})
}
