package permission

import "testing"

func TestWild(t *testing.T) {
	for _, row := range []struct {
		pattern, s string
		want       bool
	}{
		{"", "", true},
		{"", "a", false},
		{"*", "", true},
		{"*", "a\nb", true},
		{"a*c", "abc", true},
		{"a*c", "ac", true},
		{"a*c", "abd", false},
		{"*.env", ".env", true},
		{"*.env", "a/.env", true},
		{"*.env", ".env.x", false},
		{"*.env.*", ".env.x", true},
		{"a?c", "abc", true},
		{"a?c", "aéc", true},
		{"a?c", "ac", false},
		{"a?", "ab\n", false},
		{"?", "", false},
		{"*a*b*", "xxaxxbxx", true},
		{"*a*b*", "xxbxxaxx", false},
		{"A", "a", false},
		{"a.c", "abc", false},
		{"**", "x", true},
		{"[ab]", "a", false},
		{"git status *", "git status", false},
		{"*aab", "aaaab", true},
	} {
		if got := wild(row.pattern, row.s); got != row.want {
			t.Errorf("wild(%q, %q) = %v", row.pattern, row.s, got)
		}
	}
}

func TestBuiltinRules(t *testing.T) {
	p := New(Options{})
	for _, row := range []struct {
		call Call
		want Decision
	}{
		{Call{Tool: "read_file", Paths: []string{"a.go"}}, Allow},
		{Call{Tool: "read_file", Paths: []string{".env"}}, Deny},
		{Call{Tool: "read_file", Paths: []string{"sub/.env"}}, Deny},
		{Call{Tool: "read_file", Paths: []string{"prod.env"}}, Deny},
		{Call{Tool: "read_file", Paths: []string{".env.local"}}, Deny},
		{Call{Tool: "read_file", Paths: []string{".env.example"}}, Allow},
		{Call{Tool: "read_file", Paths: []string{"key.pem"}}, Deny},
		{Call{Tool: "read_file", Paths: []string{"environment"}}, Allow},
		{Call{Tool: "read_many_files", Paths: []string{"a", ".env.example"}}, Allow},
		{Call{Tool: "read_many_files", Paths: []string{".env", ".env.example"}}, Deny},
		{Call{Tool: "read_many_files", Paths: []string{"my notes", "other .env"}}, Deny},
		{Call{Tool: "write_file", Mutates: true, Paths: []string{"a.go"}}, Ask},
		{Call{Tool: "edit_file", Mutates: true, Paths: []string{"a.go"}}, Ask},
		{Call{Tool: "multi_edit", Mutates: true, Paths: []string{"a.go"}}, Ask},
		{Call{Tool: "glob", Subjects: []string{"**/*.go"}}, Allow},
		{Call{Tool: "grep", Subjects: []string{"x"}}, Allow},
		{Call{Tool: "list_dir", Paths: []string{"."}}, Allow},
		{Call{Tool: "git_log"}, Allow},
		{Call{Tool: "git_commit", Mutates: true}, Ask},
		{Call{Tool: "todo_write", Mutates: true}, Allow},
		{Call{Tool: "remember", Mutates: true}, Allow},
		{Call{Tool: "recall"}, Allow},
		{Call{Tool: "forget", Mutates: true}, Allow},
		{Call{Tool: "skill", Subjects: []string{"review"}}, Allow},
		{Call{Tool: "ask"}, Allow},
		{Call{Tool: "task", Subjects: []string{"look"}}, Allow},
		{Call{Tool: "current_time"}, Allow},
		{Call{Tool: "web_fetch", Subjects: []string{"https://x.example"}}, Ask},
		{Call{Tool: "mcp__x__y"}, Ask},
		{Call{Tool: "unheard_of"}, Ask},
		{Call{Tool: "bash", Command: "ls"}, Ask},
		{Call{Tool: "bash"}, Ask},
	} {
		if v := p.Decide(row.call); v.Decision != row.want || v.Source != SourceDefault || v.Reason == "" {
			t.Errorf("%+v: %+v, want %v", row.call, v, row.want)
		}
	}
}

