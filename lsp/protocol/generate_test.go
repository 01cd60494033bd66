package protocol

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
)

var update = flag.Bool("update", false, "rewrite schema.json from the Go declarations")

// TestSchemaIsCurrent keeps the committed schema equal to the declarations:
// whoever changes the wire sees the change in a diff.
func TestSchemaIsCurrent(t *testing.T) {
	want := generate(t)
	if *update {
		if err := os.WriteFile("schema.json", want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(want), string(Schema())); diff != "" {
		t.Errorf("schema.json is not what the declarations say; go test -update rewrites it (-declared +committed):\n%s", diff)
	}
}

// document is the shape of schema.json.
type document struct {
	Schema       string                        `json:"$schema"`
	Title        string                        `json:"title"`
	Description  string                        `json:"description"`
	Version      int                           `json:"version"`
	Capabilities map[string]*jsonschema.Schema `json:"capabilities"`
	Methods      map[string]methodSchema       `json:"methods"`
	Events       map[EventType]eventSchema     `json:"events"`
	Errors       map[ErrorKind]int             `json:"errors"`
	Defs         map[string]*jsonschema.Schema `json:"$defs"`
}

type methodSchema struct {
	Direction string             `json:"direction"`
	Params    *jsonschema.Schema `json:"params"`
	Result    *jsonschema.Schema `json:"result,omitempty"`
}

type eventSchema struct {
	Durable bool               `json:"durable"`
	Data    *jsonschema.Schema `json:"data"`
}

func generate(t *testing.T) []byte {
	t.Helper()
	source := parseSource(t)
	d := document{
		Schema:      "https://json-schema.org/draft/2020-12/schema",
		Title:       fmt.Sprintf("shiro protocol, version %d", Version),
		Description: source.packageDoc,
		Version:     Version,
		Capabilities: map[string]*jsonschema.Schema{
			"client": ref(reflect.TypeFor[ClientCapabilities]()),
			"server": ref(reflect.TypeFor[ServerCapabilities]()),
		},
		Methods: make(map[string]methodSchema),
		Events:  make(map[EventType]eventSchema),
		Errors:  make(map[ErrorKind]int),
		Defs:    make(map[string]*jsonschema.Schema),
	}
	for _, m := range Methods() {
		d.Methods[m.Name] = methodSchema{"clientToServer", ref(reflect.TypeOf(m.Params)), ref(reflect.TypeOf(m.Result))}
	}
	d.Methods[MethodEvent] = methodSchema{"serverToClient", ref(reflect.TypeFor[Event]()), nil}
	for _, e := range Events() {
		d.Events[e.Type] = eventSchema{e.Durable, ref(reflect.TypeOf(e.Data))}
	}
	for _, e := range ErrorCodes() {
		d.Errors[e.Kind] = e.Code
	}
	types := wireTypes()
	for name, typ := range types {
		s, err := define(typ, types)
		if err != nil {
			t.Fatal(err)
		}
		s.Description = source.types[name]
		if enum, ok := source.enums[name]; ok {
			s.Enum = enum.values
			s.Extra = map[string]any{"enumDescriptions": enum.descriptions}
		}
		d.Defs[name] = s
	}
	// The encoder is told not to escape <, > and &, but the library below it
	// does so all the same; descriptions do without them.
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(d); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// wireTypes returns by name the types of this package that can occur on the
// wire: those the tables name and all they are made of.
func wireTypes() map[string]reflect.Type {
	found := make(map[string]reflect.Type)
	var visit func(reflect.Type)
	visit = func(t reflect.Type) {
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			visit(t.Elem())
			return
		}
		if t.PkgPath() != reflect.TypeFor[Event]().PkgPath() || found[t.Name()] != nil {
			return
		}
		found[t.Name()] = t
		if t.Kind() == reflect.Struct {
			for _, f := range reflect.VisibleFields(t) {
				visit(f.Type)
			}
		}
	}
	for _, m := range Methods() {
		visit(reflect.TypeOf(m.Params))
		visit(reflect.TypeOf(m.Result))
	}
	for _, e := range Events() {
		visit(reflect.TypeOf(e.Data))
	}
	for _, t := range []reflect.Type{
		reflect.TypeFor[Event](), reflect.TypeFor[Error](),
		reflect.TypeFor[ClientCapabilities](), reflect.TypeFor[ServerCapabilities](),
	} {
		visit(t)
	}
	return found
}

func ref(t reflect.Type) *jsonschema.Schema {
	if t.Name() == "" {
		return &jsonschema.Schema{Type: "object"}
	}
	return &jsonschema.Schema{Ref: "#/$defs/" + t.Name()}
}

// define infers the schema of one type, with references to the others.
func define(t reflect.Type, types map[string]reflect.Type) (*jsonschema.Schema, error) {
	if t == reflect.TypeFor[Timestamp]() {
		return &jsonschema.Schema{Type: "string", Format: "date-time"}, nil
	}
	known := map[reflect.Type]*jsonschema.Schema{reflect.TypeFor[json.RawMessage](): {}}
	for _, other := range types {
		if other != t {
			known[other] = ref(other)
		}
	}
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: known})
	if err != nil {
		return nil, err
	}
	relax(s)
	return s, nil
}

