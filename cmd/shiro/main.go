// Command shiro is a coding agent that lives in the editor: a server that
// speaks JSON-RPC over stdio, and a few commands around it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
)

// A command is one of the program's. Run gets the words after its name and
// returns the exit code.
type command struct {
	name, args, help string
	run              func(ctx context.Context, args []string, std streams) int
}

// streams are the standard ones.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

func commands() []command {
	return []command{
		{"lsp", "[flags]", "serve an editor over stdio: LSP and the shiro/* requests (the default)", runLSP},
		{"demo", "[flags]", "run the whole thing once, in a scratch folder, with a scripted model", runDemo},
		{"doctor", "[folder]", "say what is configured, reachable or missing, and how to fix it", runDoctor},
		{"sessions", "[flags]", "list stored sessions", runSessions},
		{"schema", "", "print the JSON Schema of the shiro/* requests and events", runSchema},
		{"version", "", "print the version", runVersion},
	}
}

func main() {
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // by nohup
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	code := dispatch(ctx, os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr})
	stop()
	os.Exit(code)
}

// dispatch runs the command that args name: 0 done, 1 failed, 2 not understood.
func dispatch(ctx context.Context, args []string, std streams) int {
	switch {
	case len(args) > 1 && args[0] == "help":
		return dispatch(ctx, []string{args[1], "-h"}, std)
	case len(args) > 0 && isHelp(args[0]):
		usage(std.out)
		return 0
	case len(args) > 0 && (args[0] == "-v" || args[0] == "--version"):
		args = []string{"version"}
	case len(args) == 0 || strings.HasPrefix(args[0], "-"):
		args = append([]string{"lsp"}, args...)
	}
	for _, c := range commands() {
		if c.name == args[0] {
			return c.run(ctx, args[1:], std)
		}
	}
	fmt.Fprintf(std.err, "shiro: there is no command %q\n\n", args[0])
	usage(std.err)
	return 2
}

func isHelp(s string) bool {
	return s == "help" || s == "-h" || s == "-help" || s == "--help"
}

func usage(w io.Writer) {
	fmt.Fprint(w, "Usage: shiro [command]\n\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-22s %s\n", c.name+" "+c.args, c.help)
	}
	fmt.Fprint(w, "\n`shiro COMMAND -h` lists a command's flags.\n")
}

// parse reads flags and at most that many words after them. It reports false,
// with the exit code, when the command should not go on.
func parse(fs *flag.FlagSet, words int, args []string, std streams) (code int, ok bool) {
	fs.SetOutput(std.err)
	err := fs.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0, false
	case err != nil:
		return 2, false
	case fs.NArg() > words:
		fmt.Fprintf(std.err, "%s: %q is one word too many\n", fs.Name(), fs.Arg(words))
		return 2, false
	}
	return 0, true
}

// version is the released version, or the commit it was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return "devel-" + s.Value[:12]
		}
	}
	return "devel"
}

func runVersion(_ context.Context, args []string, std streams) int {
	if code, ok := parse(flag.NewFlagSet("shiro version", flag.ContinueOnError), 0, args, std); !ok {
		return code
	}
	fmt.Fprintln(std.out, "shiro", version())
	return 0
}
