package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// prepare makes the scratch folder and the project in it.
func (d *demo) prepare() (err error) {
	if d.dir = os.Getenv("SHIRO_DEMO_DIR"); d.dir == "" {
		d.dir, err = os.MkdirTemp("", "shiro-demo-")
	} else {
		err = os.MkdirAll(d.dir, 0o755)
	}
	if err == nil {
		d.dir, err = filepath.EvalSymlinks(d.dir) // as the server will see it
	}
	if err == nil {
		d.dir, err = filepath.Abs(d.dir)
	}
	if err != nil {
		return fmt.Errorf("making the scratch folder: %w", err)
	}
	if inside, err := os.ReadDir(d.dir); err != nil || len(inside) > 0 {
		return fmt.Errorf("SHIRO_DEMO_DIR: %w", cmp.Or(err, fmt.Errorf("%s is not empty; name a new folder", d.dir)))
	}
	d.home, d.project = filepath.Join(d.dir, "home"), filepath.Join(d.dir, "project")
	if err := errors.Join(os.MkdirAll(stateDir(d.home), 0o700), os.Mkdir(d.project, 0o755)); err != nil {
		return fmt.Errorf("making the scratch folder: %w", err)
	}
	if d.log, err = os.Create(filepath.Join(d.dir, "server.log")); err != nil {
		return fmt.Errorf("making the server's log: %w", err)
	}
	for name, text := range map[string]string{demoFile: brokenText(), demoTests: testText} {
		if err := os.WriteFile(filepath.Join(d.project, name), []byte(text), 0o644); err != nil {
			return fmt.Errorf("making the project: %w", err)
		}
	}
	return nil
}

// configure writes the server's configuration and makes its environment, which
// keeps the key off the disk.
func (d *demo) configure(o demoOptions) error {
	settings := map[string]any{"base_url": o.url}
	if o.model != "" {
		settings["model"] = o.model
	}
	if o.api != "" {
		settings["api"] = o.api
	}
	tables := map[string]any{"provider": settings}
	ours := []string{"SHIRO_HOME", "SHIRO_PROVIDER", "SHIRO_MODEL", "SHIRO_BASE_URL"}
	if d.script != nil {
		tables["context"] = map[string]any{"threshold": scriptThreshold}
		ours = append(ours, keyVariables()...)
	}
	if o.key != "" {
		ours = append(ours, "SHIRO_API_KEY")
	}
	d.env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(ours, name)
	})
	d.env = append(d.env, "SHIRO_HOME="+d.home)
	if o.key != "" {
		d.env = append(d.env, "SHIRO_API_KEY="+o.key)
	}
	text, err := toml.Marshal(tables)
	if err == nil {
		err = os.WriteFile(filepath.Join(stateDir(d.home), "config.toml"), text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("writing the configuration: %w", err)
	}
	return nil
}
