package main

import (
	"errors"
	"os"
	"runtime"
	"strings"

	"github.com/BurntSushi/toml"
)

// tomlLayer reads a config.toml. It is strict: every problem in it is an error with its line.
func tomlLayer(path string) (layer, error) {
	data, err := readConfig(path)
	if data == nil || err != nil {
		return layer{}, err
	}
	source := string(data)
	var doc map[string]any
	md, err := toml.Decode(source, &doc)
	if err != nil {
		return layer{}, tomlError(path, err)
	}
	l := layer{line: func(key []string) int { return tomlLine(source, key) }}
	for _, key := range md.Keys() { // in the order of the file, which decides between permission rules
		value, ok := at(doc, key)
		if isTable(value) && md.Type(key...) != "Hash" {
			// The decoder drops a value whose key dotted keys have made a table, and says nothing: a deny rule could be lost.
			return layer{}, &configError{Source: path, Line: l.line(key), Problem: dotted(key) + " is both a value and a table"}
		}
		if ok {
			l.values = append(l.values, assignment{key: key, value: value, source: path})
		}
		if strings.Join(key, ".") == "provider.api_key" && readableByOthers(path) {
			l.notices = append(l.notices, path+" holds a key and other users can read it; run chmod 600 on it")
		}
	}
	return l, nil
}

// at finds the value of a key. Keys inside an array have none of their own: the array is the value.
func at(doc map[string]any, key []string) (any, bool) {
	var value any = doc
	for _, part := range key {
		table, ok := value.(map[string]any)
		if !ok {
			return nil, false
		}
		if value, ok = table[part]; !ok {
			return nil, false
		}
	}
	return value, true
}

func readableByOthers(path string) bool {
	info, err := os.Stat(path)
	return err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0
}

// tomlError tells where a file stops being TOML. What the parser quotes could be part of a key and is left out.
func tomlError(path string, err error) error {
	e := &configError{Source: path, Problem: "not valid TOML"}
	var parse toml.ParseError
	if errors.As(err, &parse) {
		e.Line = parse.Position.Line
		e.Problem += ": " + maskQuoted(parse.Message)
	}
	return e
}

// maskQuoted empties what a message quotes, except names of keys, and quotations
// of single characters, perhaps escaped, when there are no others.
func maskQuoted(message string) string {
	if strings.HasPrefix(message, "Key '") {
		return message
	}
	open := strings.IndexAny(message, `"'`)
	if open < 0 {
		return message
	}
	quote := message[open : open+1]
	long := false
	parts := strings.Split(message, quote)
	for i := 1; i < len(parts); i += 2 {
		long = long || len(parts[i]) > 3
	}
	if !long {
		return message
	}
	return message[:open+1] + "…" + message[strings.LastIndex(message, quote):]
}

// lineProbe refuses any value: the decoder keeps the positions of keys to itself and tells them only in an error.
type lineProbe struct{}

func (*lineProbe) UnmarshalTOML(any) error { return errors.New("probe") }

// tomlLine returns the line of a key, or 0. It decodes the source once more, which only an error has to pay for.
func tomlLine(source string, key []string) int {
	var tables map[string]toml.Primitive
	md, err := toml.Decode(source, &tables)
	if err != nil {
		return 0
	}
	last := len(key) - 1
	for _, part := range key[:last] {
		var next map[string]toml.Primitive
		if md.PrimitiveDecode(tables[part], &next) != nil {
			return 0
		}
		tables = next
	}
	var position toml.ParseError
	if errors.As(md.PrimitiveDecode(tables[key[last]], &lineProbe{}), &position) {
		return position.Position.Line
	}
	return 0
}
