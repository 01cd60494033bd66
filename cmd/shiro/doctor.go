package main

import (
	"context"
	"flag"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// doctorTimeout bounds everything that shiro doctor waits for.
const doctorTimeout = 6 * time.Second

// A doctor looks at what a prompt in one folder would meet, and leaves
// everything as it was.
type doctor struct {
	*report
	home   string // parent of the state directory; empty when there is none
	folder string
	env    lookup
	flags  map[string]string
	client *http.Client                         // asks model servers
	local  []localServer                        // where one may listen unasked
	find   func(program string) (string, error) // as exec.LookPath does
}

// runDoctor exits 0 when a first prompt would work and the conversation would
// be kept, 1 otherwise.
func runDoctor(ctx context.Context, args []string, std streams) int {
	fs := flag.NewFlagSet("shiro doctor", flag.ContinueOnError)
	settings := settingFlags(fs)
	if code, ok := parse(fs, 1, args, std); !ok {
		return code
	}
	folder := "."
	if fs.NArg() == 1 {
		folder = fs.Arg(0)
	}
	if abs, err := filepath.Abs(folder); err == nil {
		folder = abs
	}
	flags := make(map[string]string)
	for name, v := range settings {
		flags[name] = *v
	}
	home, _ := homeDir(os.LookupEnv) // the report says that there is none
	d := doctor{
		report: &report{out: std.out},
		home:   home, folder: folder, env: os.LookupEnv, flags: flags,
		client: http.DefaultClient, local: localServers(), find: exec.LookPath,
	}
	return d.examine(ctx)
}

func (d *doctor) examine(ctx context.Context) int {
	ctx, cancel := context.WithTimeout(ctx, doctorTimeout)
	defer cancel()
	d.hideVariables()

	d.section("program")
	d.checkBinary()
	d.checkPrograms(ctx)

	d.section("folder")
	d.checkFolder()
	d.checkState()

	d.section("configuration")
	cfg, ok := d.checkConfig()

	d.section("model server")
	d.checkProxies()
	if ok {
		d.checkProvider(ctx, cfg)
	} else {
		d.note("server", "not looked for while the configuration has problems")
	}
	return d.verdict()
}

// hideVariables makes secrets of what the environment holds, used or not.
func (d *doctor) hideVariables() {
	for _, name := range keyVariables() {
		d.hide(variable(d.env, name))
	}
}
