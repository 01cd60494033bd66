package tool

import (
	"context"
	"errors"
)

type rememberInput struct{ kind, text string }

func (in *rememberInput) fields() inputs {
	return inputs{
		{name: "kind", into: &in.kind, required: true, enum: []string{"fact", "decision", "gotcha", "command"}},
		{name: "text", into: &in.text, required: true},
	}
}

func (s *set) remember() Tool {
	return Tool{
		Name: "remember", Set: "session", Kind: "other", Mutates: true, // so that calls run in order
		input:    blank[rememberInput],
		Describe: only("Remember", "text"),
		Run:      s.runRemember,
	}
}

func (s *set) runRemember(_ context.Context, c Call) (string, error) {
	var in rememberInput
	if err := in.fields().decode(c.Input); err != nil {
		return "", err
	}
	if s.mask.hide(in.text) != in.text {
		return "", errors.New("not stored: the text holds a secret, and notes are kept on disk. Say where it is found instead")
	}
	return s.Notes.Remember(in.kind, in.text)
}