// relax makes an inferred schema say what the protocol does: no value is null,
// and unknown fields are allowed.
func relax(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if types := slices.DeleteFunc(s.Types, func(t string) bool { return t == "null" }); len(types) == 1 {
		s.Type = types[0]
	}
	s.Types = nil
	if s.AdditionalProperties != nil && s.AdditionalProperties.Not != nil {
		s.AdditionalProperties = nil
	}
	relax(s.AdditionalProperties)
	relax(s.Items)
	for _, p := range s.Properties {
		relax(p)
	}
}

// goSource is what only the text of the package says: comments, and which
// constants belong to a type.
type goSource struct {
	packageDoc string
	types      map[string]string // doc comment of each exported type
	enums      map[string]enum   // of each string type that has constants
	constants  map[string]string // untyped string constants
}

type enum struct {
	values       []any
	descriptions []string
}

func parseSource(t *testing.T) goSource {
	t.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	pkg, err := doc.NewFromFiles(fset, files, "protocol")
	if err != nil {
		t.Fatal(err)
	}
	s := goSource{
		packageDoc: pkg.Synopsis(pkg.Doc),
		types:      make(map[string]string),
		enums:      make(map[string]enum),
		constants:  make(map[string]string),
	}
	plain := pkg.Printer()
	plain.TextWidth = -1
	for _, typ := range pkg.Types {
		s.types[typ.Name] = strings.TrimSpace(string(plain.Text(pkg.Parser().Parse(typ.Doc))))
		var e enum
		for value, comment := range stringConstants(t, typ.Consts) {
			e.values = append(e.values, value)
			e.descriptions = append(e.descriptions, comment)
		}
		if e.values != nil {
			s.enums[typ.Name] = e
		}
	}
	for _, group := range pkg.Consts {
		maps.Copy(s.constants, namedStrings(t, group))
	}
	return s
}

// stringConstants yields the value and the line comment of each constant.
func stringConstants(t *testing.T, groups []*doc.Value) func(yield func(string, string) bool) {
	return func(yield func(string, string) bool) {
		for _, group := range groups {
			for _, spec := range group.Decl.Specs {
				c := spec.(*ast.ValueSpec)
				if !yield(literal(t, c.Values[0]), strings.TrimSpace(c.Comment.Text())) {
					return
				}
			}
		}
	}
}

func namedStrings(t *testing.T, group *doc.Value) map[string]string {
	found := make(map[string]string)
	for _, spec := range group.Decl.Specs {
		c := spec.(*ast.ValueSpec)
		if lit, ok := c.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
			found[c.Names[0].Name] = literal(t, lit)
		}
	}
	return found
}

func literal(t *testing.T, e ast.Expr) string {
	t.Helper()
	s, err := strconv.Unquote(e.(*ast.BasicLit).Value)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
