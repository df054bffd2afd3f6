package machines

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/abidehub/abide/session/journal"
)

// stored reports whether there may be copies.
func (s *copies) stored() bool {
	_, err := os.Lstat(s.dir)
	return err == nil
}

// dropUnknown removes the copies of machines that are not known, e.g. because home was killed
// while it removed them.
func (s *copies) dropUnknown() {
	machines, _ := os.ReadDir(s.dir) // without a directory there is none
	for _, one := range machines {
		if !one.IsDir() || !idForm.MatchString(one.Name()) {
			continue
		}
		if _, err := s.from.Machine(one.Name()); errors.Is(err, ErrUnknown) {
			s.drop(one.Name())
		}
	}
}

// prune removes the copies of a machine's sessions that its whole list does not have.
func (s *copies) prune(machine string) {
	sessions, _ := os.ReadDir(filepath.Join(s.dir, machine))
	for _, one := range sessions {
		if !one.IsDir() || !journal.ValidID(one.Name()) {
			continue
		}
		if of, _, known := s.from.Of(one.Name()); !known || of.ID != machine {
			s.forget(machine, one.Name())
		}
	}
}
