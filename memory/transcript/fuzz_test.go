package transcript

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// What parses is written back byte for byte but for white space, and parses
// again to the same view.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		var ms []json.RawMessage
		if err := json.Unmarshal(data, &ms); err != nil {
			f.Fatal(err)
		}
		for _, m := range ms {
			f.Add([]byte(m))
		}
	}
	f.Add([]byte(`{"role":"user","content":"\ud83d \" \\"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Parse(data)
		if err != nil {
			return
		}
		var want bytes.Buffer
		if err := json.Compact(&want, data); err != nil {
			t.Fatalf("Parse took what is not JSON: %q", data)
		}
		if !bytes.Equal(m.raw, want.Bytes()) {
			t.Errorf("kept %q of %q", m.raw, data)
		}
		again, err := Parse(m.raw)
		if err != nil || again.Role != m.Role || again.Text != m.Text || len(again.Parts) != len(m.Parts) {
			t.Errorf("%q parses again as %+v, %v", m.raw, again, err)
		}
	})
}
