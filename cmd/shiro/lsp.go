package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"shiro/agent"
	"shiro/lsp"
	wire "shiro/lsp/protocol"
	"shiro/lsp/rpc"
	"shiro/memory"
)

// settingFlags are the flags that set what the configuration sets.
func settingFlags(fs *flag.FlagSet) map[string]*string {
	return map[string]*string{
		"provider": fs.String("provider", "", "provider `preset`: "+strings.Join(presetIDs(), ", ")),
		"model":    fs.String("model", "", "model `id`"),
		"base-url": fs.String("base-url", "", "`URL` of the model server"),
		"think":    fs.String("think", "", "thinking `level`: off, low, medium, high or max"),
	}
}

func runLSP(ctx context.Context, args []string, std streams) int {
	fs := flag.NewFlagSet("shiro lsp", flag.ContinueOnError)
	settings := settingFlags(fs)
	noMemory := fs.Bool("no-memory", false, "do not use the project's notes")
	yolo := fs.Bool("yolo", false, "run without asking what rules would ask about; deny rules and the guard still hold")
	verbose := fs.Bool("verbose", false, "log more to standard error")
	fs.Bool("stdio", true, "speak over standard input and output, as always")
	if code, ok := parse(fs, 0, args, std); !ok {
		return code
	}
	if f, ok := std.in.(*os.File); ok && isTerminal(f) {
		fmt.Fprintln(std.err, "shiro: waiting for an editor on standard input; `shiro help` lists what else there is")
	}
	out, err := rpc.ClaimStdout()
	if err != nil {
		fmt.Fprintln(std.err, "shiro:", err)
		return 1
	}
	level := slog.LevelWarn
	if *verbose {
		level = slog.LevelDebug
	}
	lines := newLogWriter(std.err)
	defer lines.close()
	log := slog.New(slog.NewTextHandler(lines, &slog.HandlerOptions{Level: level}))

	home, err := homeDir(os.LookupEnv)
	if err != nil {
		fmt.Fprintln(std.err, "shiro:", err)
		return 1
	}
	store := memory.Open(memory.Options{Dir: stateDir(home), Log: log})
	flags := make(map[string]string)
	for name, v := range settings {
		flags[name] = *v
	}
	var notes lsp.Notes
	if !*noMemory {
		notes = folderNotes{store}
	}
	server := lsp.New(lsp.Options{
		In: std.in, Out: out, Version: version(), Log: log, Catalog: catalog{store}, Notes: notes,
		Agent: func(ctx context.Context, e lsp.Editor) *agent.Agent {
			w := &workshop{
				home: home, env: os.LookupEnv, flags: flags, editor: e, store: store, log: log,
				noMemory: *noMemory, yolo: *yolo,
			}
			return agent.New(ctx, agent.Options{Store: records{store}, Setup: w.setup, Log: log})
		},
	})
	return server.Run(ctx)
}

// isTerminal reports whether a person may be sitting there.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func runSchema(_ context.Context, args []string, std streams) int {
	if code, ok := parse(flag.NewFlagSet("shiro schema", flag.ContinueOnError), 0, args, std); !ok {
		return code
	}
	std.out.Write(wire.Schema())
	return 0
}
