package tool

import "context"

type recallInput struct{ query string }

func (in *recallInput) fields() inputs {
	return inputs{{name: "query", into: &in.query, required: true}}
}

func (s *set) recall() Tool {
	return Tool{
		Name: "recall", Set: "session", Kind: "search",
		input:    blank[recallInput],
		Describe: only("Recall", "query"),
		Run:      s.runRecall,
	}
}

func (s *set) runRecall(_ context.Context, c Call) (string, error) {
	var in recallInput
	if err := in.fields().decode(c.Input); err != nil {
		return "", err
	}
	return s.Notes.Recall(in.query)
}
