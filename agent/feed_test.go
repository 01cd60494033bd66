package agent

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func delta(item, channel string, from int, text string) Event {
	return Event{Data: ItemDelta{item, channel, from, text}}
}

// drain reads what is in a feed; it must be closed.
func drain(t *testing.T, f *Feed) []Event {
	t.Helper()
	var all []Event
	for {
		e, err := f.Next(t.Context())
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
}

func TestFeedJoinsDeltas(t *testing.T) {
	notice := Event{Seq: 1, Data: Notice{Title: "n"}}
	for name, c := range map[string]struct{ push, want []Event }{
		"one channel": {
			[]Event{delta("i", "text", 0, "a"), delta("i", "text", 1, "bé"), delta("i", "text", 4, "c")},
			[]Event{delta("i", "text", 0, "abéc")},
		},
		"begins where the first one did": {
			[]Event{delta("i", "text", 7, "a"), delta("i", "text", 8, "b")},
			[]Event{delta("i", "text", 7, "ab")},
		},
		"not across another event": {
			[]Event{delta("i", "text", 0, "a"), notice, delta("i", "text", 1, "b")},
			[]Event{delta("i", "text", 0, "a"), notice, delta("i", "text", 1, "b")},
		},
		"not across channels": {
			[]Event{delta("i", "stdout", 0, "a"), delta("i", "stderr", 0, "b"), delta("i", "stdout", 1, "c")},
			[]Event{delta("i", "stdout", 0, "a"), delta("i", "stderr", 0, "b"), delta("i", "stdout", 1, "c")},
		},
		"not across items": {
			[]Event{delta("i", "text", 0, "a"), delta("k", "text", 0, "b")},
			[]Event{delta("i", "text", 0, "a"), delta("k", "text", 0, "b")},
		},
		"nothing": {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFeed()
			for _, e := range c.push {
				f.push(e)
			}
			f.close()
			if diff := cmp.Diff(c.want, drain(t, f)); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

// A delta that was read does not grow any more.
func TestFeedDoesNotJoinWhatWasRead(t *testing.T) {
	f := newFeed()
	f.push(delta("i", "text", 0, "a"))
	first, err := f.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f.push(delta("i", "text", 1, "b"))
	second, err := f.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Event{delta("i", "text", 0, "a"), delta("i", "text", 1, "b")}, []Event{first, second}); diff != "" {
		t.Error(diff)
	}
}

// A reader of many deltas does not pay for each: a megabyte in single bytes is
// one event.
func TestFeedIsBounded(t *testing.T) {
	f := newFeed()
	for i := range 1 << 20 {
		f.push(delta("i", "text", i, "x"))
	}
	f.close()
	all := drain(t, f)
	if len(all) != 1 || all[0].Data.(ItemDelta).Text != strings.Repeat("x", 1<<20) {
		t.Errorf("%d events", len(all))
	}
}

func TestFeedEnds(t *testing.T) {
	f := newFeed()
	ctx, cancel := context.WithCancel(t.Context())
	got := make(chan error, 1)
	go func() {
		_, err := f.Next(ctx)
		got <- err
	}()
	cancel()
	if err := <-got; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	go func() {
		_, err := f.Next(t.Context())
		got <- err
	}()
	f.close()
	if err := <-got; err != io.EOF {
		t.Errorf("closed: %v", err)
	}
	f.push(delta("i", "text", 0, "late"))
	if e, err := f.Next(t.Context()); err != nil || e.Data.(ItemDelta).Text != "late" {
		t.Errorf("after the end: %v, %v", e, err)
	}
	for range 2 { // and it stays ended
		if _, err := f.Next(t.Context()); err != io.EOF {
			t.Errorf("the second time: %v", err)
		}
	}
}

// Whatever the reader's pace, the text of each channel is what was written,
// without a gap, and all other events come in order.
func TestFeedKeepsEverything(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		f := newFeed()
		written := make(map[string]string)
		const events = 400
		var wg sync.WaitGroup
		wg.Go(func() {
			seq := uint64(0)
			for range events {
				key := string(rune('a'+r.IntN(3))) + " " + []string{"text", "args"}[r.IntN(2)]
				if r.IntN(6) == 0 {
					seq++
					f.push(Event{Seq: seq, Data: Notice{}})
					continue
				}
				text := []string{"x", "渐", "🙂y", "long text"}[r.IntN(4)]
				item, channel, _ := strings.Cut(key, " ")
				f.push(delta(item, channel, len(written[key]), text))
				written[key] += text
			}
			f.close()
		})
		pace := rand.New(rand.NewPCG(seed, 2))
		read := make(map[string]string)
		seq, n := uint64(0), 0
		for {
			if pace.IntN(8) == 0 {
				yield(pace.IntN(50))
			}
			e, err := f.Next(t.Context())
			if err == io.EOF {
				break
			}
			n++
			d, ok := e.Data.(ItemDelta)
			if !ok {
				if e.Seq != seq+1 {
					t.Fatalf("seed %d: event %d after %d", seed, e.Seq, seq)
				}
				seq = e.Seq
				continue
			}
			key := d.Item + " " + d.Channel
			if d.From != len(read[key]) {
				t.Fatalf("seed %d: %s goes on at %d, after %d", seed, key, d.From, len(read[key]))
			}
			read[key] += d.Text
		}
		wg.Wait()
		if diff := cmp.Diff(written, read); diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
		if n > events {
			t.Errorf("seed %d: %d events of %d", seed, n, events)
		}
	}
}
