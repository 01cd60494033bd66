package tool

import (
	"fmt"
	"strings"
	"testing"
)

func source(lines int) string {
	var b strings.Builder
	for i := range lines {
		fmt.Fprintf(&b, "\tif err := step(%d); err != nil { return err }\n", i)
	}
	return b.String()
}

func BenchmarkReadFile(b *testing.B) {
	k := newKit(b, map[string]string{"f.go": source(300)})
	c := Call{Input: encode(b, object{"path": "f.go"})}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := k.tools["read_file"].Run(b.Context(), c); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEditFile(b *testing.B) {
	for _, lines := range []int{300, 20_000} {
		k := newKit(b, map[string]string{"f.go": source(lines)})
		edit := func(old, new string) *Edit {
			e, err := k.tools["edit_file"].Propose(b.Context(), Call{Input: encode(b, object{"path": "f.go", "oldString": old, "newString": new})})
			if err != nil {
				b.Fatal(err)
			}
			return e
		}
		b.Run(fmt.Sprintf("propose/%d", lines), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				edit("step(200)", "step(-1)")
			}
		})
		b.Run(fmt.Sprintf("propose+commit/%d", lines), func(b *testing.B) {
			old, new := "step(200)", "step(-1)"
			for b.Loop() {
				if err := k.w.Commit(b.Context(), edit(old, new)); err != nil {
					b.Fatal(err)
				}
				old, new = new, old
			}
		})
	}
}

func BenchmarkGrep(b *testing.B) {
	files := map[string]string{}
	for i := range 500 {
		files[fmt.Sprintf("d%d/f%d.go", i%20, i)] = source(200)
	}
	k := newKit(b, files)
	for _, pattern := range []string{"nowhere", "(?i)nowhere", `no\w+here|not_there`, `\d{5}`} {
		b.Run(pattern, func(b *testing.B) {
			c := Call{Input: encode(b, object{"pattern": pattern})}
			for b.Loop() {
				if _, err := k.tools["grep"].Run(b.Context(), c); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
