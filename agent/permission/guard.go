package permission

import (
	"path"
	"strings"
)

// GuardNotice tells the model about the guard; it belongs into the system
// prompt while the guard is on.
const GuardNotice = "Irreversible shell commands (recursive deletes, discarded work, rewritten history, dropped data, raw devices) are refused by the guard. " +
	"Do not look for a way around it: say which command is needed and let the user run it."

const (
	deleteReason    = "recursive or forced delete"
	forkBombReason  = "fork bomb"
	pipedReason     = "pipes a download into a shell"
	rawDeviceReason = "writes to a raw device"
	dropsDataReason = "destroys database data"
)

// guardVerdict refuses a command: the reason, the beginning of the command,
// and what to do instead.
func guardVerdict(command, why string) Verdict {
	return Verdict{
		Decision: Deny, Rule: "guard", Source: SourceGuard,
		Reason: "Blocked by the guard plugin: " + why + ` in "` + Escape(cut(strings.TrimSpace(command), 120)) + `". ` +
			"This cannot be undone; if it is wanted, let the user run it.",
	}
}

// guard returns why a script is irreversible, "" if it is not known to be.
func guard(s *Script) string {
	switch {
	case s.forkBomb:
		return forkBombReason
	case s.piped:
		return pipedReason
	}
	for i := range s.Commands {
		c := &s.Commands[i]
		if c.deletes {
			return deleteReason
		}
		for _, words := range append(c.forms, c.normal) {
			if why := refusal(words[0], words[1:]); why != "" {
				return why
			}
		}
		if dropsData(strings.Join(c.normal, " ")) {
			return dropsDataReason
		}
	}
	for _, r := range s.Redirects {
		if r.Write && (rawDevice(r.Target.Text) || rawDevice(r.Target.void)) {
			return rawDeviceReason
		}
	}
	for _, text := range s.texts {
		if dropsData(text) {
			return dropsDataReason
		}
	}
	for _, text := range s.hidden {
		if why := roughRefusal(text); why != "" {
			return why
		}
	}
	return ""
}

// guarded reports whether refusal has anything to say about a program.
func guarded(name string) bool {
	switch name {
	case "rm", "git", "chmod", "dd", "tee", "cp", "mv", "shutdown", "reboot", "halt", "poweroff", "systemctl", "mkfs":
		return true
	}
	return strings.HasPrefix(name, "mkfs.")
}

// refusal judges one command by its base name and the words after it.
func refusal(name string, args []string) string {
	switch {
	case !guarded(name):
	case name == "rm":
		if anyOption(args, "rRf", "--recursive", "--force") {
			return deleteReason
		}
	case name == "git":
		return gitRefusal(args)
	case name == "chmod":
		return chmodRefusal(args)
	case name == "dd":
		for _, a := range args {
			of, ok := strings.CutPrefix(a, "of=")
			of = path.Clean(of)
			if ok && strings.HasPrefix(of, "/dev/") && of != "/dev/null" && of != "/dev/stdout" && of != "/dev/stderr" {
				return rawDeviceReason
			}
		}
	case name == "tee", name == "cp", name == "mv":
		for _, a := range args {
			if rawDevice(a) && (name == "tee" || a == args[len(args)-1]) {
				return rawDeviceReason
			}
		}
	case name == "systemctl":
		for _, a := range args {
			if a == "reboot" || a == "halt" || a == "poweroff" || a == "kexec" {
				return "affects the whole machine"
			}
		}
	case strings.HasPrefix(name, "mkfs"):
		return rawDeviceReason
	default:
		return "affects the whole machine"
	}
	return ""
}

func gitRefusal(args []string) string {
	if len(args) == 0 {
		return ""
	}
	sub, args := args[0], args[1:]
	switch sub {
	case "reset":
		if anyOption(args, "", "--hard") {
			return "discards uncommitted work"
		}
	case "clean":
		if anyOption(args, "f", "--force") {
			return "deletes untracked files"
		}
	case "push":
		if anyOption(args, "f", "--force", "--force-with-lease") {
			return "rewrites remote history"
		}
		for _, a := range args {
			if strings.HasPrefix(a, "+") {
				return "rewrites remote history"
			}
		}
	case "branch":
		if anyOption(args, "D") || anyOption(args, "d", "--delete") && anyOption(args, "f", "--force") {
			return "deletes a branch without a merge check"
		}
	}
	return ""
}

func chmodRefusal(args []string) string {
	for _, a := range args {
		if strings.HasPrefix(a, "-") {
			continue
		}
		switch mode := strings.TrimLeft(a, "0"); mode {
		case "777", "a+rwx", "a=rwx", "ugo+rwx", "ugo=rwx", "+rwx", "=rwx":
			return "makes files world-writable"
		}
		return ""
	}
	return ""
}

// anyOption reports whether one of the short options given as letters, or one
// of the long ones, is set; long ones may be shortened, as programs allow.
func anyOption(args []string, letters string, long ...string) bool {
	for _, a := range args {
		if a == "--" {
			return false
		}
		if strings.HasPrefix(a, "--") {
			name, _, _ := strings.Cut(a, "=")
			for _, l := range long {
				if len(name) > 2 && strings.HasPrefix(l, name) {
					return true
				}
			}
		} else if strings.HasPrefix(a, "-") && letters != "" && strings.ContainsAny(a, letters) {
			return true
		}
	}
	return false
}

// rawDevice reports whether a path is a disk rather than a file on one.
func rawDevice(name string) bool {
	dev, ok := strings.CutPrefix(path.Clean(name), "/dev/")
	if !ok {
		return false
	}
	for _, p := range [...]string{"sd", "hd", "vd", "xvd", "nvme", "disk", "rdisk", "mmcblk", "mapper/"} {
		if strings.HasPrefix(dev, p) {
			return true
		}
	}
	return false
}

// dropsData looks for SQL that drops or truncates, in any letter case.
func dropsData(s string) bool {
	for i := 0; i+8 < len(s); i++ {
		if c := s[i] | 0x20; c != 'd' && c != 't' || i > 0 && isWordByte(s[i-1]) {
			continue
		}
		rest, ok := cutWord(s[i:], "drop", "truncate")
		if !ok {
			continue
		}
		object := strings.TrimLeft(rest, " \t\n\r")
		if object == rest {
			continue
		}
		if after, ok := cutWord(object, "table", "database", "schema"); ok && (after == "" || !isWordByte(after[0])) {
			return true
		}
	}
	return false
}

func cutWord(s string, words ...string) (string, bool) {
	for _, w := range words {
		if len(s) >= len(w) && strings.EqualFold(s[:len(w)], w) {
			return s[len(w):], true
		}
	}
	return s, false
}

func isWordByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}
