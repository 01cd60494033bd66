package main

import (
	"strings"

	"shiro/agent/provider/providertest"
	wire "shiro/lsp/protocol"
)

// The project: a script with the same two digits swapped in two places, and a
// third place where they are right.
const (
	demoFile  = "temp.sh"
	demoTests = "test.sh"

	mendedText = `#!/bin/sh
# temp.sh: temperatures in whole degrees.

fahrenheit() { # from Celsius
	echo $(($1 * 9 / 5 + 32))
}

usage() {
	echo "usage: temp.sh room | fahrenheit DEGREES | celsius DEGREES" >&2
	exit 2
}

room() { # a pleasant one, in Celsius
	echo 23
}

whole() {
	case ${1#-} in
	'' | *[!0-9]*) return 1 ;;
	esac
}

celsius() { # from Fahrenheit
	echo $((($1 - 32) * 5 / 9))
}

case $1 in
room) room ;;
fahrenheit | celsius) whole "$2" && "$1" "$2" || usage ;;
*) usage ;;
esac
`

	testText = `#!/bin/sh
failed=0
check() { # WANT COMMAND...
	want=$1
	shift
	got=$(sh temp.sh "$@")
	if [ "$got" = "$want" ]; then
		echo "ok    $* is $got"
	else
		echo "FAIL  $* is $got, want $want"
		failed=$((failed + 1))
	fi
}
check 32 fahrenheit 0
check 212 fahrenheit 100
check 0 celsius 32
check 100 celsius 212
check 23 room
[ $failed = 0 ] || { echo "$failed of 5 tests failed"; exit 1; }
echo "all 5 tests passed"
`
)

func brokenText() string { return strings.ReplaceAll(mendedText, "32", "23") }

const (
	demoPrompt = "The tests fail: sh test.sh. Find out why and fix temp.sh; the tests are right. " +
		"Keep a task list, and remember what the next session should know."

	// roomLine is what the user does not let anybody change, and why.
	roomLine   = "-\techo 23"
	roomReason = "23 is right here, it is the temperature of a room"

	scriptKey       = "demo-key-of-a-scripted-model"
	scriptThreshold = 4000 // tokens; small, so that the gauge has something to show
)

// objection is the user's reason to refuse a hunk, empty for none.
func objection(h wire.Hunk) string {
	for line := range strings.Lines(h.Text) {
		if strings.TrimRight(line, "\n") == roomLine {
			return roomReason
		}
	}
	return ""
}

// demoScript is what the model answers.
func demoScript() []providertest.Step {
	type args map[string]any
	say := func(text string) providertest.Step { return providertest.Text(text).Chunk(6).Rate(100) }
	tasks := []string{"find out why the tests fail", "fix temp.sh", "test again, and note what was learnt"}
	plan := func(done int) providertest.Step {
		todos := make([]args, len(tasks))
		for i, t := range tasks {
			todos[i] = args{"content": t, "status": "pending"}
			switch {
			case i < done:
				todos[i]["status"] = "done"
			case i == done:
				todos[i]["status"] = "in_progress"
			}
		}
		return providertest.Call("todo_write", args{"todos": todos})
	}
	test := providertest.Call("bash", args{"command": "sh " + demoTests})
	return []providertest.Step{
		providertest.Reply(say("I read the script and run its tests before I change anything."), plan(0)),
		providertest.Reply(providertest.Call("read_file", args{"path": demoFile}), test),
		providertest.Reply(
			providertest.Reasoning("0 C must be 32 F and is 23: two digits are swapped.").Chunk(6).Rate(100),
			say("Water freezes at 32 degrees Fahrenheit. The script says 23: the digits are swapped, in more than one place."), plan(1),
			providertest.Call("edit_file", args{"path": demoFile, "oldString": "23", "newString": "32", "replaceAll": true}),
		),
		providertest.Reply(say("Agreed, the room keeps its 23. Now the tests again."), plan(2), test),
		providertest.Reply(
			providertest.Call("remember", args{"kind": "gotcha", "text": "temp.sh: 32 is where water freezes in Fahrenheit; the 23 in room() is a room's temperature and right."}),
			plan(3),
		),
		say("All 5 tests pass. Both conversions in temp.sh had 23 where water freezes at 32; I corrected the two lines and " +
			"left room() as it is, as you asked. The next session will know the difference."),
	}
}
