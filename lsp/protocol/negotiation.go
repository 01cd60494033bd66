package protocol

// ClientCapabilities stands at capabilities.experimental.shiro in the params of
// initialize. A client that leaves it out speaks plain LSP.
type ClientCapabilities struct {
	ProtocolVersions []int       `json:"protocolVersions" jsonschema:"the versions the client speaks; none in common with the server is the error version_unsupported"`
	ClientID         string      `json:"clientId,omitzero" jsonschema:"stable name of this installation and workspace; it stands in resolvedBy when this client answers an approval"`
	Events           EventFilter `json:"events,omitzero" jsonschema:"ephemeral events that this client never wants"`
}

// EventFilter names events not to be sent. Only ephemeral ones can be left out:
// without a durable one the sequence numbers would have holes.
type EventFilter struct {
	Exclude []string `json:"exclude,omitzero" jsonschema:"types of ephemeral events, each alone or with a channel after a colon, as in item.delta:reasoning"`
}

// ServerCapabilities stands at capabilities.experimental.shiro in the result of
// initialize.
type ServerCapabilities struct {
	ProtocolVersion int            `json:"protocolVersion" jsonschema:"the version spoken on this connection"`
	ServerVersion   string         `json:"serverVersion" jsonschema:"the version of the program"`
	Methods         []string       `json:"methods" jsonschema:"the shiro requests this server answers"`
	Events          []EventType    `json:"events" jsonschema:"the types of events this server sends"`
	SchemaSHA256    string         `json:"schemaSha256" jsonschema:"SHA-256 in hex of the schema as the command shiro schema prints it"`
	Features        ServerFeatures `json:"features" jsonschema:"what this server can do"`
	Limits          ServerLimits   `json:"limits" jsonschema:"what this server accepts"`
}

// ServerFeatures says what a server can do beyond answering its methods. A
// feature that is left out is one it has not.
type ServerFeatures struct {
	Queue  bool `json:"queue,omitzero" jsonschema:"a prompt sent while a turn runs can wait for its end"`
	Hunks  bool `json:"hunks,omitzero" jsonschema:"an edit can be answered hunk by hunk, or with the user's own text"`
	Memory bool `json:"memory,omitzero" jsonschema:"notes about projects are used"`
}

// ServerLimits says how much a server takes. Zero or left out is no limit of the
// protocol's.
type ServerLimits struct {
	MaxMessageBytes int `json:"maxMessageBytes" jsonschema:"the largest message the server reads, in bytes; a larger one is refused"`
	ReplayPage      int `json:"replayPage" jsonschema:"the most events in one answer to attach"`
	MaxActiveTurns  int `json:"maxActiveTurns,omitzero" jsonschema:"the most sessions that run a turn at once"`
	MaxQueued       int `json:"maxQueued" jsonschema:"the most prompts waiting in one session"`
}
