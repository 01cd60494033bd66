//go:build unix

package memory

import (
	"bufio"
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"shiro/memory/transcript"
)

// childVar names what a process started by a test does instead of testing.
const childVar = "SHIRO_MEMORY_TEST_CHILD"

func TestMain(m *testing.M) {
	var do func(dir, arg string) error
	switch os.Getenv(childVar) {
	case "save":
		do = childSave
	case "remember":
		do = childRemember
	case "full":
		do = childFull
	default:
		os.Exit(m.Run())
	}
	if err := do(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func child(t *testing.T, do, dir, arg string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(exe, dir, arg)
	c.Env = append(os.Environ(), childVar+"="+do)
	c.Stderr = os.Stderr
	return c
}

// childSave goes on with the session id without end, and prints the number of
// each message that it was told is on disk.
func childSave(dir, id string) error {
	s := Open(Options{Dir: dir})
	session, stamp, err := s.Load(id)
	if err != nil {
		return err
	}
	w, err := s.Writer(WriterOptions{Stamp: stamp, Forked: func(id string) { fmt.Println("forked", id) }})
	if err != nil {
		return err
	}
	for {
		n := number(session) + 1
		text := strings.Repeat("what was said \"so\" far\n", rand.IntN(4000))
		if len(session.Messages) > 10 {
			session.Messages = session.Messages[:0:0]
		}
		session.Messages = append(session.Messages, transcript.User(fmt.Sprint(n, " ", text)))
		w.Save(session)
		if err := w.Flush(); err != nil {
			return err
		}
		fmt.Println(n)
	}
}

// number is the one at the beginning of the last message.
func number(s *transcript.Session) int {
	text, _, _ := strings.Cut(s.Messages[len(s.Messages)-1].Text, " ")
	n, _ := strconv.Atoi(text)
	return n
}

func TestAKillAtAnyMomentLeavesARecord(t *testing.T) {
	s := newStore(t)
	save(t, s, newSession("01aa", "/p", "0 begins"), Stamp{})
	confirmed := 0
	for round := range 50 {
		c := child(t, "save", s.dir, "01aa")
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		lines.Scan() // it is at work
		kill := time.AfterFunc(time.Duration(rand.Int64N(int64(15*time.Millisecond))), func() { c.Process.Kill() })
		last := lines.Text()
		for lines.Scan() {
			last = lines.Text()
		}
		c.Wait()
		kill.Stop()
		n, err := strconv.Atoi(last)
		if err != nil || n <= confirmed {
			t.Fatalf("round %d: printed %q after %d", round, last, confirmed)
		}
		confirmed = n
		got, _, err := s.Load("01aa")
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if number(got) < confirmed {
			t.Fatalf("round %d: message %d was on disk, now there is only %d", round, confirmed, number(got))
		}
	}
	if l, err := s.List(ListOptions{}); err != nil || ids(l) != "01aa" || l.Skipped != 0 {
		t.Errorf("%+v, %v", l, err)
	}
}

func TestTwoProcessesSaveOneSession(t *testing.T) {
	s := newStore(t)
	save(t, s, newSession("01aa", "/p", "0 begins"), Stamp{})
	type end struct {
		fork string
		last int
	}
	var ends [2]end
	var readers sync.WaitGroup
	for i := range ends {
		c := child(t, "save", s.dir, "01aa")
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		readers.Go(func() {
			e := &ends[i]
			lines := bufio.NewScanner(out)
			for saves := 0; saves < 20 && lines.Scan(); {
				if fork, ok := strings.CutPrefix(lines.Text(), "forked "); ok {
					e.fork = fork
					continue
				}
				e.last, _ = strconv.Atoi(lines.Text())
				saves++
			}
			c.Process.Kill()
			for lines.Scan() {
			}
			c.Wait()
		})
	}
	done := make(chan struct{})
	go func() {
		readers.Wait()
		close(done)
	}()
	for working := true; working; {
		select {
		case <-done:
			working = false
		default:
			if _, _, err := s.Load("01aa"); err != nil {
				t.Error(err)
			}
		}
	}
	if ends[0].fork != "" || ends[1].fork != "" || (ends[0].last == 0) == (ends[1].last == 0) {
		t.Fatalf("one of the two must be refused: %+v", ends)
	}
	for _, e := range ends {
		if got, _, err := s.Load(cmp.Or(e.fork, "01aa")); err != nil || number(got) < e.last {
			t.Errorf("%+v: %v", e, err)
		}
	}
}

func childRemember(dir, who string) error {
	n := Open(Options{Dir: dir}).Notes("/p")
	for i := range 50 {
		if _, err := n.Remember("fact", fmt.Sprint(who, " learnt ", i)); err != nil {
			return err
		}
		if _, err := n.Recall("learnt"); err != nil {
			return err
		}
	}
	return nil
}

func TestTwoProcessesRemember(t *testing.T) {
	s := newStore(t)
	a, b := child(t, "remember", s.dir, "a"), child(t, "remember", s.dir, "b")
	for _, c := range []*exec.Cmd{a, b} {
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []*exec.Cmd{a, b} {
		if err := c.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	all, err := s.Notes("/p").All()
	if err != nil {
		t.Fatal(err)
	}
	hits := 0.0
	for _, o := range all {
		hits += o.Hits
	}
	if len(all) != 100 || all[0].Hits < 50 || hits < 2*50*51/2 {
		t.Errorf("%d notes, %v hits, %v on the first", len(all), hits, all[0].Hits)
	}
	if got := names(t, filepath.Dir(s.Notes("/p").path)); len(got) != 1 {
		t.Errorf("left over: %v", got)
	}
}

// childFull saves into a file system that takes no more than 8 kB per file, and
// again when there is room.
func childFull(dir, id string) error {
	signal.Ignore(syscall.SIGXFSZ)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	s := Open(Options{Dir: dir})
	session, stamp, err := s.Load(id)
	if err != nil {
		return err
	}
	w, err := s.Writer(WriterOptions{Stamp: stamp, Failed: func(err error) { fmt.Println("warning:", err) }})
	if err != nil {
		return err
	}
	defer w.Close()
	session.Messages = append(session.Messages, transcript.User(strings.Repeat("much ", 10000)))
	full := limit
	full.Cur = 8 << 10
	for _, now := range []syscall.Rlimit{full, full, limit} {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &now); err != nil {
			return err
		}
		w.Save(session)
		err := w.Flush()
		left, readErr := os.ReadDir(s.recordDir())
		if readErr != nil {
			return readErr
		}
		fmt.Println("saved:", err == nil, "files:", len(left)-1) // record and journal, beside the lock
	}
	return nil
}

func TestAFullDisk(t *testing.T) {
	s := newStore(t)
	save(t, s, newSession("01aa", "/p", "one"), Stamp{})
	out, err := child(t, "full", s.dir, "01aa").Output()
	if err != nil {
		t.Fatal(err)
	}
	got := string(out)
	if strings.Count(got, "warning:") != 2 || !strings.Contains(got, "file too large") ||
		!strings.HasSuffix(got, "saved: false files: 2\nsaved: false files: 2\nwarning: <nil>\nsaved: true files: 2\n") {
		t.Errorf("%s", got)
	}
	if n := messages(t, s, "01aa"); n != 2 {
		t.Errorf("%d messages", n)
	}
}
