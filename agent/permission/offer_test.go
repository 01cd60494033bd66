package permission

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOffer(t *testing.T) {
	p := New(Options{Rules: []Rule{{ShellTool, "ls *", Allow}, {ShellTool, "git push *", Deny}}})
	for _, row := range []struct {
		command string
		want    []string
	}{
		{"touch x", []string{"touch *"}},
		{"git status", []string{"git status *"}},
		{"git -C sub --no-pager log -5", []string{"git log *"}},
		{"git", []string{"git"}},
		{"go test ./...", []string{"go test *"}},
		{"go run ./cmd/x -v", []string{"go run ./cmd/x *"}},
		{"npm install", []string{"npm install *"}},
		{"npm run build -- --watch", []string{"npm run build *"}},
		{"npm run", []string{"npm run"}},
		{"npm --version", []string{"npm --version"}},
		{"docker compose up -d", []string{"docker compose up *"}},
		{"cargo build", []string{"cargo build *"}},
		{"kubectl get pods", []string{"kubectl get *"}},
		{"make", []string{"make"}},
		{"make test", []string{"make test *"}},
		{"./script.sh a", []string{"./script.sh *"}},
		{"ls && touch x", []string{"touch *"}},
		{"touch x && touch y && mkdir z", []string{"touch *", "mkdir *"}},
		{"mkdir x > /dev/null 2>&1", []string{"mkdir *"}},
		{"git status > x", []string{"git status *", "> x"}},
		{"CI=1 timeout 5 touch x", []string{"touch *"}},
		{"bash -c 'touch x'", []string{"touch *"}},
		{"mkdir x-$(date +%s).d", []string{"mkdir *", "date *"}},

		{"ls", nil},
		{"", nil},
		{"rm -rf x", nil},
		{"touch .env", nil},
		{"git push x", nil},
		{"touch x && git push x", nil},
		{"eval touch x", nil},
		{"$X y", nil},
		{"if touch", nil},
		{"bash script.sh", nil},
		{"bash", nil},
		{"sh x", nil},
		{"python3 x.py", nil},
		{"python3.12 x.py", nil},
		{"node x.js", nil},
		{"env", nil},
		{"sudo touch x", nil},
		{"ls | xargs touch", nil},
		{"find . -name x", nil},
		{"find . -exec touch {} +", nil},
		{"awk '{print}' x", nil},
		{"docker run x", nil},
		{"ssh host ls", nil},
		{"git -c a=b status", nil},
		{"PATH=. touch x", nil},
		{"X=1 touch x", nil},
		{"mkdir $(date +%s)", nil},
		{"cd /tmp && git status", nil},
		{"touch x > $Y", nil},
		{"touch *.env", nil},
		{"go 'te*'", nil},
		{"touch x && python3 y", nil},
	} {
		var want []Rule
		for _, pattern := range row.want {
			want = append(want, Rule{ShellTool, pattern, Allow})
		}
		call := Call{Tool: ShellTool, Command: row.command, Root: root}
		got := p.Offer(call)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", row.command, diff)
		}
		if v := p.Decide(call, got); got != nil && v.Decision != Allow {
			t.Errorf("%q: asked again: %+v", row.command, v)
		}
	}
}

func TestOfferedGrantIsNoWiderThanShown(t *testing.T) {
	p := New(Options{})
	granted := p.Offer(Call{Tool: ShellTool, Command: "git status"})
	for command, want := range map[string]string{
		"git status": "allow", "git status -s": "allow", "git status && touch pwned": "ask", "git status > x": "ask",
		"git stash": "ask", "git": "ask", "git -c x=y status": "ask", "git status $(touch x)": "ask", "eval git status": "unread",
	} {
		if got := decided(p.Decide(Call{Tool: ShellTool, Command: command}, granted)); got != want {
			t.Errorf("%q: %s, want %s", command, got, want)
		}
	}
}

func TestOfferForOtherTools(t *testing.T) {
	p := New(Options{Yolo: true})
	got := p.Offer(Call{Tool: "write_file", Paths: []string{"a"}})
	if diff := cmp.Diff([]Rule{{"write_file", "*", Allow}}, got); diff != "" {
		t.Error(diff)
	}
	if got := p.Offer(Call{Tool: "read_file", Paths: []string{".env"}}); got != nil {
		t.Errorf("denied, yet offered %v", got)
	}
	if got := p.Offer(Call{Tool: ShellTool, Command: "eval x"}); got != nil {
		t.Errorf("unreadable, yet offered %v", got)
	}
}
