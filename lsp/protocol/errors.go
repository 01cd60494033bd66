package protocol

// Error is the error object of a JSON-RPC response, and stands in the same shape
// where an event reports a failure. A turn that fails is not a failed request:
// turn.completed tells of it.
type Error struct {
	Code    int       `json:"code" jsonschema:"the number that goes with data.kind"`
	Message string    `json:"message" jsonschema:"what went wrong, for people"`
	Data    ErrorData `json:"data" jsonschema:"the same for programs"`
}

// ErrorKind says what went wrong. An unknown kind reads as internal_error.
type ErrorKind string

const (
	KindParseError     ErrorKind = "parse_error"      // the message is not JSON
	KindInvalidRequest ErrorKind = "invalid_request"  // the message is not a request
	KindMethodNotFound ErrorKind = "method_not_found" // there is no such method
	KindInvalidParams  ErrorKind = "invalid_params"   // the params do not fit the method
	KindInternalError  ErrorKind = "internal_error"   // a fault of the server

	KindNotInitialized  ErrorKind = "not_initialized"  // a request came before initialize
	KindCancelled       ErrorKind = "cancelled"        // the client cancelled the request
	KindContentModified ErrorKind = "content_modified" // a document changed while it was worked on: uri, version

	KindVersionUnsupported   ErrorKind = "version_unsupported"    // no version in common: supported
	KindFeatureNotNegotiated ErrorKind = "feature_not_negotiated" // the two sides did not agree on it: feature
	KindSessionNotFound      ErrorKind = "session_not_found"      // no session has this id: sessionId
	KindSessionLocked        ErrorKind = "session_locked"         // another process owns the session: ownerPid, socket
	KindTurnBusy             ErrorKind = "turn_busy"              // a turn runs, or the queue is full: activeTurnId, queued
	KindTurnMismatch         ErrorKind = "turn_mismatch"          // another turn runs than the one named: expected, actual
	KindApprovalNotFound     ErrorKind = "approval_not_found"     // no approval has this id
	KindStaleEdit            ErrorKind = "stale_edit"             // a file is not as the edit expects it: uri, expectedHash, actualHash
	KindConflict             ErrorKind = "conflict"               // files, or notes, changed on both sides: uris, or expectedHash and actualHash
	KindPermissionDenied     ErrorKind = "permission_denied"      // a rule forbids it: rule, source
	KindUntrustedWorkspace   ErrorKind = "untrusted_workspace"    // the user has not yet trusted this workspace
	KindAuthRequired         ErrorKind = "auth_required"          // the provider wants a key: provider, methods
	KindRateLimited          ErrorKind = "rate_limited"           // the provider takes no more for now: retryAfterMs, resetAt
	KindProviderError        ErrorKind = "provider_error"         // the provider failed: provider, httpStatus, willRetry
	KindContextExhausted     ErrorKind = "context_exhausted"      // the conversation does not fit the model: used, window
	KindOverloaded           ErrorKind = "overloaded"             // too many requests are open: retryAfterMs
	KindCursorExpired        ErrorKind = "cursor_expired"         // a page or event is no longer kept: oldestSeq, epoch
	KindTooLarge             ErrorKind = "too_large"              // something is over its limit: limit, size
	KindDuplicateRequest     ErrorKind = "duplicate_request"      // this id was used with another body: clientRequestId
	KindClientUnavailable    ErrorKind = "client_unavailable"     // no attached client can do it: capability
	KindShuttingDown         ErrorKind = "shutting_down"          // the server is going away
)

// ErrorCode is the number that goes with a kind on the wire.
type ErrorCode struct {
	Kind ErrorKind
	Code int
}

