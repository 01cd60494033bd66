package tool

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

type forgetInput struct{ text string }

func (in *forgetInput) fields() inputs {
	return inputs{{name: "text", into: &in.text, required: true}}
}

func (s *set) forget() Tool {
	return Tool{
		Name: "forget", Set: "session", Kind: "other",
		Schema:   new(forgetInput).fields().schema(),
		Describe: only("Forget", "text"),
		Run:      s.runForget,
	}
}

// runForget never passes on an empty text, which every note contains.
func (s *set) runForget(ctx context.Context, c Call) (string, error) {
	var in forgetInput
	if err := in.fields().decode(c.Input); err != nil {
		return "", err
	}
	text := strings.TrimSpace(in.text)
	if text == "" {
		return "", errors.New("text is empty, which every note contains: give words of the notes to forget")
	}
	switch n, err := s.Notes.Forget(ctx, text); {
	case err != nil:
		return "", fmt.Errorf("forgetting: %w", err)
	case n == 0:
		return fmt.Sprintf("No memory matches %q.", text), nil
	case n == 1:
		return "Forgot 1 memory.", nil
	default:
		return fmt.Sprintf("Forgot %d memories.", n), nil
	}
}
