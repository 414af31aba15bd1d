// Package online runs streams durably. A stream is charged once, and every update has exactly one release. This
// holds even if the process is killed, or if its files are copied or replaced by older versions.
//
// To use a stream, Open it, Take one record after the other, publish the results of Take, and Stop. The example
// shows these calls. After a crash, Options.Resume continues from the state file. The first release to publish
// is then Stream.Last, because the crash may have kept this release from its reader.
//
// # What is on disk, in this order
//
//  1. The state file names the run before the charge, so a charged run can be resumed.
//  2. A file next to the ledger starts to count the releases (ledger.RunLock).
//  3. The ledger has the charge of all releases up to the horizon.
//  4. The state file holds a release, with the records of the buffer.
//  5. The count file has the number and a hash of the release. Take then returns the release.
//  6. After Stop the state file holds the unfinished batch, and the caller has written its model. The ledger has
//     the end of the run, or one more resume of the run if the horizon is not reached.
//
// Because of this order, no update is published that a resumed attempt could draw a second time
// (ledger.RunLock.Resume has the proof). A copy of the state from before a resume is refused.
package online