// ErrorCodes returns every kind with its code. The first eight are JSON-RPC's
// and LSP's; the others lie outside all ranges that those reserve.
func ErrorCodes() []ErrorCode {
	return []ErrorCode{
		{KindParseError, -32700},
		{KindInvalidRequest, -32600},
		{KindMethodNotFound, -32601},
		{KindInvalidParams, -32602},
		{KindInternalError, -32603},
		{KindNotInitialized, -32002},
		{KindCancelled, -32800},
		{KindContentModified, -32801},
		{KindVersionUnsupported, -31001},
		{KindFeatureNotNegotiated, -31002},
		{KindSessionNotFound, -31003},
		{KindSessionLocked, -31004},
		{KindTurnBusy, -31005},
		{KindTurnMismatch, -31006},
		{KindApprovalNotFound, -31008},
		{KindStaleEdit, -31009},
		{KindConflict, -31010},
		{KindPermissionDenied, -31011},
		{KindUntrustedWorkspace, -31012},
		{KindAuthRequired, -31013},
		{KindRateLimited, -31014},
		{KindProviderError, -31015},
		{KindContextExhausted, -31016},
		{KindOverloaded, -31017},
		{KindCursorExpired, -31018},
		{KindTooLarge, -31019},
		{KindDuplicateRequest, -31020},
		{KindClientUnavailable, -31021},
		{KindShuttingDown, -31022},
	}
}

// Code returns the number that goes with the kind; that of internal_error for an
// unknown one.
func (k ErrorKind) Code() int {
	code := -32603
	for _, c := range ErrorCodes() {
		if c.Kind == k {
			code = c.Code
		}
	}
	return code
}

// ErrorData is the data of an error. Clients decide by kind; which of the other
// fields are there is said with each kind.
type ErrorData struct {
	Kind            ErrorKind `json:"kind" jsonschema:"what went wrong"`
	Retryable       bool      `json:"retryable" jsonschema:"the same request may succeed later"`
	RetryAfterMs    int64     `json:"retryAfterMs,omitzero" jsonschema:"milliseconds to wait before that"`
	Supported       []int     `json:"supported,omitzero" jsonschema:"protocol versions the server speaks"`
	Feature         string    `json:"feature,omitzero" jsonschema:"the feature that was not agreed on"`
	SessionID       string    `json:"sessionId,omitzero" jsonschema:"the session that was asked for"`
	OwnerPID        int       `json:"ownerPid,omitzero" jsonschema:"process that owns the session"`
	Socket          string    `json:"socket,omitzero" jsonschema:"where that process can be reached"`
	ActiveTurnID    string    `json:"activeTurnId,omitzero" jsonschema:"the turn that runs, trn_"`
	Queued          *int      `json:"queued,omitzero" jsonschema:"how many prompts wait behind it"`
	Expected        string    `json:"expected,omitzero" jsonschema:"the turn that was named, trn_"`
	Actual          string    `json:"actual,omitzero" jsonschema:"the turn that runs, if any, trn_"`
	URI             string    `json:"uri,omitzero" jsonschema:"the document"`
	Version         *int32    `json:"version,omitzero" jsonschema:"its version now"`
	ExpectedHash    string    `json:"expectedHash,omitzero" jsonschema:"SHA-256 in hex of what was expected"`
	ActualHash      string    `json:"actualHash,omitzero" jsonschema:"SHA-256 in hex of what is there"`
	URIs            []string  `json:"uris,omitzero" jsonschema:"the documents"`
	Rule            string    `json:"rule,omitzero" jsonschema:"the rule that forbids it"`
	Source          string    `json:"source,omitzero" jsonschema:"where that rule is from"`
	Provider        string    `json:"provider,omitzero" jsonschema:"the provider of the model"`
	Methods         []string  `json:"methods,omitzero" jsonschema:"ways to give it a key"`
	ResetAt         Timestamp `json:"resetAt,omitzero" jsonschema:"when the provider's limit ends"`
	HTTPStatus      int       `json:"httpStatus,omitzero" jsonschema:"what the provider answered"`
	WillRetry       bool      `json:"willRetry,omitzero" jsonschema:"the server itself tries again"`
	Used            int       `json:"used,omitzero" jsonschema:"tokens the conversation needs"`
	Window          int       `json:"window,omitzero" jsonschema:"tokens the model takes"`
	OldestSeq       int64     `json:"oldestSeq,omitzero" jsonschema:"number of the oldest event still kept"`
	Epoch           string    `json:"epoch,omitzero" jsonschema:"epoch of the event log"`
	Limit           int64     `json:"limit,omitzero" jsonschema:"the most that is taken"`
	Size            int64     `json:"size,omitzero" jsonschema:"what was given"`
	ClientRequestID string    `json:"clientRequestId,omitzero" jsonschema:"the id that was used before"`
	Capability      string    `json:"capability,omitzero" jsonschema:"what no client can do"`
}
