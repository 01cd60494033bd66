package protocol

import (
	"crypto/sha256"
	_ "embed" // for schema.json
	"encoding/hex"
)

//go:embed schema.json
var schemaJSON string

// Schema returns a new copy of the JSON Schema, draft 2020-12, of everything in
// this package, as indented JSON. Next to $defs, which has every type, it has
// these members of our own:
//
//   - version is the version of the protocol
//   - capabilities names the types of the client's and the server's
//     experimental.shiro
//   - methods has for each method its direction, and its params and result as
//     schemas; a method without result is a notification
//   - events has for each type of event its data as a schema, and whether it is
//     durable
//   - errors has for each kind of error its code
func Schema() []byte { return []byte(schemaJSON) }

// SchemaSHA256 returns in hex the SHA-256 of [Schema], by which a client can
// tell whether the types it was built with are the server's. It is computed at
// each call, in about a tenth of a millisecond.
func SchemaSHA256() string {
	sum := sha256.Sum256([]byte(schemaJSON))
	return hex.EncodeToString(sum[:])
}
