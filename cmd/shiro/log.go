package main

import (
	"bytes"
	"io"
	"time"
)

// A logWriter writes without waiting for the reader, who may be an editor that
// reads no log: what does not fit into its line is dropped.
type logWriter struct {
	lines chan []byte
	done  chan struct{}
}

// Bounds on a log that is not read: lines kept, and the wait for them at the end.
const (
	logLines = 1024
	logFlush = 200 * time.Millisecond
)

func newLogWriter(w io.Writer) *logWriter {
	l := &logWriter{make(chan []byte, logLines), make(chan struct{})}
	go func() {
		defer close(l.done)
		for line := range l.lines {
			if line == nil {
				return
			}
			w.Write(line)
		}
	}()
	return l
}

func (l *logWriter) Write(line []byte) (int, error) {
	select {
	case l.lines <- bytes.Clone(line):
	default:
	}
	return len(line), nil
}

// close waits for what was written, within bounds.
func (l *logWriter) close() {
	late := time.After(logFlush)
	select {
	case l.lines <- nil: // the end
	case <-late:
		return
	}
	select {
	case <-l.done:
	case <-late:
	}
}
