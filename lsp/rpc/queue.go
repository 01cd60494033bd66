package rpc

import (
	"context"
	"io"
	"sync"
)

// queue is the way out: any goroutine appends whole messages, one writes them, in
// that order and as many at once as there are.
type queue struct {
	w       io.Writer
	framing Framing
	fail    func(error) // told of the write that failed

	mu      sync.Mutex
	wake    sync.Cond     // the writer has something to do
	buf     []byte        // framed, not yet taken by the writer
	spare   []byte        // the writer's last buffer, for reuse
	body    []byte        // the message being framed: its length goes before it
	in, out int64         // bytes handed in, bytes written
	moved   chan struct{} // closed at the next change; nil when nobody waits
	closed  bool
	err     error
	done    chan struct{} // the writer has returned
}

func newQueue(w io.Writer, f Framing, fail func(error)) *queue {
	q := &queue{w: w, framing: f, fail: fail, done: make(chan struct{})}
	q.wake.L = &q.mu
	go q.run()
	return q
}

// put appends the message that encode appends, unless more than limit bytes are
// queued. It does not wait for the peer.
func (q *queue) put(limit int64, encode func([]byte) []byte) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.err != nil:
		return q.err
	case q.closed:
		return ErrClosed
	case q.in-q.out > limit:
		return ErrBacklog
	}
	q.body = encode(q.body[:0])
	before := len(q.buf)
	q.buf = q.framing.append(q.buf, q.body)
	q.in += int64(len(q.buf) - before)
	if cap(q.body) > keepBuffer {
		q.body = nil
	}
	q.wake.Signal()
	return nil
}

// putWait is put, but waits for the queue to fall to limit.
func (q *queue) putWait(ctx context.Context, limit int64, encode func([]byte) []byte) error {
	for {
		err := q.await(ctx, func() bool { return q.in-q.out <= limit || q.closed })
		if err != nil {
			return err
		}
		if err := q.put(limit, encode); err != ErrBacklog {
			return err
		}
	}
}

// full tells that the peer has stopped reading.
func (q *queue) full() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.in-q.out > highWater
}

// flush returns when everything put so far is written.
func (q *queue) flush(ctx context.Context) error {
	q.mu.Lock()
	end := q.in
	q.mu.Unlock()
	return q.await(ctx, func() bool { return q.out >= end })
}

// await returns when ok, asked under the lock at each change, or writing failed.
func (q *queue) await(ctx context.Context, ok func() bool) error {
	for {
		q.mu.Lock()
		if q.err != nil || ok() {
			defer q.mu.Unlock()
			return q.err
		}
		if q.moved == nil {
			q.moved = make(chan struct{})
		}
		moved := q.moved
		q.mu.Unlock()
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// close refuses further messages and returns when the writer has written the rest.
func (q *queue) close(ctx context.Context) error {
	q.mu.Lock()
	q.closed = true
	q.wake.Signal()
	q.tell()
	q.mu.Unlock()
	select {
	case <-q.done:
		return q.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// tell has those who wait look again.
func (q *queue) tell() {
	if q.moved != nil {
		close(q.moved)
		q.moved = nil
	}
}

func (q *queue) run() {
	defer close(q.done)
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		for len(q.buf) == 0 && !q.closed && q.err == nil {
			q.wake.Wait()
		}
		if len(q.buf) == 0 {
			return
		}
		batch := q.buf
		q.buf, q.spare = q.spare[:0], nil
		q.mu.Unlock()
		_, err := q.w.Write(batch)
		q.mu.Lock()
		q.out += int64(len(batch))
		if cap(batch) <= keepBuffer {
			q.spare = batch
		}
		if err != nil {
			q.err, q.buf = err, nil
			q.fail(err)
		}
		q.tell()
	}
}
