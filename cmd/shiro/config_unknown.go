package main

import (
	"strings"

	"github.com/BurntSushi/toml"
)

// unknownKeyError is a key that no setting has.
type unknownKeyError struct {
	key   string
	near  string   // empty: nothing resembles it
	known []string // what could stand there
}

func (e *unknownKeyError) Error() string {
	text := "unknown key " + e.key
	if e.near != "" {
		return text + "; did you mean " + e.near + "?"
	}
	return text + "; known here: " + strings.Join(e.known, ", ")
}

// unknownKey explains a key that is none of fields and none of tables.
func unknownKey(key []string, fields []field, tables []string) error {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	e := &unknownKeyError{key: dotted(key)}
	if tables == nil { // inside a table with free names, of which fields has only the last parts
		e.near = nearest(key[len(key)-1], names)
		e.known = names
		return e
	}
	e.near = nearest(strings.Join(key, "."), append(tables, names...))
	for _, name := range names {
		if len(key) > 1 && strings.HasPrefix(name, key[0]+".") {
			e.known = append(e.known, name)
		}
	}
	if e.known == nil {
		e.known = tables
	}
	return e
}

// tablesOf lists the tables of config.toml.
func tablesOf(fields []field) []string {
	tables := []string{"permission", "mcp"}
	for _, f := range fields {
		table, _, _ := strings.Cut(f.name, ".")
		if tables[len(tables)-1] != table {
			tables = append(tables, table)
		}
	}
	return tables
}

// dotted writes a key as it would stand in a TOML file.
func dotted(key []string) string {
	return toml.Key(key).String()
}

// nearest returns the candidate that name was probably meant to be, or "". The last parts must resemble each other; the
// table before it may be a misspelt one, or, if the last part is right, any.
func nearest(name string, candidates []string) string {
	table, last := splitLast(strings.ToLower(name))
	best, bestCost := "", 0
	for _, c := range candidates {
		ctable, clast := splitLast(c)
		cost, apart := distance(last, clast), distance(table, ctable)
		if cost > 1+len(last)/4 || cost > 0 && table != "" && apart > 2 {
			continue
		}
		if table != "" {
			cost += min(apart, 3)
		}
		if best == "" || cost < bestCost {
			best, bestCost = c, cost
		}
	}
	return best
}

func splitLast(name string) (before, last string) {
	i := strings.LastIndexByte(name, '.')
	return name[:max(i, 0)], name[i+1:]
}

// distance counts the letters to insert, delete or replace to turn a into b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
