package rpc

import "os"

// ClaimStdout takes standard output for the protocol and points os.Stdout at
// standard error, so that no print can get between the messages. Handles are
// inherited by children only when passed to them.
//
// Call it first thing in main, once.
func ClaimStdout() (*os.File, error) {
	out := os.Stdout
	os.Stdout = os.Stderr
	return out, nil
}
