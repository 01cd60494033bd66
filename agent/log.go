package agent

import "log/slog"

type logger = *slog.Logger

// newLogger names the session in each record.
func newLogger(l *slog.Logger, session string) logger {
	if l == nil {
		l = slog.New(slog.DiscardHandler)
	}
	return l.With("session", session)
}
