package tool

import (
	"os/exec"
	"strconv"
	"syscall"
)

func shell(command string) *exec.Cmd {
	cmd := exec.Command("cmd")
	// cmd reads its line itself; quoting it as an argument would change it.
	cmd.SysProcAttr = &syscall.SysProcAttr{CmdLine: "cmd /d /s /c \"" + command + "\""}
	return cmd
}

func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr.HideWindow = true
	cmd.SysProcAttr.CreationFlags = syscall.CREATE_NEW_PROCESS_GROUP
}

// interrupt does nothing: without a console there is no way to ask.
func interrupt(int) {}

// kill ends the process pid and those it started; once is enough.
func kill(pid int, _ mark, _ []int) bool {
	_ = exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(pid)).Run()
	return false
}

func ending(cmd *exec.Cmd) (code int, signal string) { return cmd.ProcessState.ExitCode(), "" }
