// Package protocol holds the types of the shiro/* methods and events that
// editors exchange with the server, version 1. It is data: it opens nothing,
// decides nothing, and knows neither the agent nor the connection.
//
// The Go declarations are the only source. schema.json beside them is generated
// from these structs, their tags and their doc comments, and is what other
// languages generate their types from. A test fails when the two differ.
//
// # Conventions of the wire
//
//   - Requests are named shiro/<noun>/<verb>. The server's only notification is
//     shiro/event.
//   - A session's id is the stem of its file, a UUIDv7. Every other id begins
//     with the prefix of its kind, such as trn_ for a turn.
//   - A field that has no value is left out. A list that the schema requires is
//     always there, empty or not, and never null.
//   - Both sides ignore fields, event types and methods they do not know, and
//     read an unknown enum value as the type says. So version 1 grows only by
//     adding.
//   - Documents are URIs. Working directories and roots are absolute paths.
//     Positions count lines from 0, and characters in the encoding that the LSP
//     handshake chose. Offsets into text of an item count UTF-8 bytes.
//
// # Encoding
//
// The tags mean the same to encoding/json and to encoding/json/v2, except that
// the former writes a nil list as null. Whoever encodes these values with it
// must fill the required lists first. The server's connection uses the latter.
package protocol
