package protocol

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestNamesAreTheSpecified repeats the names that scripts and plugins rely on.
// The schema follows the source by itself; this list does not, so that a rename
// is never an accident.
func TestNamesAreTheSpecified(t *testing.T) {
	want := map[string]string{
		"methods": `shiro/approval/list shiro/approval/respond shiro/context/get shiro/event shiro/history/append
			shiro/history/list shiro/item/get shiro/memory/compact shiro/memory/delete shiro/memory/list shiro/memory/write
			shiro/schema shiro/session/archive
			shiro/session/attach shiro/session/close shiro/session/create shiro/session/delete shiro/session/detach
			shiro/session/export shiro/session/fork shiro/session/history shiro/session/list shiro/session/rename
			shiro/todo/get shiro/turn/interrupt shiro/turn/start`,
		"ApprovalKind":  "edit command network mcp outside_root other",
		"AttachMode":    "replay snapshot",
		"AttachReason":  "fresh epoch cursor_expired too_far",
		"Channel":       "text reasoning args stdout stderr output",
		"CompactStatus": "compacted unchanged unconfirmed",
		"ContentType":   "text resource_link resource",
		"ContextLevel":  "ok amber red",
		"Disposition":   "started queued",
		"ErrorKind": `parse_error invalid_request method_not_found invalid_params internal_error
			not_initialized cancelled content_modified
			version_unsupported feature_not_negotiated session_not_found session_locked turn_busy turn_mismatch
			approval_not_found stale_edit conflict permission_denied untrusted_workspace auth_required rate_limited
			provider_error context_exhausted overloaded cursor_expired too_large duplicate_request client_unavailable
			shutting_down`,
		"EventType": `session.updated turn.started turn.completed item.started item.updated item.completed item.delta
			todo.updated context.updated approval.requested approval.resolved queue.updated memory.changed
			provider.retrying notice`,
		"ExportFormat":  "md jsonl",
		"FileOp":        "create modify delete",
		"HistoryView":   "summary full",
		"HunkDecision":  "accept reject",
		"ItemKind":      "user text reasoning tool notice",
		"ItemStatus":    "pending in_progress completed failed cancelled declined",
		"NoteKind":      "fact decision gotcha command",
		"NoticeLevel":   "info warning error",
		"OptionKind":    "allow_once allow_turn allow_session allow_always reject",
		"Outcome":       "allowed rejected cancelled stale",
		"RespondStatus": "applied already_resolved stale",
		"Risk":          "low medium high",
		"SessionState":  "idle running waiting",
		"StopReason":    "end_turn max_tokens max_turn_requests refusal cancelled server_restarted error",
		"TodoStatus":    "pending in_progress done blocked",
		"ToolKind":      "read edit delete move search execute think fetch other",
		"TurnStatus":    "completed interrupted failed refused",
		"TurnTrigger":   "user queue resume",
		"WhenBusy":      "queue error",
	}
	d := committed(t)
	got := map[string]string{"methods": strings.Join(slices.Sorted(maps.Keys(d.Methods)), " ")}
	for name, def := range d.Defs {
		if def.Enum != nil {
			got[name] = strings.Join(stringsOf(def.Enum), " ")
		}
	}
	for name := range want {
		want[name] = strings.Join(strings.Fields(want[name]), " ")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-specified +schema:\n%s", diff)
	}
}

// TestErrorCodes repeats the numbers for the same reason.
func TestErrorCodes(t *testing.T) {
	want := map[ErrorKind]int{
		"parse_error": -32700, "invalid_request": -32600, "method_not_found": -32601, "invalid_params": -32602,
		"internal_error": -32603, "not_initialized": -32002, "cancelled": -32800, "content_modified": -32801,
		"version_unsupported": -31001, "feature_not_negotiated": -31002, "session_not_found": -31003,
		"session_locked": -31004, "turn_busy": -31005, "turn_mismatch": -31006, "approval_not_found": -31008,
		"stale_edit": -31009, "conflict": -31010, "permission_denied": -31011, "untrusted_workspace": -31012,
		"auth_required": -31013, "rate_limited": -31014, "provider_error": -31015, "context_exhausted": -31016,
		"overloaded": -31017, "cursor_expired": -31018, "too_large": -31019, "duplicate_request": -31020,
		"client_unavailable": -31021, "shutting_down": -31022,
	}
	got := make(map[ErrorKind]int)
	for _, e := range ErrorCodes() {
		if _, ok := got[e.Kind]; ok {
			t.Errorf("%s is in the table twice", e.Kind)
		}
		got[e.Kind] = e.Kind.Code()
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-specified +got:\n%s", diff)
	}
	if code := ErrorKind("from_the_future").Code(); code != want[KindInternalError] {
		t.Errorf("an unknown kind has the code %d, want %d", code, want[KindInternalError])
	}
	if diff := cmp.Diff(want, committed(t).Errors); diff != "" {
		t.Errorf("-specified +schema:\n%s", diff)
	}
}
