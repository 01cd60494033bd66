//go:build unix

package tool

import "testing"

func BenchmarkBash(b *testing.B) {
	k := newKit(b, nil)
	c := Call{Input: encode(b, object{"command": "true"})}
	for b.Loop() {
		if _, err := k.tools["bash"].Run(b.Context(), c); err != nil {
			b.Fatal(err)
		}
	}
}