func TestDenyHoldsForOtherSpellings(t *testing.T) {
	p := New(Options{Rules: []Rule{
		{"write_file", "*", Allow}, {"write_file", ".env", Deny}, {"write_file", "secrets/*", Deny}, {"write_file", "Makefile", Deny},
	}})
	for _, row := range []struct {
		path string
		want Decision
	}{
		{".env", Deny},
		{".Env", Deny},
		{"./.env", Deny},
		{"a/../.env", Deny},
		{".//.env", Deny},
		{root + "/.env", Deny},
		{root + "/a/../.ENV", Deny},
		{".env.", Deny},
		{".env ", Deny},
		{".e\u200dnv", Deny},
		{"secrets/key", Deny},
		{"SECRETS/key", Deny},
		{"./secrets/key", Deny},
		{"src/../secrets/key", Deny},
		{`secrets\key`, Deny},
		{"secrets/a/b", Deny},
		{"makefile", Deny},
		{"\u017fecrets/key", Deny},
		{".env.example", Allow},
		{"sub/.env", Allow},
		{"secret", Allow},
		{"/elsewhere/.env", Allow},
	} {
		if v := p.Decide(Call{Tool: "write_file", Paths: []string{row.path}, Root: root}); v.Decision != row.want {
			t.Errorf("%q: %+v, want %v", row.path, v, row.want)
		}
	}
}

func TestAllowGoesByTheCleanPath(t *testing.T) {
	p := New(Options{Rules: []Rule{{"write_file", "src/*", Allow}}})
	for path, want := range map[string]Decision{
		"src/a.go": Allow, "./src/a.go": Allow, root + "/src/a.go": Allow, "a/../src/b": Allow,
		"src/../go.mod": Ask, "src/../../x": Ask, "SRC/a.go": Ask, "/src/a.go": Ask,
	} {
		if v := p.Decide(Call{Tool: "write_file", Paths: []string{path}, Root: root}); v.Decision != want {
			t.Errorf("%q: %+v, want %v", path, v, want)
		}
	}
}

func TestTablesOfTheUser(t *testing.T) {
	for _, row := range []struct {
		name  string
		rules []Rule
		call  Call
		want  Decision
	}{
		{
			"the last match wins",
			[]Rule{{"web_fetch", "*", Deny}, {"web_fetch", "https://go.dev/*", Allow}},
			Call{Tool: "web_fetch", Subjects: []string{"https://go.dev/x"}},
			Allow,
		},
		{
			"the last match wins, deny too",
			[]Rule{{"web_fetch", "https://go.dev/*", Deny}, {"web_fetch", "*", Allow}},
			Call{Tool: "web_fetch", Subjects: []string{"https://go.dev/x"}},
			Allow,
		},
		{"no match asks", []Rule{{"read_file", "src/*", Allow}}, Call{Tool: "read_file", Paths: []string{"go.mod"}}, Ask},
		{"an entry replaces the builtin one", []Rule{{"read_file", "*", Allow}}, Call{Tool: "read_file", Paths: []string{".env"}}, Allow},
		{"but not that of other tools", []Rule{{"read_file", "*", Allow}}, Call{Tool: "read_many_files", Paths: []string{".env"}}, Deny},
		{"a glob names tools without an entry", []Rule{{"mcp__db__*", "*", Allow}}, Call{Tool: "mcp__db__query"}, Allow},
		{"and no others", []Rule{{"mcp__db__*", "*", Allow}}, Call{Tool: "mcp__fs__read"}, Ask},
		{"an exact entry goes before a glob", []Rule{{"mcp__db__drop", "*", Deny}, {"mcp__*", "*", Allow}}, Call{Tool: "mcp__db__drop"}, Deny},
		{"a glob tightens builtin rules", []Rule{{"*", "*", Deny}}, Call{Tool: "read_file", Paths: []string{"a"}}, Deny},
		{"to asking too", []Rule{{"*", "*", Ask}}, Call{Tool: "recall"}, Ask},
		{"a glob never widens them", []Rule{{"*", "*", Allow}}, Call{Tool: "read_file", Paths: []string{".env"}}, Deny},
		{"nor allows a shell", []Rule{{"*", "*", Allow}}, Call{Tool: "bash", Command: "ls"}, Ask},
		{"a narrow glob leaves the rest", []Rule{{"*", "*.key", Deny}}, Call{Tool: "read_file", Paths: []string{"a.go"}}, Allow},
		{"every path must be allowed", []Rule{{"write_file", "src/*", Allow}}, Call{Tool: "write_file", Paths: []string{"src/a", "go.mod"}}, Ask},
		{"every subject too", []Rule{{"grep", "x", Allow}}, Call{Tool: "grep", Subjects: []string{"x", "y"}}, Ask},
	} {
		if v := New(Options{Rules: row.rules}).Decide(row.call); v.Decision != row.want {
			t.Errorf("%s: %+v, want %v", row.name, v, row.want)
		}
	}
}

