// Package serve has the server of the local learners over HTTP, and the client for it.
//
// # Requests
//
//	GET  /v1/plan           the public protocol
//	GET  /v1/state          the published model, epoch and number of visits
//	POST /v1/messages       one privatised message of one user in one epoch
//	GET  /v1/users/{id}     visits and epsilon of a user, as far as the server knows
//
// If the server does not accept a request, the response is a 4xx or 503 with a JSON body {"error": "...",
// "code": "..."}, and the state does not change.
//
// A message is application/json with a Content-Length. Chunked bodies are refused. A request with an Origin is refused,
// since a web page would send it in the name of its visitor. A request with a Host that is not in HandlerOptions.Hosts
// is refused, since a page can give its own name the server's address. The header Dyad-User names the user of a
// message, escaped as a part of a path. The header is required with HandlerOptions.Tokens: user and token are checked
// before the body is read.
//
// # Load
//
// One client has little effect on other clients. A body must arrive within HandlerOptions.BodyWait, and
// connections without a whole request make room for new connections. An address with more than its share of
// requests in work gives one up to other addresses. Only accepted messages count for the common rate limit, and
// each user with a token has a separate rate limit. The state is encoded once between two messages, and slow
// readers hold at most 64 MB of old states (two states, if they are larger). The client bounds the work for a
// server's loss, and it prints text of a server only in Printable form.
//
// # Durability
//
// A message is acknowledged after it is in the log on disk. The state is a function of the log. After any crash
// the server replays the log. It drops a last line that was cut short; the sender of this line got no
// acknowledgement and may send again. It refuses a second message of a user in an epoch. So no message is lost,
// counted twice or applied twice.
//
// # Identity
//
// A user is an id. With HandlerOptions.Tokens, every request that names a user needs the token of this id in
// the study (TokenKey). So a user cannot take another user's place in an epoch or see how often another user
// took part. Without tokens, anyone who knows an id can do both. Then ids should be hard to guess, or a proxy
// that knows the users should stand in front of the server. In both cases a user pays only for the messages
// that the user drew. Guarantees are about messages: they do not hide who takes part.
package serve
