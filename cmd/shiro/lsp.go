package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"

	"shiro/agent"
	"shiro/lsp"
	wire "shiro/lsp/protocol"
	"shiro/lsp/rpc"
	"shiro/memory"
)

// settingFlags are the flags that set what the configuration sets.
func settingFlags(fs *flag.FlagSet) map[string]*string {
	return map[string]*string{
		"provider": fs.String("provider", "", "provider `preset`, such as openai or ollama"),
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
	if code, ok := parse(fs, args, std); !ok {
		return code
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
	log := slog.New(slog.NewTextHandler(std.err, &slog.HandlerOptions{Level: level}))

	home, err := homeDir(os.LookupEnv)
	if err != nil {
		log.Warn("no home folder: nothing will be kept on disk", "err", err)
	}
	store := memory.Open(memory.Options{Dir: stateDir(home), Log: log})
	flags := make(map[string]string)
	for name, v := range settings {
		flags[name] = *v
	}
	server := lsp.New(lsp.Options{
		In: std.in, Out: out, Version: version(), Log: log, Catalog: catalog{store},
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

func runSchema(_ context.Context, _ []string, std streams) int {
	std.out.Write(wire.Schema())
	return 0
}