func TestGrantsAndYolo(t *testing.T) {
	allow := []Rule{{"write_file", "*", Allow}, {"read_file", "*", Allow}, {"bash", "*", Allow}}
	for _, row := range []struct {
		name    string
		options Options
		grants  []Rule
		call    Call
		want    Decision
		source  string
	}{
		{"a grant allows", Options{}, allow, Call{Tool: "write_file", Paths: []string{"a"}}, Allow, SourceGrant},
		{"not another tool", Options{}, allow, Call{Tool: "edit_file", Paths: []string{"a"}}, Ask, SourceDefault},
		{"a grant lifts no deny", Options{}, allow, Call{Tool: "read_file", Paths: []string{".env"}}, Deny, SourceDefault},
		{"nor in a shell", Options{}, allow, Call{Tool: "bash", Command: "cat .env"}, Deny, SourceDefault},
		{"nor the guard", Options{}, allow, Call{Tool: "bash", Command: "rm -rf x"}, Deny, SourceGuard},
		{"a grant does not read the unreadable", Options{}, allow, Call{Tool: "bash", Command: "eval x"}, Ask, SourceDefault},
		{"a grant may forbid", Options{}, []Rule{{"grep", "*", Deny}}, Call{Tool: "grep"}, Deny, SourceGrant},
		{"in a shell too", Options{}, []Rule{{"bash", "*", Allow}, {"bash", "git push *", Deny}}, Call{Tool: "bash", Command: "ls; /usr/bin/git push x"}, Deny, SourceGrant},
		{"yolo allows", Options{Yolo: true}, nil, Call{Tool: "write_file", Paths: []string{"a"}}, Allow, SourceYolo},
		{"yolo allows a shell", Options{Yolo: true}, nil, Call{Tool: "bash", Command: "eval x > y"}, Allow, SourceYolo},
		{"yolo keeps what a rule allows", Options{Yolo: true}, nil, Call{Tool: "grep"}, Allow, SourceDefault},
		{"yolo lifts no deny", Options{Yolo: true}, nil, Call{Tool: "read_file", Paths: []string{".env"}}, Deny, SourceDefault},
		{"nor in a shell", Options{Yolo: true}, nil, Call{Tool: "bash", Command: "cat x .env"}, Deny, SourceDefault},
		{"nor in one that cannot be read", Options{Yolo: true}, nil, Call{Tool: "bash", Command: "cat x .env; if"}, Deny, SourceDefault},
		{"nor the guard", Options{Yolo: true}, allow, Call{Tool: "bash", Command: "git reset --hard"}, Deny, SourceGuard},
		{"no guard", Options{NoGuard: true}, nil, Call{Tool: "bash", Command: "rm -rf x"}, Ask, SourceDefault},
	} {
		if v := New(row.options).Decide(row.call, row.grants); v.Decision != row.want || v.Source != row.source {
			t.Errorf("%s: %+v, want %v by %s", row.name, v, row.want, row.source)
		}
	}
}

func TestSeveralGrants(t *testing.T) {
	p := New(Options{})
	call := Call{Tool: "bash", Command: "git status && go vet ./..."}
	session, project := []Rule{{"bash", "git status *", Allow}}, []Rule{{"bash", "go vet *", Allow}}
	if v := p.Decide(call, session); v.Decision != Ask {
		t.Errorf("one of two granted: %+v", v)
	}
	v := p.Decide(call, session, project)
	if v.Decision != Allow || v.Rule != `bash "git status *", bash "go vet *"` {
		t.Errorf("both granted: %+v", v)
	}
}

func TestDecisionWords(t *testing.T) {
	for word, want := range map[string]Decision{"ask": Ask, "allow": Allow, "deny": Deny} {
		if d, ok := ParseDecision(word); d != want || !ok || d.String() != word {
			t.Errorf("%q: %v %v", word, d, ok)
		}
	}
	for _, word := range []string{"", "Allow", "yes", "allow "} {
		if d, ok := ParseDecision(word); d != Ask || ok {
			t.Errorf("%q: %v %v", word, d, ok)
		}
	}
}

func TestReasonNamesRuleAndSubject(t *testing.T) {
	v := New(Options{Rules: []Rule{{"write_file", "*.lock", Deny}}}).Decide(Call{Tool: "write_file", Paths: []string{"a\u202e.lock"}})
	if want := `Denied by the rule write_file "*.lock": a\u{202E}.lock`; v.Reason != want || v.Rule != `write_file "*.lock"` || v.Source != SourceRule {
		t.Errorf("%+v, want reason %s", v, want)
	}
}
