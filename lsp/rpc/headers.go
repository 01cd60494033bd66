package rpc

import (
	"bufio"
	"bytes"
	"fmt"
	"strconv"
)

// fieldSize is more than a Content-Length header takes.
const fieldSize = 64

// headerFrame returns the body that follows the next good header block.
func (r *reader) headerFrame() ([]byte, error) {
	for {
		n, err := r.header()
		if err != nil {
			return nil, err
		}
		if n <= maxFrame {
			return r.body(int(n))
		}
		// The body is not counted off but skipped as noise: a length this large
		// may be a lie, and then the next message is still found.
		r.refuse(tooLarge(n))
		r.lost = true
	}
}

// block is what a header block has said so far.
type block struct {
	size   int    // in bytes
	fields bool   // it has a line that looks like a header
	length int64  // -1 when not given
	fault  string // why it is refused
}

// header reads up to the end of a header block and returns its length.
//
// After a wrong length the next header is glued to the rest of a body, which does
// not end in a line end. Content-Length is therefore found anywhere in a line, and
// it is what gets a lost stream back in step.
func (r *reader) header() (int64, error) {
	b := block{length: -1}
	for {
		line, size, err := r.line()
		if err != nil && err != bufio.ErrBufferFull {
			if b.size+size > 0 && !r.lost {
				err = cut(err)
			}
			return 0, err
		}
		b.size += size
		var length lengthField
		whole := err == nil
		if whole {
			length = findLength(line)
		}
		if length.found {
			if r.lost {
				r.lost, b = false, block{length: -1}
			}
			b.add(length)
		} else if r.lost {
			continue
		} else if whole && len(line) == 0 {
			if b.fault == "" && b.length >= 0 {
				return b.length, nil
			}
			r.giveUp(b)
			b = block{length: -1}
		} else if line[0] == '{' && b.size == size {
			r.log.Warn("peer sends bare JSON, but this door takes Content-Length headers")
			r.refuse(parseError("message without Content-Length header"))
			r.lost = true
		} else {
			b.fields = b.fields || isField(line)
			r.checkCharset(line)
		}
		if b.size >= maxHeader && !r.lost {
			b.fault = fmt.Sprintf("header block exceeds %d bytes", maxHeader)
			r.giveUp(b)
		}
	}
}

// giveUp refuses a header block, unless it was only noise.
func (r *reader) giveUp(b block) {
	if b.fault == "" && b.fields {
		b.fault = "Content-Length is missing"
	}
	if b.fault != "" {
		r.refuse(invalidRequest(b.fault))
		r.lost = true
	}
}

// line returns the next line, trimmed, and the bytes it took; or, with
// bufio.ErrBufferFull, the next stretch of one too long for the buffer. The last
// stretch starts with the end of the one before, so that a header glued to a long
// line is seen whole.
func (r *reader) line() (line []byte, size int, err error) {
	line, err = r.in.ReadSlice('\n')
	size = len(line)
	if err == bufio.ErrBufferFull {
		r.tail = append(r.tail[:0], line[size-fieldSize:]...)
		return line, size, err
	}
	if len(r.tail) > 0 {
		line = append(r.tail, line...)
		r.tail = r.tail[:0]
	}
	return bytes.Trim(line, " \t\r\n"), size, err
}

// lengthField is a Content-Length header found in a line.
type lengthField struct {
	found bool
	value []byte
	glued bool // other text stands before it
}

// findLength finds the last Content-Length in a line.
func findLength(line []byte) lengthField {
	const name = "content-length"
	for i := len(line) - len(name); i >= 0; i-- {
		if line[i]|0x20 != 'c' || !hasPrefixFold(line[i:], name) || i > 0 && line[i-1] == '-' {
			continue
		}
		value, ok := bytes.CutPrefix(bytes.TrimLeft(line[i+len(name):], " \t"), []byte(":"))
		if ok {
			return lengthField{true, bytes.TrimSpace(value), len(bytes.Trim(line[:i], "\uFEFF")) > 0}
		}
	}
	return lengthField{}
}

// add notes a Content-Length. One glued to other text counts only if it is a number.
func (b *block) add(f lengthField) {
	b.fields = true
	n, err := strconv.ParseUint(string(f.value), 10, 63)
	switch {
	case err != nil && f.glued:
	case err != nil:
		b.fault = fmt.Sprintf("Content-Length is not a number: %.40q", f.value)
	case b.length >= 0 && b.length != int64(n):
		b.fault = "Content-Length headers differ"
	default:
		b.length = int64(n)
	}
}

// isField tells a header from noise such as log lines.
func isField(line []byte) bool {
	name, _, ok := bytes.Cut(line, []byte(":"))
	name = bytes.TrimRight(name, " \t")
	return ok && len(name) > 0 && bytes.IndexFunc(name, func(c rune) bool {
		return c != '-' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z')
	}) < 0
}

// checkCharset logs once that a charset is not what bodies are read as.
func (r *reader) checkCharset(line []byte) {
	if r.charset || !hasPrefixFold(line, "content-type") {
		return
	}
	_, charset, ok := bytes.Cut(bytes.ToLower(line), []byte("charset="))
	if name := string(bytes.Trim(charset, `"' `)); ok && name != "utf-8" && name != "utf8" {
		r.charset = true
		r.log.Warn("messages are read as UTF-8", "charset", name)
	}
}
