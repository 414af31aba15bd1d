// Package privacy draws all randomness of Dyad and accounts for it. It receives
// public numbers and the vectors to be released, never a data set.
//
// # The chain of a guarantee
//
//	Certificate   how far a query can move when one record is replaced,
//	              computed from public numbers, roundoff included
//	Mechanism     the noise, Gaussian, Laplace or KNorm, calibrated to a
//	              Certificate and a Budget
//	Event         what was released, as an accountant sees it
//	Guarantee     what may be printed
//	Ledger.Begin  charges the whole plan, durably, before any data is touched
//	Session       the only randomness and the only exit of an algorithm
//
// # Attack model
//
// The adversary knows the program, every public number (n, d, bounds, radius,
// steps, schedule), all records but one, and sees everything that is released:
// the model file and the report. Two data sets are neighbours if they have the
// same n and differ in one record, features and label (replace-one), unless a
// Guarantee says otherwise.
//
// # Known limits
//
// Running time, memory use and the number of retries of the noise sampler are
// not protected: reports on private data show no time, and who can watch the
// machine sees more than the report. For a metric the guarantee also rests on an
// eigensolver that reaches its stated accuracy on every input (checked at run
// time; a run that cannot keep it fails). Sampling is exact (each released coordinate is the rounding of
// query + continuous noise to a grid, decided from as many random bits as it
// takes), so floating point does not weaken the guarantee; the random bits come
// from ChaCha8 keyed by the operating system, so the guarantee is against
// adversaries that cannot break it. A seeded session is for reproduction: its
// noise is not secret.
package privacy
