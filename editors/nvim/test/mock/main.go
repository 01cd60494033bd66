// Command mock serves the scripted model of the Neovim test: one prompt that
// plans, reads, runs a check, edits and checks again, then one after a restart.
// Its first line on standard output is the base URL. When standard input ends
// it prints every request that a real model server would have refused, and ends
// with 1 if there was one.
package main

import (
	"fmt"
	"io"
	"os"

	model "shiro/agent/provider/providertest"
)

type args map[string]any

func script() []model.Step {
	check := model.Call("bash", args{"command": "sh check.sh"})
	return []model.Step{
		model.Reply(model.Reasoning("planning"), model.Call("todo_write", args{"todos": []args{
			{"content": "run the check", "status": "in_progress"}, {"content": "fix it", "status": "pending"},
		}})),
		model.Reply(model.Reasoning("look first"), model.Call("read_file", args{"path": "greet.sh"}), check),
		model.Reply(
			// Slow enough to arrive in more than one piece.
			model.Text("The word after é漢😀 is wrong, twice.").Chunk(4).Rate(50),
			model.Call("edit_file", args{"path": "greet.sh", "oldString": "goodbye", "newString": "hello", "replaceAll": true}),
		),
		check,
		model.Reply(model.Reasoning("done"), model.Say("The check passes now.")),
		model.Say("You are welcome, 漢😀."),
	}
}

func main() {
	s, err := model.Start(model.Options{Script: script(), Fallback: model.Fail(500, "the script is over")})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(s.URL())
	io.Copy(io.Discard, os.Stdin)
	s.Close()
	refused := s.Violations()
	for _, v := range refused {
		fmt.Println(v)
	}
	if len(refused) > 0 {
		os.Exit(1)
	}
}
