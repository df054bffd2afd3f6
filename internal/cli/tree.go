package cli

import (
	"github.com/abidehub/abide/server/wire"
)

// placed is a session, and how deep it stands below the one that it comes from.
type placed struct {
	wire.SessionInfo
	depth int
}

// parentOf is the session that delegated a job, or of which a session is a fork; empty if
// there is none.
func parentOf(s wire.SessionInfo) string {
	switch {
	case s.Job != nil && s.Job.DelegatedBy != "":
		return s.Job.DelegatedBy
	case s.ForkedFrom != nil:
		return s.ForkedFrom.SessionID
	}
	return ""
}

// tree puts forks and delegated jobs below their parents, where both are listed. A parent
// with all that is below it stands where the first of these stood.
func tree(sessions []wire.SessionInfo) []placed {
	listed, put := map[string]wire.SessionInfo{}, map[string]bool{}
	for _, s := range sessions {
		listed[s.SessionID] = s
	}
	below, roots := map[string][]string{}, []string(nil)
	for _, s := range sessions {
		for seen := map[string]bool{}; !put[s.SessionID]; {
			put[s.SessionID], seen[s.SessionID] = true, true
			above, has := listed[parentOf(s)]
			if !has || seen[above.SessionID] { // of a circle, which no hub makes, the last one is the root
				roots = append(roots, s.SessionID)
				break
			}
			below[above.SessionID] = append(below[above.SessionID], s.SessionID)
			s = above
		}
	}
	all := make([]placed, 0, len(sessions))
	var add func(ids []string, depth int)
	add = func(ids []string, depth int) {
		for _, id := range ids {
			all = append(all, placed{listed[id], depth})
			add(below[id], depth+1)
		}
	}
	add(roots, 0)
	return all
}
