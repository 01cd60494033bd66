package permission

import "strings"

// find reads the tests and actions of find: the commands it starts, the files
// it writes, and whether it deletes without a condition.
func (r *reader) find(i int, words []Word) {
	tests := findTests{{}}
	for j := 1; j < len(words); j++ {
		tests.word(words, j)
		switch words[j].Text {
		case "-exec", "-execdir", "-ok", "-okdir":
			end := j + 1
			for end < len(words) && words[end].Text != ";" && (words[end].Text != "+" || words[end-1].Text != "{}") {
				end++
			}
			if end > j+1 {
				r.started(words[j+1:end:end], nil)
			}
			j = end
		case "-delete":
			c := &r.out.Commands[i]
			c.deletes = c.deletes || !tests.narrow()
		case "-fprint", "-fprint0", "-fprintf", "-fls":
			if j+1 < len(words) {
				r.file(words[j+1], true)
			}
		}
	}
}

// findTests follows an expression of find, one level for each open bracket.
type findTests []findLevel

type findLevel struct {
	narrow bool // a test of the current branch leaves out most files
	wide   bool // another branch leaves out none
	not    bool // the next test is turned around
	turned bool // the whole level is
}

func (t *findTests) word(words []Word, j int) {
	level := &(*t)[len(*t)-1]
	switch text := words[j].Text; text {
	case "(":
		*t = append(*t, findLevel{turned: level.not})
		level.not = false
	case ")":
		if len(*t) > 1 {
			*t = (*t)[:len(*t)-1]
			(*t)[len(*t)-1].narrow = (*t)[len(*t)-1].narrow || level.narrow && !level.wide && !level.turned
		}
	case "!", "-not":
		level.not = !level.not
	case "-o", "-or", ",":
		level.wide, level.narrow = level.wide || !level.narrow, false
	case "-name", "-iname", "-path", "-ipath", "-wholename", "-regex", "-iregex":
		narrows := j+1 < len(words) && strings.Trim(words[j+1].Text, "*./") != ""
		level.narrow, level.not = level.narrow || narrows && !level.not, false
	case "-empty":
		level.narrow, level.not = level.narrow || !level.not, false
	default:
		if words[j].option() != "" {
			level.not = false
		}
	}
}

// narrow reports whether what comes next is done to some files only.
func (t findTests) narrow() bool {
	turned := false
	for _, level := range t {
		if turned = turned || level.turned; level.narrow && !turned {
			return true
		}
	}
	return false
}
