// Package privacy draws all randomness of Dyad and accounts for it. It receives
// public numbers and the vectors to be released, never a data set.
//
// Packages below it: account (events and what they cost together), internal/sampler
// (random bits and exact noise). Above it: ledger (what was spent, durably), local
// (randomisers that run at a user).
//
// # The chain of a guarantee
//
//	Certificate   how far a query can move when one record is replaced,
//	              computed from public numbers, roundoff included
//	Mechanism     the noise, Gaussian, Laplace or KNorm, calibrated to a
//	              Certificate and a Budget
//	account.Event what was released, as an accountant sees it
//	Guarantee     what may be printed
//	ledger.Begin  charges the whole plan, durably, before any data is touched
//	Session       the only randomness and the only exit of an algorithm
//
// Theorems and proofs: docs/theory.md, sections 1 and 3 to 6.
//
// # Attack model
//
// Neighbours are two data sets of the same public n that differ in one record, features and
// label (replace-one), unless a Guarantee names another unit. The record that replaces another
// has its place, its id, its query group and, in a stream, its time. Every record of both is
// one that the schema accepts; see "What may end a run".
//
// The adversary knows the program; every public number: n, d, bounds, radius, steps,
// schedule, method, the schema, all options and public seeds, ids, query groups and the order
// of the records; all records but one, and two candidates for that one. The adversary sees
// everything that a private run gives to anybody:
//
//   - what is released: weights, averages of iterates, a chosen lambda with its estimates;
//   - the report, the JSON output and the model file;
//   - standard output and standard error, line by line, warnings and progress included;
//   - exit codes, of failed runs, too, and whether a run ends with a model;
//   - which files there are and how they are named, and the contents of all but those listed
//     as private below;
//   - the charges, as "dyad ledger show" prints them.
//
// The guarantee is about all of this together: on neighbours everything but what is released
// is the same, up to random ids and clocks. cmd/command/silence_test.go compares it for every
// algorithm, task, loss and unit on files with hostile joint properties.
//
// Choices may depend on earlier releases: the options of later runs (see "Several runs"), and
// in a stream the other records. The certificate of a release bounds it given any past.
//
// # What may end a run
//
// A record that the schema refuses (a missing value without a policy, an unknown category or
// label, text for a number, NaN) ends a run before it is charged, with its file, row, column
// and rule, but not its value. That shows, and it is outside of the relation: the guarantee is
// for data sets without such records. The rule looks at one record at a time and at public
// things: n, ids, groups, headers, formats.
//
// Properties of well-formed records never end a private run, before the charge or after it,
// and are not printed. Such properties are a class that is missing, one grade, query groups
// without a pair, equal rows, extreme or clamped values, missing values under a policy, sums
// that are zero. Training goes on, the gradient is what it is, and the noise is the same.
// The figures that the owner asks for are another matter (see "Not covered").
//
// A device, a disk, a lock or an interrupt can end a run at any time, and a vector that is not
// finite, which no bounded records make. After noise was drawn such a run is closed or resumed
// as the comment of ledger.Ledger.Resume says.
//
// # Streams
//
// The records of a stream may be chosen adaptively, by somebody who sees every release before
// the next record, all but the one that is replaced: certificates hold given the past and all
// other records. Public are the maximum n, when records arrive, batches and burn-in. An
// attacker sees all releases. A record that the schema refuses ends the stream where it stands,
// when earlier releases are out. The state file holds records and is private; so are copies of
// it. A state that is older than what was released is refused, by a count next to the ledger.
//
// # Labelled pairs, tuples, all pairs
//
// The pairing is public: all ids, every line of the pair file without its label, repeated lines,
// the degree of everybody, and pairs dropped by a cap. In preferences without labels, the order
// of the two ids is the label. Kappa is public, too, and must be fixed before private pairs are
// seen. An id is an individual, and somebody with two ids is two, each protected alone. Ids that
// look alike are refused unless allowed, which shows nothing but ids; letters of two alphabets,
// or 007 and 7, are not noticed. Features and labels are private. The unit "one individual"
// covers its features and the labels of all its pairs, which change together. A group of pairs
// covers what belongs to at most kappa of them. One pair covers what belongs to it, which does
// not protect people who are in more pairs. Pairs that are drawn have the classes of records as
// labels, so one record is the unit; who is drawn depends on the order of the ids and a public
// seed. With Method Labels features are public. Tuples and all pairs come from the classes of
// records: ids, their order and the seed are public, and one record is the unit.
//
// # Local protocol
//
// The adversary is everybody but one user: the server, all other users and the network. Of a
// message they see the bytes, that it comes, and when. That a user takes part, in which epochs
// and with which program, is public. Any two records give messages of the same law up to
// epsilon, whatever the server's state and plan, which the adversary may choose: the client
// recomputes constants and refuses plans that cost more than its user allows. A record that
// cannot be used sends the message of a zero gradient. Messages cost the same work for every
// record and leave at a beat, so their time tells nothing either, up to single operations.
// What the user's own terminal and exit code show is the user's. The client's memory file is
// what limits one message to an epoch: it is private, and a copy or an older one that is put
// back draws again. Methods for labels alone send features in clear. A shuffled guarantee
// trusts who shuffles. A simulation of all users is a central run by somebody who sees the
// records, and is charged.
//
// # Several runs
//
// They add up, in the ledger, for one data id and one unit. The total is for the releases that
// were charged, even if nothing came of them. Budgets must not be chosen by looking at
// releases, unless under a cap, where the total of Gaussian releases is a filter [Smith and
// Thakurta 2022, Fully Adaptive Composition for Gaussian Differential Privacy]. Not added: runs
// on the same people under another data id or in another ledger, and a person with several
// records (k records: k units). A data id stands for one data set. That a file is not that of an earlier
// run is said in a warning, and refused by a resume: whoever sees this learns that something in
// the file was changed between the two.
//
// # Randomness
//
// Sampling is exact: each released coordinate is the rounding of query + continuous noise to a
// grid, decided from as many random bits as it takes, so floating point does not weaken the
// guarantee. The bits come from ChaCha8 keyed by the operating system: the guarantee is against
// adversaries that cannot break it. A seed that a user gives for noise is for reproduction, the
// guarantee says so, and anyone who knows it sees the query. Seeds of splits, drawn pairs and tuples
// are public.
//
// # Private files and memory
//
// Some things are as private as the records, and their readers are outside of the attack model.
// These are the memory and swap space of a run, checkpoints, the state of a stream, the memory
// file of a client, and a model that is kept before its release is recorded. Temporary files
// belong to them; only their owner can read them. So do the messages between the processes of a
// team (exact sums, labels, secret iterates and batches): all processes and their network belong
// to the curator. The ledger file has a keyed hash of every data file next to the key, which is
// enough to confirm a guess of all records. Whoever can write the ledger's folder can put it back
// to an older state, and then one charge can be released twice.
//
// # Not covered
//
// These commands compute figures from records without noise: data inspect, data schema, data convert, pairs inspect,
// and evaluate and --holdout with --exact-figures. The report marks exact figures, or gives the reason for their
// absence. predict and transform print a function of one record and released weights on each line. Ranges taken from
// the data. Rows left out by their label. Runs declared public or non-private. Reports say each of these where it
// applies.
//
// # Known limits
//
// Running time, memory use and energy are not protected, nor are their consequences: how fast
// progress moves, whether and when a checkpoint appears, a run that is killed for want of
// memory. Reports on private data show no time, but the clocks of files and of the ledger do,
// and an observer of the machine sees more. For one thing the direct method takes time
// proportional to the number of positives times that of negatives; sorting, sparse rows,
// clipping, the eigensolvers' sweeps and the retries of the noise sampler depend on records or
// noise as well. The time of a step also tells how large a secret Poisson batch was, which its
// accounting takes for hidden. The size of a data file and the time to read it are not hidden.
package privacy
