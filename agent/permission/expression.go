package permission

import (
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/syntax"
)

// expression looks for what bash evaluates beyond its grammar. Where it wants a
// number it takes the value of a name, takes that for an expression, and
// expands what stands in its brackets: x='a[$(touch y)]'; echo $((x)) runs
// touch. So a script that quotes such text and evaluates names is unreadable.
func (r *reader) expression(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.SglQuoted:
		r.quotes = r.quotes || expandable(n.Value)
	case *syntax.Lit:
		r.quotes = r.quotes || strings.HasSuffix(n.Value, "$") || strings.Contains(n.Value, `\$`) || strings.Contains(n.Value, "\\`")
	case *syntax.ArithmCmd, *syntax.ArithmExp, *syntax.CStyleLoop:
		r.evaluates = r.evaluates || r.names(n)
	case *syntax.TestClause:
		for _, op := range [...]string{"-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v"} {
			r.evaluates = r.evaluates || strings.Contains(slice(r.src, n), op)
		}
	case *syntax.BinaryArithm:
		if name, ok := n.X.(*syntax.Word); ok && n.Op.String() != "==" && strings.HasSuffix(n.Op.String(), "=") {
			r.set(name.Lit(), Word{})
		}
	case *syntax.ParamExp:
		r.expansion(n)
	case *syntax.LetClause, *syntax.CoprocClause:
		// The parser takes another part of these for the command than bash.
		r.opaque(slice(r.src, n))
		r.hide(slice(r.src, n))
	}
}

func (r *reader) expansion(n *syntax.ParamExp) {
	if n.Index != nil {
		r.evaluates = r.evaluates || r.names(n.Index)
	}
	if n.Slice != nil {
		r.evaluates = r.evaluates || n.Slice.Offset != nil && r.names(n.Slice.Offset) || n.Slice.Length != nil && r.names(n.Slice.Length)
	}
	if n.Excl {
		r.evaluates = true
	}
	if n.Repl != nil && n.Repl.With != nil {
		r.file(r.word(n.Repl.With), false)
	}
	if n.Exp == nil {
		return
	}
	switch n.Exp.Op {
	case syntax.OtherParamOps:
		r.opaque("a value that is expanded again: " + slice(r.src, n))
	case syntax.AssignUnset, syntax.AssignUnsetOrNull:
		if n.Param != nil {
			r.set(n.Param.Value, Word{})
		}
	}
	if n.Exp.Word != nil && n.Exp.Op < syntax.RemSmallSuffix {
		r.file(r.word(n.Exp.Word), false)
	}
}

// names reports whether an expression is more than numbers.
func (r *reader) names(n syntax.Node) bool {
	return strings.ContainsFunc(slice(r.src, n), func(c rune) bool { return c == '$' || c == '`' || c == '_' || unicode.IsLetter(c) })
}

// expandable reports whether expanding a text would run a command in it, or
// could with other text behind it.
func expandable(text string) bool {
	return strings.Contains(text, "$(") || strings.Contains(text, "`") || strings.HasSuffix(text, "$")
}

// forkBomb reports whether a function starts itself in both halves of a
// pipeline or in the background.
func forkBomb(fn *syntax.FuncDecl) bool {
	if fn.Name == nil {
		return false
	}
	found := false
	syntax.Walk(fn.Body, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Stmt:
			found = found || n.Background && calls(n, fn.Name.Value)
		case *syntax.BinaryCmd:
			found = found || n.Op == syntax.Pipe && calls(n.Y, fn.Name.Value) && calls(n.X, fn.Name.Value)
		}
		return !found
	})
	return found
}

func calls(n syntax.Node, name string) bool {
	found := false
	syntax.Walk(n, func(n syntax.Node) bool {
		if call, ok := n.(*syntax.CallExpr); ok && len(call.Args) > 0 && call.Args[0].Lit() == name {
			found = true
		}
		return !found
	})
	return found
}
