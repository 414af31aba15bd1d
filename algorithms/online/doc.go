// Package online runs streams durably: one charge, and one release for every number, whatever is
// killed, copied or put back.
//
// Open a stream, Take one record after the other, publish what Take returns, and Stop; the example
// does so. After a crash, Options.Resume continues from the state file; the first release to
// publish is then Stream.Last, which the crash may have kept from its reader.
//
// # What is on disk, in this order
//
//  1. The state file names the run, before the charge: a run that is charged can be resumed.
//  2. The count of the releases begins, next to the ledger (ledger.RunLock).
//  3. The ledger has the charge of all releases up to the horizon.
//  4. The state file holds a release, with the records of the buffer.
//  5. The count has the number of that release, and a hash of it. Take returns the release.
//  6. Stop: the state holds the unfinished batch; the caller writes its model; the ledger has
//     the end of the run, or one more resume of it if the horizon is not reached.
//
// So no number is published that a resumed attempt could draw a second time (ledger.RunLock.Resume
// has the proof), and a copy of the state from before a resume is refused.
package online
