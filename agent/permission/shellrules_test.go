package permission

import (
	"strings"
	"testing"
)

// TestShellRules has rows that need rules of their own.
func TestShellRules(t *testing.T) {
	bash := func(pattern string, d Decision) Rule { return Rule{ShellTool, pattern, d} }
	all := bash("*", Allow)
	for _, row := range []struct {
		name    string
		rules   []Rule
		command string
		want    string
	}{
		{"deny, as written", []Rule{all, bash("git push *", Deny)}, "git push x", "deny"},
		{"deny without arguments", []Rule{all, bash("git push *", Deny)}, "git push", "deny"},
		{"deny in a chain", []Rule{all, bash("git push *", Deny)}, "ls && git push x", "deny"},
		{"deny in a substitution", []Rule{all, bash("git push *", Deny)}, "ls $(git push x)", "deny"},
		{"deny behind a starter", []Rule{all, bash("git push *", Deny)}, "env X=1 timeout 5 git push x", "deny"},
		{"deny behind sudo", []Rule{all, bash("git push *", Deny)}, "sudo -u me git push x", "deny"},
		{"deny in a script", []Rule{all, bash("git push *", Deny)}, "bash -c 'git push x'", "deny"},
		{"deny by path", []Rule{all, bash("git push *", Deny)}, "/usr/bin/git push x", "deny"},
		{"deny with quotes", []Rule{all, bash("git push *", Deny)}, "g\"i\"t 'push' x", "deny"},
		{"deny with options before", []Rule{all, bash("git push *", Deny)}, "git -C x --no-pager push y", "deny"},
		{"deny with an option that takes a value", []Rule{all, bash("docker push *", Deny)}, "docker --context x push y", "deny"},
		{"deny in an eval", []Rule{all, bash("git push *", Deny)}, "eval git push x", "deny"},
		{"deny in what cannot be parsed", []Rule{all, bash("git push *", Deny)}, "git push x; if", "deny"},
		{"deny of the whole text", []Rule{all, bash("curl * | sh", Deny)}, "curl x | sh", "guard"},
		{"deny of a text anywhere", []Rule{all, bash("*prod*", Deny)}, "ls | grep prod", "deny"},
		{"deny of a starter", []Rule{all, bash("timeout *", Deny)}, "timeout 5 ls", "deny"},
		{"deny of a redirect", []Rule{all, bash("> dist/*", Deny)}, "ls > dist/x", "deny"},
		{"deny does not read text", []Rule{all, bash("git push *", Deny)}, "echo 'git push x'", "allow"},
		{"options in any order: as written", []Rule{all, bash("cp -rf *", Deny)}, "cp -rf a b", "deny"},
		{"options in any order: swapped", []Rule{all, bash("cp -rf *", Deny)}, "cp -fr a b", "deny"},
		{"options in any order: apart", []Rule{all, bash("cp -rf *", Deny)}, "cp -r -f a b", "deny"},
		{"options in any order: long", []Rule{all, bash("cp -rf *", Deny)}, "cp --recursive --force a b", "deny"},
		{"options in any order: behind", []Rule{all, bash("cp -rf *", Deny)}, "cp a b -f -r", "deny"},
		{"options in any order: fewer", []Rule{all, bash("cp -rf *", Deny)}, "cp -r a b", "allow"},

		{"a list of what is allowed", []Rule{bash("*", Deny), bash("ls *", Allow), bash("cat *", Allow)}, "ls -l | cat -n", "allow"},
		{"and nothing else", []Rule{bash("*", Deny), bash("ls *", Allow)}, "ls; touch x", "deny"},
		{"through a starter", []Rule{bash("*", Deny), bash("ls *", Allow)}, "CI=1 env nice ls", "allow"},
		{"no redirects", []Rule{bash("*", Deny), bash("ls *", Allow)}, "ls > x", "deny"},
		{"the later rule wins: deny", []Rule{bash("git *", Allow), bash("git push *", Deny)}, "git push", "deny"},
		{"the later rule wins: ask", []Rule{bash("git *", Allow), bash("git push *", Ask)}, "git push x", "ask"},
		{"the later rule wins: allow", []Rule{bash("git push *", Deny), bash("git push origin *", Allow)}, "git push origin x", "allow"},
		{"ask holds for other spellings", []Rule{all, bash("git push *", Ask)}, `\git -C x "push" y`, "ask"},
		{"ask beats the wider allow, hazard or not", []Rule{all, bash("git push *", Ask)}, "git push --receive-pack=x", "ask"},

		{"everything: redirects", []Rule{all}, "ls > x", "allow"},
		{"everything: assignments", []Rule{all}, "PATH=. ls", "allow"},
		{"everything: launchers", []Rule{all}, "git -c a=b status", "allow"},
		{"everything: not what hides", []Rule{all}, "eval ls", "unread"},
		{"everything: not other users", []Rule{all}, "sudo ls", "ask"},
		{"everything: not denied files", []Rule{all}, "cat .env", "deny"},
		{"everything: globs", []Rule{all}, "cat *", "allow"},

		{"word for word", []Rule{bash("git status > x", Allow)}, "git status > x", "allow"},
		{"word for word, with blanks around", []Rule{bash("git status > x", Allow)}, " git status > x\n", "allow"},
		{"word for word and more", []Rule{bash("git status > x", Allow)}, "git status > x; ls", "ask"},
		{"word for word: assignment", []Rule{bash("PATH=. ls", Allow)}, "PATH=. ls", "allow"},
		{"word for word: no star", []Rule{bash("git * > x", Allow)}, "git status > x", "ask"},
		{"word for word: nothing hidden", []Rule{bash("eval ls", Allow)}, "eval ls", "unread"},
		{"word for word: no other user", []Rule{bash("sudo ls", Allow)}, "sudo ls", "ask"},
		{"a command with a launcher, exact", []Rule{bash("git -c a=b status", Allow), bash("ls *", Allow)}, "ls; git -c a=b status", "allow"},

		{"a rule for redirects", []Rule{bash("ls *", Allow), bash("> out/*", Allow)}, "ls > out/x", "allow"},
		{"it goes by the clean path", []Rule{bash("ls *", Allow), bash("> out/*", Allow)}, "ls > out/../x", "ask"},
		{"it knows the target", []Rule{bash("ls *", Allow), bash("> out/*", Allow)}, "ls > out/$X", "ask"},
		{"it knows the directory", []Rule{bash("ls *", Allow), bash("cd *", Allow), bash("> out/*", Allow)}, "cd sub; ls > out/x", "ask"},
		{"stars do not make one", []Rule{bash("ls *", Allow), bash("* out*", Allow)}, "ls > out", "ask"},
		{"xargs with both rules", []Rule{bash("ls *", Allow), bash("xargs *", Allow), bash("cat *", Allow)}, "ls | xargs -n 1 cat", "allow"},
		{"xargs with its own only", []Rule{bash("ls *", Allow), bash("xargs *", Allow)}, "ls | xargs touch", "ask"},
		{"xargs adds arguments", []Rule{bash("ls *", Allow), bash("xargs *", Allow), bash("touch", Allow)}, "ls | xargs touch", "ask"},
		{"find with both rules", []Rule{bash("find *", Allow), bash("cat *", Allow)}, "find . -name x -exec cat {} +", "allow"},
		{"find with its own only", []Rule{bash("find *", Allow)}, "find . -exec touch {} \\;", "ask"},
		{"find that deletes", []Rule{bash("find *", Allow)}, "find . -name x -delete", "ask"},
		{"sed that edits", []Rule{bash("sed *", Allow)}, "sed -i s/a/b/ x", "ask"},
		{"sed that prints", []Rule{bash("sed *", Allow)}, "sed -n 1,20p x", "allow"},
		{"sort into a file", []Rule{bash("sort *", Allow)}, "sort -uo x x", "ask"},
		{"git diff into a file", []Rule{bash("git *", Allow)}, "git diff --output=x", "ask"},
		{"git diff into a file, shortened", []Rule{bash("git *", Allow)}, "git diff --outp x", "ask"},
		{"git config", []Rule{bash("git *", Allow)}, "git config core.pager ./x", "ask"},
		{"git config that reads", []Rule{bash("git *", Allow)}, "git config --get user.name", "allow"},
		{"git rebase with a program", []Rule{bash("git *", Allow)}, "git rebase -x ./x main", "ask"},
		{"git clean that only shows", []Rule{bash("git *", Allow)}, "git clean -nxd", "allow"},
		{"printf -v", []Rule{bash("printf *", Allow), bash("ls *", Allow)}, "printf -v PATH .; ls", "ask"},
		{"read into PATH", []Rule{bash("read *", Allow), bash("ls *", Allow)}, "read PATH < x; ls", "ask"},

		{"write denied: redirect", []Rule{all, {"write_file", "*.lock", Deny}}, "ls > a.lock", "deny"},
		{"write denied: copy onto", []Rule{all, {"edit_file", "*.lock", Deny}}, "cp a b.lock", "deny"},
		{"write denied: copy from", []Rule{all, {"edit_file", "*.lock", Deny}}, "cp b.lock a", "allow"},
		{"write denied: move", []Rule{all, {"edit_file", "*.lock", Deny}}, "mv b.lock a", "deny"},
		{"write denied: remove", []Rule{all, {"edit_file", "*.lock", Deny}}, "rm b.lock", "deny"},
		{"write denied: tee", []Rule{all, {"edit_file", "*.lock", Deny}}, "ls | tee -a b.lock", "deny"},
		{"write denied: sed", []Rule{all, {"edit_file", "*.lock", Deny}}, "sed -i s/a/b/ b.lock", "deny"},
		{"write denied: output option", []Rule{all, {"edit_file", "*.lock", Deny}}, "curl -o b.lock x", "deny"},
		{"write denied: restore", []Rule{all, {"edit_file", "*.lock", Deny}}, "git checkout -- b.lock", "deny"},
		{"write denied: dd", []Rule{all, {"edit_file", "*.lock", Deny}}, "dd if=x of=b.lock", "deny"},
		{"write denied: reading is not writing", []Rule{all, {"edit_file", "*.lock", Deny}}, "cat b.lock; git diff b.lock; sed 1q b.lock", "allow"},
		{"no writing at all", []Rule{all, {"write_file", "*", Deny}}, "ls > x", "deny"},
		{"no writing at all, but reading", []Rule{all, {"write_file", "*", Deny}}, "ls; cat x", "allow"},
		{"no reading at all binds no words", []Rule{all, {"read_file", "*", Deny}}, "git status", "allow"},
		{"a directory, moved into", []Rule{all, {"read_file", "secrets/*", Deny}}, "cd secrets && cat key", "deny"},
		{"a directory, in steps", []Rule{all, {"read_file", "a/b/*", Deny}}, "cd a; cd b; cat key", "deny"},
		{"a directory, by git", []Rule{all, {"read_file", "secrets/*", Deny}}, "git -C secrets show HEAD -- key", "deny"},
		{"a directory, in the pattern's case", []Rule{all, {"read_file", "Secrets/*", Deny}}, "cat ./secrets/key", "deny"},
		{"an absolute pattern", []Rule{all, {"read_file", root + "/secrets/*", Deny}}, "cat secrets/key", "deny"},
		{"rules of several tools", []Rule{all, {"*", "*.key", Deny}}, "cat a.key", "deny"},
	} {
		v := New(Options{Rules: row.rules}).Decide(Call{Tool: ShellTool, Command: row.command, Root: root})
		if got := decided(v); got != row.want {
			t.Errorf("%s: %q: %s, want %s (%+v)", row.name, row.command, got, row.want, v)
		}
	}
}

func TestFiveWaysToWriteADeniedFile(t *testing.T) {
	p := New(Options{Rules: []Rule{{"write_file", "*.env", Deny}, {"edit_file", "*.env", Deny}, {ShellTool, "*", Allow}}, Yolo: true})
	for _, c := range []Call{
		{Tool: "write_file", Paths: []string{".env"}},
		{Tool: "edit_file", Paths: []string{".env"}},
		{Tool: ShellTool, Command: "echo K=1 > .env"},
		{Tool: ShellTool, Command: "cp x .env"},
		{Tool: ShellTool, Command: "tee .env"},
	} {
		v := p.Decide(c)
		if v.Decision != Deny || !strings.Contains(v.Rule, `"*.env"`) || !strings.Contains(v.Reason, v.Rule) {
			t.Errorf("%+v: %+v", c, v)
		}
	}
}
