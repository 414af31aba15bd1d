package main

// matrixCopies is how often training holds the parameters at once, garbage included: up to
// 26 times were seen for metrics of 600 to 2,000 features, most of it in eigensolvers.
const matrixCopies = 32

// needsMemory refuses a model that this machine cannot hold while it trains, before
// anything is charged: a process that runs out of memory can only die.
func (a *app) needsMemory(params int) error {
	available := a.memory()
	if need := 8 * matrixCopies * float64(params); available > 0 && need > available {
		return badInput("training a model of %d parameters takes about %.3g GB of memory, and %.3g GB are available; choose fewer features (in the schema), or a machine with more memory; nothing was charged",
			params, need/1e9, available/1e9)
	}
	return nil
}

// memory is the number of bytes that this process may still take, or 0 if unknown.
func (a *app) memory() float64 {
	if a.hooks.memory > 0 {
		return a.hooks.memory
	}
	return availableMemory()
}
