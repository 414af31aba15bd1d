// Package serve is the server of the local learners over HTTP, and the client's
// side of it.
//
// # Requests
//
//	GET  /v1/plan           the public protocol
//	GET  /v1/state          the published model, epoch and number of visits
//	POST /v1/messages       one privatised message of one user in one epoch
//	GET  /v1/users/{id}     visits and epsilon of a user, as far as the server knows
//
// A request that the server does not accept gets a 4xx or 503 with a JSON body
// {"error": "...", "code": "..."} and changes nothing.
//
// A message is application/json with a Content-Length; chunked bodies are refused. A request with an Origin is refused,
// since a web page would send it in the name of its visitor. A request with a Host that is not the server's
// (HandlerOptions.Hosts) is refused, since a page can give its own name the server's address. The header Dyad-User
// names the user of a message, escaped as a part of a path. It is needed with HandlerOptions.Tokens: user and token are
// checked before the body is read.
//
// # Load
//
// One client costs others little. A body has HandlerOptions.BodyWait to arrive, and connections without a whole
// request make room for new ones. An address with more than its share of requests in work gives one up to others.
// Only accepted messages count for the rate of all, and a user with a token has a rate of their own. The state is
// encoded once between two messages, and slow readers hold at most 64 MB of old states (two states, if they are
// larger). A client in turn bounds the work of a server's loss, and prints nothing of a server that is not
// Printable.
//
// # Durability
//
// A message is acknowledged after it is in the log on disk. The state is a function of
// the log: after any crash the server replays it, drops a last line that was cut short
// (its sender got no acknowledgement and may send again), and refuses a second message of
// a user in an epoch. So no message is lost, counted twice or applied twice.
//
// # Identity
//
// A user is an id. With HandlerOptions.Tokens every request that names one needs the token of that id in that
// study (TokenKey), so nobody can take another's place in an epoch or see how often they took part. Without
// tokens, anyone who knows an id can do both; ids should then be hard to guess, or a proxy that knows the users
// should stand before the server. Either way a user pays for the messages that they drew themselves, and for no
// others. Guarantees are about messages: they do not hide who takes part.
package serve
