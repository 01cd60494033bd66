package tool

import (
	"context"
	"errors"
	"fmt"
	"strings"
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
		Name: "remember", Set: "session", Kind: "other",
		Schema:   new(rememberInput).fields().schema(),
		Describe: only("Remember", "text"),
		Run:      s.runRemember,
	}
}

func (s *set) runRemember(ctx context.Context, c Call) (string, error) {
	var in rememberInput
	if err := in.fields().decode(c.Input); err != nil {
		return "", err
	}
	text := strings.TrimSpace(in.text)
	if text == "" {
		return "", errors.New("text is empty: say what to remember")
	}
	total, added, err := s.Notes.Remember(ctx, in.kind, text)
	switch {
	case err != nil:
		return "", fmt.Errorf("remembering: %w", err)
	case !added:
		return "Already recorded: " + text, nil
	}
	return fmt.Sprintf("Remembered (%s, %d stored): %s", in.kind, total, text), nil
}
