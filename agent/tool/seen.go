package tool

import "sync"

// seen remembers the hash of each file as one session's model last saw it, by
// the file's identity.
type seen struct {
	mu     sync.Mutex
	hashes map[string]string
}

func (s *seen) note(key, hash string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hashes == nil {
		s.hashes = map[string]string{}
	}
	s.hashes[key] = hash
}

// last is the hash noted for key, "" when the model has not seen the file.
func (s *seen) last(key string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hashes[key]
}
