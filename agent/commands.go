package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// ErrNoCommand is wrapped by the error of a prompt that begins with a slash and
// is no command. It is for the user and lists the commands, the nearest first.
var ErrNoCommand = errors.New("no such command")

// A command is a prompt that begins with a slash. The program answers it, in an
// item of its turn; the model never sees it, and no record holds it.
type command struct {
	name, args, help string
	run              func(ctx context.Context, s *Session, arg string) (string, error)
}

func commands() []command {
	return []command{
		{"help", "", "list these commands", help},
		{"rename", "[NAME]", "name this conversation; without a name it is called by its first prompt again", rename},
		{"fork", "[TURN]", "go on in a copy of this conversation, as it is now or was at the end of a turn", fork},
		{"notes", "", "show what is noted about the project", listNotes},
		{"memory", "[accept]", "have the model merge the notes that were never recalled", mergeNotes},
		{"todos", "", "show the task list", todos},
		{"context", "", "show what fills the model's context, and which instruction files were read", fullness},
		{"cost", "", "show the tokens and the money spent", spent},
	}
}

// slash takes a command apart. It reports false for a prompt to the model.
func slash(prompt string) (name, arg string, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(prompt), "/")
	if !ok {
		return "", "", false
	}
	name, arg = rest, ""
	if i := strings.IndexAny(rest, " \t\r\n"); i >= 0 {
		name, arg = rest[:i], strings.TrimSpace(rest[i:])
	}
	return name, arg, true
}

// checkCommand fails for a prompt that begins with a slash and is no command.
func checkCommand(prompt string) error {
	name, _, ok := slash(prompt)
	if !ok {
		return nil
	}
	var names []string
	for _, c := range commands() {
		if c.name == name {
			return nil
		}
		names = append(names, "/"+c.name)
	}
	return fmt.Errorf("%w: /%s; there are %s. A prompt to the model cannot begin with a slash", ErrNoCommand, name, joinNearest(name, names))
}

// runCommand is the turn of a command.
func (s *Session) runCommand(t *turn) error {
	name, arg, _ := slash(t.words())
	it := Item{ID: "itm_" + t.id, Turn: t.id, Kind: NoticeItem, Status: InProgress}
	s.publish(t.id, ItemStarted{it})
	var err error
	for _, c := range commands() {
		if c.name == name {
			it.Text, err = c.run(t.ctx, s, arg)
		}
	}
	it.Status = Completed
	switch {
	case t.ctx.Err() != nil:
		it.Status = Cancelled
	case err != nil:
		it.Status, it.Error = Failed, err.Error()
	}
	s.publish(t.id, ItemCompleted{it})
	return err
}

func help(context.Context, *Session, string) (string, error) {
	var b strings.Builder
	for _, c := range commands() {
		fmt.Fprintf(&b, "%-16s %s\n", strings.TrimSpace("/"+c.name+" "+c.args), c.help)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

func rename(_ context.Context, s *Session, name string) (string, error) {
	s.Rename(name)
	i := s.Info()
	if i.Record.Name == "" {
		return "The conversation is called by its first prompt: " + i.Record.Title, nil
	}
	return "The conversation is now called " + i.Record.Name, nil
}

func fork(ctx context.Context, s *Session, turn string) (string, error) {
	f, err := s.agent.Fork(ctx, s.ID, turn)
	if err != nil {
		return "", err
	}
	return "A copy of this conversation is session " + f.ID + ". Open it to go on there.", nil
}

func todos(_ context.Context, s *Session, _ string) (string, error) {
	list := s.Todo().Entries
	if len(list) == 0 {
		return "The task list is empty.", nil
	}
	lines := make([]string, len(list))
	for i, t := range list {
		lines[i] = t.Line()
	}
	return strings.Join(lines, "\n"), nil
}

func fullness(_ context.Context, s *Session, _ string) (string, error) {
	c := s.Context()
	var b strings.Builder
	fmt.Fprintf(&b, "About %d of %d tokens (%d%%): system prompt %d, tools %d, messages %d, tool output %d.\n",
		c.Tokens, c.Threshold, c.Percent, c.System, c.Tools, c.History, c.ToolOutput)
	if len(s.setup.Instructions) == 0 {
		b.WriteString("No instruction files were read.")
		return b.String(), nil
	}
	b.WriteString("Instruction files:")
	for _, i := range s.setup.Instructions {
		b.WriteString("\n" + i.Path)
	}
	return b.String(), nil
}

func spent(_ context.Context, s *Session, _ string) (string, error) {
	rec := s.Info().Record
	cost := "(" + rec.Model + " is unpriced)"
	if rec.CostUSD != nil {
		cost = "- " + dollars(*rec.CostUSD)
	}
	return fmt.Sprintf("%s: %d in / %d out tokens %s", rec.Model, rec.InputTokens, rec.OutputTokens, cost), nil
}

// dollars prints an amount as the terminal tool does.
func dollars(usd float64) string {
	if usd > 0 && usd < 0.01 {
		return fmt.Sprintf("$%.4f", usd)
	}
	return fmt.Sprintf("$%.2f", usd)
}
