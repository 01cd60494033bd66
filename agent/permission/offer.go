package permission

import "strings"

// Offer lists the rules that "always" would grant for a call, so that exactly
// they can be shown before they are granted. With them the same call is
// allowed. It is nil when nothing may be granted for good: the call is denied,
// hides what it runs, or starts a program that runs anything it is given.
func (p *Policy) Offer(c Call) []Rule {
	if p.Decide(c).Decision == Deny {
		return nil
	}
	if c.Tool != ShellTool {
		return []Rule{{c.Tool, "*", Allow}}
	}
	script, err := Read(c.Command)
	if err != nil || len(script.Opaque) > 0 || guard(&script) != "" {
		return nil
	}
	s := shellCall{Policy: p, root: c.Root, script: script}
	var offer []Rule
	add := func(pattern string) {
		r := Rule{ShellTool, pattern, Allow}
		for _, o := range offer {
			if o == r {
				return
			}
		}
		offer = append(offer, r)
	}
	for i := range script.Commands {
		cmd := &script.Commands[i]
		if cmd.Starter {
			continue
		}
		if !s.stays(cmd) {
			return nil
		}
		if _, ok := s.commandPermission(cmd); ok {
			continue
		}
		pattern := offered(cmd)
		if pattern == "" {
			return nil
		}
		add(pattern)
	}
	for _, r := range script.Redirects {
		if r.Write && !harmless(r.Target) {
			if hasWildcard(r.Target.Text) {
				return nil
			}
			add(s.redirectText(r))
		}
	}
	if p.decideShell(c, [][]Rule{offer}).Decision != Allow {
		return nil
	}
	return offer
}

// offered is the pattern for one command: its first word, or two or three
// where the first alone says little, and anything after.
func offered(c *Command) string {
	if c.Hazard != "" || runsAnything(c) {
		return ""
	}
	words, source := c.Words, c.Text
	if c.plain != "" {
		source = c.plain
	}
	n := depth(c.normal)
	if n > 1 {
		words = words[len(words)-len(c.normal)+1:]
		words = append([]Word{c.Words[0]}, words...)
	}
	if n > len(words) {
		return exact(source)
	}
	parts := make([]string, n)
	for i, w := range words[:n] {
		if !w.Known || hasWildcard(w.Source) || i > 0 && w.option() != "" {
			return exact(source)
		}
		parts[i] = w.Source
	}
	return strings.Join(parts, " ") + " *"
}

// exact is the pattern for one command and no other.
func exact(source string) string {
	if hasWildcard(source) {
		return ""
	}
	return source
}

// depth is how many words tell what a command does.
func depth(argv []string) int {
	switch argv[0] {
	case "npm", "pnpm", "yarn", "bun", "deno", "uv", "poetry", "docker", "podman", "go", "cargo", "gh", "kubectl":
		if len(argv) > 1 {
			switch argv[1] {
			case "run", "exec", "compose", "tool", "task", "x", "dlx", "pr", "issue", "api":
				return 3
			}
		}
		return 2
	case "git", "helm", "terraform", "make", "just", "task", "pip", "pip3", "brew", "apt", "apt-get", "dotnet", "mvn", "gradle",
		"bazel", "mix", "bundle", "composer", "rails", "npx", "bunx", "uvx", "systemctl", "aws", "gcloud", "az", "rustup", "swift", "zig":
		return 2
	}
	return 1
}

// runsAnything reports whether a grant for the command's first word would be
// one for every program or script.
func runsAnything(c *Command) bool {
	name := c.Name()
	if _, ok := starterOf(name, nil); ok || runsText(name) {
		return true
	}
	switch name {
	case "python", "python2", "python3", "node", "ruby", "perl", "php", "lua", "awk", "gawk", "mawk", "sed", "osascript", "tclsh", "expect",
		"pwsh", "powershell", "cmd", "find", "fd", "ssh", "su", "watch", "parallel", "script", "strace", "chroot", "flock", "trap":
		return true
	case "docker", "podman", "kubectl":
		return len(c.normal) > 1 && (c.normal[1] == "run" || c.normal[1] == "exec")
	}
	return strings.HasPrefix(name, "python3.")
}
