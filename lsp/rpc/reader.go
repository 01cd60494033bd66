package rpc

import (
	"bufio"
	"bytes"
	"io"
	"log/slog"
	"slices"
)

// reader takes frames off the wire. It answers what is not a frame and goes on; it
// fails only when its input does.
type reader struct {
	in      *bufio.Reader // of maxHeader bytes
	framing Framing
	refuse  func(*Error) // answers under a null id
	log     *slog.Logger

	buf []byte // the current frame

	// For Headers. lost says that the stream is out of step after a refusal, so that
	// everything up to the next Content-Length is noise, already answered for.
	lost    bool
	tail    []byte // end of the previous stretch of a line too long for in
	charset bool   // a foreign charset has been logged
}

// next returns the next frame, good until the call after.
func (r *reader) next() ([]byte, error) {
	if cap(r.buf) > keepBuffer {
		r.buf = nil
	}
	if r.framing == Headers {
		return r.headerFrame()
	}
	return r.lineFrame()
}

// body reads n bytes. Memory grows with what arrives, not with what was announced.
func (r *reader) body(n int) ([]byte, error) {
	buf := r.buf[:0]
	for len(buf) < n {
		have := len(buf)
		step := min(n-have, max(have, cap(buf)-have, maxHeader))
		buf = slices.Grow(buf, step)[:have+step]
		if _, err := io.ReadFull(r.in, buf[have:]); err != nil {
			return nil, cut(err)
		}
	}
	r.buf = buf
	return buf, nil
}

// cut is the error of input that ends inside a message.
func cut(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// lineFrame returns the next line that is not blank. The last may lack its end.
func (r *reader) lineFrame() ([]byte, error) {
	for {
		size, err := r.wholeLine()
		if err != nil {
			return nil, err
		}
		line := bytes.Trim(r.buf, " \t\r\n")
		if size > maxFrame || len(line) == 0 {
			continue
		}
		if hasPrefixFold(line, "content-length") {
			r.log.Warn("peer sends Content-Length headers, but this door takes one JSON message per line")
		}
		return line, nil
	}
}

// wholeLine reads a line into buf and returns its size. One over the limit is
// refused as soon as that shows, and not kept.
func (r *reader) wholeLine() (size int, err error) {
	r.buf = r.buf[:0]
	for {
		part, err := r.in.ReadSlice('\n')
		fits := size <= maxFrame
		if size += len(part); size <= maxFrame {
			if cap(r.buf) < size { // doubling leaves less behind than append does
				r.buf = slices.Grow(r.buf, max(len(r.buf), len(part)))
			}
			r.buf = append(r.buf, part...)
		} else if fits {
			r.buf = nil
			r.refuse(tooLarge(0))
		}
		switch {
		case err == bufio.ErrBufferFull:
		case err == io.EOF && size > 0:
			return size, nil
		default:
			return size, err
		}
	}
}

func hasPrefixFold(line []byte, prefix string) bool {
	return len(line) >= len(prefix) && bytes.EqualFold(line[:len(prefix)], []byte(prefix))
}
