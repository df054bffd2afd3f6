package main

import (
	"strings"

	"github.com/abidehub/abide/internal/cli"
	"github.com/abidehub/abide/session/store"
)

// wholeID returns the id of the session of a data directory that a short id names: the
// beginning of an id, or of its last part. Another name is returned as it is.
func wholeID(dir, name string) (string, error) {
	ids, err := store.IDs(dir)
	if err != nil || name == "" {
		return name, nil // the command finds it itself
	}
	var found []string
	for _, id := range ids {
		if id == name {
			return name, nil
		}
		if strings.HasPrefix(id, name) || strings.HasPrefix(id[strings.LastIndexByte(id, '-')+1:], name) {
			found = append(found, id)
		}
	}
	switch len(found) {
	case 0:
		return name, nil
	case 1:
		return found[0], nil
	}
	return "", cli.Usagef("%s is short for %d sessions, such as %s and %s: name more of it", name, len(found), found[0], found[1])
}
