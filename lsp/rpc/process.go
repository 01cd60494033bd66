package rpc

import (
	"context"
	"time"
)

// AwaitExit returns nil within about a second after the process pid, usually the
// editor that started us, has ended. Input does not end then if some other process
// keeps the pipe open. A process that is not alive at the start, as when the editor
// counts in another pid namespace, is not waited for: then, as always when ctx ends,
// the result is ctx's error.
func AwaitExit(ctx context.Context, pid int) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for seen := alive(pid); ; {
		select {
		case <-tick.C:
			if seen && !alive(pid) {
				return nil
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
