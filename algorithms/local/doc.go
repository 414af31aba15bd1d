// Package local learns linear models, and networks with one hidden layer (Network), from users who do not trust
// the server. Every visited user sends one privatised message, and the server sees nothing else ([Han19],
// Privacy-preserving Stochastic Gradual Learning; docs/theory.md#local-model).
//
// # Client and server
//
// Only client.go reads records. It runs at the user. A message is a function of the record, of public numbers
// (Plan, State) and of randomness drawn at the user. network.go computes the score and the gradient of a
// record. server.go runs at the server. It is deterministic, sees messages only, and holds the State that is
// published. simulate.go runs client and server over a data set.
//
// # Unit of privacy
//
// The unit is a user with one record (x, y), ||x|| <= FeatureNorm, y = -1 or 1. Epsilon is the cost of one
// visit. A user is visited once an epoch, so all visits together cost Epochs times as much. The number, order
// and time of visits must not depend on records.
package local
