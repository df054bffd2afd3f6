package gitstate

import (
	"crypto/sha256"
	"maps"
	"sync"
)

// mostParsed bounds the configurations that are kept.
const mostParsed = 256

// parsed keeps how git read the texts of configurations, so that it is asked once for each.
type parsed struct {
	mu  sync.Mutex
	of  map[[sha256.Size]byte]map[string]string
	old []([sha256.Size]byte) // in the order in which they were read
}

func newParsed() *parsed { return &parsed{of: map[[sha256.Size]byte]map[string]string{}} }

// values returns a copy of what a text says.
func (p *parsed) values(text []byte) (map[string]string, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	found, ok := p.of[sha256.Sum256(text)]
	return maps.Clone(found), ok
}

func (p *parsed) keep(text []byte, values map[string]string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	sum := sha256.Sum256(text)
	if _, ok := p.of[sum]; ok {
		return
	}
	if p.old = append(p.old, sum); len(p.old) > mostParsed {
		delete(p.of, p.old[0])
		p.old = p.old[1:]
	}
	p.of[sum] = maps.Clone(values)
}
