package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Who may import whom of ours. A package that is not named may import nothing
// of ours; cmd/shiro may import everything.
var mayImport = map[string][]string{
	"prune":                  {"memory/transcript"},
	"memory":                 {"memory/transcript"},
	"agent/provider":         {"memory/transcript"},
	"agent/tool":             {"memory/transcript"},
	"agent/permission":       {"memory/transcript"},
	"agent":                  {"agent/provider", "agent/tool", "agent/permission", "prune", "memory/transcript"},
	"lsp":                    {"lsp/rpc", "lsp/protocol", "agent", "agent/tool", "memory/transcript"},
	"editors/nvim/test/mock": {"agent/provider/providertest"},
	"lsp/lsptest":            {"lsp/protocol"},
}

// Each library has one room, so that it can be replaced by editing that one.
var onlyIn = map[string][]string{
	"go.lsp.dev/":                       {"lsp", "lsp/rpc"},
	"github.com/sashabaranov/go-openai": {"agent/provider"},
	"github.com/BurntSushi/toml":        {"cmd/shiro"},
	"mvdan.cc/sh/":                      {"agent/permission"},
	"testing":                           nil,
}

func TestImports(t *testing.T) {
	cmd := exec.Command("go", "list", "-f", `{{.ImportPath}}{{range .Imports}} {{.}}{{end}}`, "shiro/...")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := 0
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		pkg := strings.TrimPrefix(words[0], "shiro/")
		packages++
		for _, imported := range words[1:] {
			if ours, ok := strings.CutPrefix(imported, "shiro/"); ok {
				if pkg != "cmd/shiro" && !slices.Contains(mayImport[pkg], ours) {
					t.Errorf("%s imports %s", pkg, ours)
				}
				continue
			}
			for prefix, rooms := range onlyIn {
				if strings.HasPrefix(imported, prefix) && !slices.Contains(rooms, pkg) {
					t.Errorf("%s imports %s", pkg, imported)
				}
			}
		}
	}
	if packages < 10 {
		t.Errorf("only %d packages were looked at", packages)
	}
}
