package tool

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

type recallInput struct{ query string }

func (in *recallInput) fields() inputs {
	return inputs{{name: "query", into: &in.query, required: true}}
}

func (s *set) recall() Tool {
	return Tool{
		Name: "recall", Set: "session", Kind: "search",
		Schema:   new(recallInput).fields().schema(),
		Describe: only("Recall", "query"),
		Run:      s.runRecall,
	}
}

func (s *set) runRecall(ctx context.Context, c Call) (string, error) {
	var in recallInput
	if err := in.fields().decode(c.Input); err != nil {
		return "", err
	}
	if strings.TrimSpace(in.query) == "" {
		return "", errors.New("query is empty: give one or more words")
	}
	found, err := s.Notes.Recall(ctx, in.query)
	switch {
	case err != nil:
		return "", fmt.Errorf("recalling: %w", err)
	case len(found) == 0:
		return fmt.Sprintf("Nothing recorded about %q.", in.query), nil
	}
	return strings.Join(found, "\n"), nil
}
