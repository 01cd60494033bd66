package tool

import "context"

type forgetInput struct{ text string }

func (in *forgetInput) fields() inputs {
	return inputs{{name: "text", into: &in.text, required: true}}
}

func (s *set) forget() Tool {
	return Tool{
		Name: "forget", Set: "session", Kind: "other", Mutates: true, // so that calls run in order
		input:    blank[forgetInput],
		Describe: only("Forget", "text"),
		Run:      s.runForget,
	}
}

func (s *set) runForget(_ context.Context, c Call) (string, error) {
	var in forgetInput
	if err := in.fields().decode(c.Input); err != nil {
		return "", err
	}
	return s.Notes.Forget(in.text)
}
