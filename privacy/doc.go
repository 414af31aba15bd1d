// Package privacy draws all randomness of Dyad and accounts for its privacy cost. It receives public numbers
// and the vectors to be released, never a data set.
//
// Packages below it are account (events and their joint cost) and internal/sampler (random bits and exact
// noise). Packages above it are ledger (a durable record of the spent budget) and local (randomisers that run
// at a user).
//
// # The chain of a guarantee
//
//	Certificate   how far a query can move when one record is replaced,
//	              computed from public numbers, roundoff included
//	Mechanism     the noise, Gaussian, Laplace or KNorm, calibrated to a
//	              Certificate and a Budget
//	account.Event a release, as an accountant sees it
//	Guarantee     what may be printed
//	ledger.Begin  charges the whole plan, durably, before any data is touched
//	Session       the only randomness and the only exit of an algorithm
//
// The theorems and proofs are in docs/theory.md, sections 1 and 3 to 6.
//
// # Attack model
//
// Neighbouring data sets have the same public number n of records and differ in one record, in its features
// and its label (replace-one), unless a Guarantee names another unit. The new record has the place, the id,
// the query group and, in a stream, the time of the record that it replaces. The schema accepts every record
// of both data sets; see "What may end a run".
//
// The adversary knows the program and every public number: n, d, bounds, radius, steps, schedule, method, the
// schema, all options and public seeds, ids, query groups and the order of the records. The adversary also
// knows all records but one, and two candidates for that record. The adversary sees everything that a private
// run gives to anybody:
//
//   - the releases: weights, averages of iterates, a chosen lambda with its estimates;
//   - the report, the JSON output and the model file;
//   - standard output and standard error, line by line, warnings and progress included, except the notes for the
//     owner (see below);
//   - exit codes, including those of failed runs, and whether a run ends with a model;
//   - the existence and the names of files, and the contents of all files except those listed
//     as private below;
//   - the charges, as "dyad ledger show" prints them.
//
// The guarantee covers all of these together: on neighbouring data sets everything but the releases is the
// same, up to random ids and clocks. cmd/command/silence_test.go compares the output for every algorithm,
// task, loss and unit on files with hostile joint properties. cmd/command/pinned_test.go compares every byte, with
// noise so large that the release is the same on all records.
//
// Notes for the owner compare the data files with the files of earlier runs in the ledger. They tell whether the files
// of one data id differ, whether a file was charged under another id, and whether it trained the model that is
// evaluated. They are lines of standard error and are not part of any file. Quiet runs (-q) do not print them. Two
// refusals compare files as well: a run is resumed on the files of its first attempt only, and a file that was charged
// is not a public reference. These notes and refusals tell without noise whether any record differs, so the
// owner must not publish them.
//
// Choices may depend on earlier releases. Examples are the options of later runs (see "Several runs") and, in
// a stream, the other records. The certificate of a release is a bound for any given past.
//
// # What may end a run
//
// A record that the schema refuses ends a run before it is charged. Examples are a missing value without a
// policy, an unknown category or label, text for a number, and NaN. The error names the file, the row, the
// column and the rule of the schema, but not the value. Such an error is visible and outside of the relation:
// the guarantee is for data sets without such records. The rule depends on one record at a time and on public
// things: n, ids, groups, headers, formats.
//
// Properties of well-formed records never end a private run, before or after the charge, and are not printed.
// Examples are a missing class, a single grade, query groups without a pair, equal rows, extreme or clamped
// values, missing values under a policy, and sums that are zero. In these cases training continues with the
// computed gradient and the same noise. Figures that the owner asks for are an exception (see "Not covered").
//
// A device, a disk, a lock or an interrupt can end a run at any time. So can a vector that is not finite, but
// bounded records never produce one. After noise was drawn, such a run is closed or resumed as the comment of
// ledger.Ledger.Resume describes.
//
// # Streams
//
// All records of a stream except the replaced record may be chosen adaptively, by somebody who sees every
// release before the next record. Certificates hold given the past and all other records. The maximum n, the
// arrival times of records, the batches and the burn-in are public. An attacker sees all releases. A record
// that the schema refuses ends the stream at that record, after earlier releases were published. The state
// file and its copies contain records and are private. A count next to the ledger detects a state that is
// older than the releases, and such a state is refused.
//
// # Labelled pairs, tuples, all pairs
//
// The pairing is public. It includes all ids, every line of the pair file without its label, repeated lines,
// the degree of every individual, and pairs dropped by a cap. In preferences without labels, the order of the
// two ids is the label. Kappa is public, too, and must be fixed before private pairs are seen. An id is an
// individual: a person with two ids counts as two individuals, each protected alone. Ids that look alike are
// refused unless allowed, which reveals only ids. Letters of two alphabets, or 007 and 7, are not noticed.
//
// Features and labels are private. The unit "one individual" covers the individual's features and the labels
// of all its pairs, which change together. A group of pairs covers the data of at most kappa pairs. The unit
// of one pair covers the data of that pair, which does not protect people who are in more pairs. Drawn pairs
// have labels that follow from the classes of records, so one record is the unit. The choice of drawn pairs
// depends on the order of the ids and a public seed. With Method Labels, features are public. Tuples and all
// pairs are formed from the classes of records: ids, their order and the seed are public, and one record is
// the unit.
//
// # Local protocol
//
// The adversary is everybody except one user: the server, all other users and the network. The adversary sees
// the bytes of a message, its existence and its time. It is public that a user takes part, in which epochs,
// and with which program. Any two records give messages of the same law up to epsilon, for every state and
// plan of the server, which the adversary may choose. The client recomputes constants and refuses plans that
// cost more than its user allows. For a record that cannot be used, the client sends the message of a zero
// gradient.
//
// Messages take the same work for every record and leave at fixed times. So their timing reveals nothing
// either, up to the time of single operations. The user's own terminal and exit code are private to the user.
// The client's memory file enforces the limit of one message in an epoch. It is private, and a client with a
// copy or an older version of the file would draw again. Methods for labels alone send features in clear. A
// shuffled guarantee relies on trust in the shuffler. A simulation of all users is a central run by somebody
// who sees the records, and it is charged.
//
// # Several runs
//
// The costs of runs add up in the ledger, for one data id and one unit. The total counts the releases that
// were charged, even if they were never made. Budgets must not be chosen by looking at releases, unless there
// is a cap. Under a cap, the total of Gaussian releases is a filter [Smith and Thakurta 2022, Fully Adaptive
// Composition for Gaussian Differential Privacy]. The ledger does not add runs on the same people under
// another data id or in another ledger. It does not group the records of a person with several records (k
// records: k units). A data id stands for one data set. If a file differs from the file of an earlier run, a
// new run warns and a resume refuses. Anybody who sees the warning or the refusal learns that the file was
// changed between the two runs.
//
// # Randomness
//
// Sampling is exact: each released coordinate is the rounding of query + continuous noise to a grid. The
// rounding is decided from as many random bits as necessary, so floating point does not weaken the guarantee.
// The bits come from ChaCha8 keyed by the operating system, so the guarantee is against adversaries that
// cannot break ChaCha8. A user can give a seed for noise, for reproduction only. The guarantee then states
// this, and anyone who knows the seed can compute the query without its noise. Seeds of splits, drawn pairs
// and tuples are public.
//
// # Private files and memory
//
// Some things are as private as the records, and their readers are outside of the attack model. These are the
// memory and swap space of a run, checkpoints, the state of a stream, the memory file of a client, and a
// model that is kept before its release is recorded. Temporary files of these are private as well; only their
// owner can read them. The messages between the processes of a team (exact sums, labels, secret iterates and
// batches) are also private: all processes and their network belong to the curator. The ledger file contains
// the key and, next to the key, a keyed hash of every data file, which is enough to confirm a guess of all
// records. Anyone who can write to the ledger's folder can restore an older state of the ledger, and then one
// charge can be released twice.
//
// # Not covered
//
// These commands compute figures from records without noise: data inspect, data schema, data convert, pairs
// inspect, and evaluate and --holdout with --exact-figures. The report marks exact figures, or gives the
// reason for their absence. predict and transform print a function of one record and released weights on each
// line. Also not covered are ranges taken from the data, rows left out because of their label, and runs
// declared public or non-private. Reports mention each of these where it applies.
//
// # Known limits
//
// Running time, memory use and energy are not protected. The same holds for their consequences: how fast
// progress moves, whether and when a checkpoint appears, and whether a run is killed for want of memory.
// Reports on private data show no time, but the clocks of files and of the ledger do, and an observer of the
// machine sees more. For example, the direct method takes time proportional to the number of positives times
// the number of negatives. Sorting, sparse rows, clipping, the eigensolvers' sweeps and the retries of the
// noise sampler depend on records or noise as well. The time of a step also reveals the size of a secret
// Poisson batch, which the accounting assumes to be hidden. The size of a data file and the time to read it
// are not hidden.
package privacy
