package rpc

import (
	"context"
	"time"
)

// WatchExit returns a channel that is closed within about a second after the
// process pid, usually the editor that started us, has ended. Input does not end
// then if some other process keeps the pipe open. The watch ends with ctx.
//
// A process that is not alive now is not watched: the editor may count in another
// pid namespace.
func WatchExit(ctx context.Context, pid int) <-chan struct{} {
	exited := make(chan struct{})
	if !alive(pid) {
		return exited
	}
	go func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for alive(pid) {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
		close(exited)
	}()
	return exited
}
