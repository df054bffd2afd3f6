package backlog

import "github.com/abidehub/abide/session/event"

// cut returns the first n events of an unmerged batch.
func cut(b event.Batch, n int) event.Batch {
	if b.Count <= n {
		return b
	}
	end, taken := 0, 0
	for g := range b.Headers() {
		if taken == n {
			break
		}
		if taken > 0 {
			end++ // the comma
		}
		end += len(g.JSON)
		taken++
	}
	return event.Batch{First: b.First, Last: b.First + event.Seq(n) - 1, Count: n, JSON: b.JSON[:end:end]}
}

// join concatenates two consecutive batches.
func join(a, b event.Batch) event.Batch {
	json := make([]byte, 0, len(a.JSON)+1+len(b.JSON))
	json = append(append(append(json, a.JSON...), ','), b.JSON...)
	return event.Batch{First: a.First, Last: b.Last, Count: a.Count + b.Count, JSON: json}
}
