package permission

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// expression looks for what bash evaluates beyond the grammar: subscripts in
// strings, prompts in variables, arithmetic that assigns.
func (r *reader) expression(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.ParamExp:
		r.expansion(n)
	case *syntax.BinaryArithm:
		if name, ok := n.X.(*syntax.Word); ok && n.Op.String() != "==" && strings.HasSuffix(n.Op.String(), "=") {
			r.set(name.Lit(), Word{})
		}
	case *syntax.LetClause, *syntax.CoprocClause:
		// The parser takes another part of these for the command than bash.
		r.opaque(slice(r.src, n))
		r.hide(slice(r.src, n))
	case *syntax.ArithmCmd, *syntax.ArithmExp, *syntax.TestClause:
		if src := slice(r.src, n); strings.ContainsAny(src, `'\`) && subscripted(src) {
			r.opaque("a command in an arithmetic expression")
			r.hide(src)
		}
	}
}

func (r *reader) expansion(n *syntax.ParamExp) {
	if n.Index != nil || n.Slice != nil {
		if src := slice(r.src, n); strings.ContainsAny(src, `'\`) && strings.ContainsAny(src, "$`") && subscripted(src) {
			r.opaque("a command in a subscript")
			r.hide(src)
		}
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

// subscripted reports whether evaluating the text as a number would run a
// command: bash expands what stands in the brackets of a name.
func subscripted(s string) bool {
	i := strings.IndexByte(s, '[')
	return i >= 0 && (strings.Contains(s[i:], "$(") || strings.Contains(s[i:], "`"))
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
