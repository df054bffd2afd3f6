package server

import (
	"iter"

	"github.com/abidehub/abide/session/event"
)

// objects yields the JSON objects of a batch one by one, without decoding them.
// The slices share the batch's memory.
func objects(b event.Batch) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		start, depth, inString := 0, 0, false
		for i := 0; i < len(b.JSON); i++ {
			switch c := b.JSON[i]; {
			case inString && c == '\\':
				i++
			case c == '"':
				inString = !inString
			case inString:
			case c == '{' || c == '[':
				depth++
			case c == '}' || c == ']':
				depth--
				if depth > 0 {
					continue
				}
				if !yield(b.JSON[start : i+1 : i+1]) {
					return
				}
				start = i + 2 // past the comma
			}
		}
	}
}

// cut returns the first n events of a batch that is not merged.
func cut(b event.Batch, n int) event.Batch {
	if b.Count <= n {
		return b
	}
	end, taken := 0, 0
	for object := range objects(b) {
		if taken == n {
			break
		}
		if taken > 0 {
			end++ // the comma
		}
		end += len(object)
		taken++
	}
	return event.Batch{First: b.First, Last: b.First + event.Seq(n) - 1, Count: n, JSON: b.JSON[:end:end]}
}

// join returns two batches, of which the second follows the first, as one.
func join(a, b event.Batch) event.Batch {
	json := make([]byte, 0, len(a.JSON)+1+len(b.JSON))
	json = append(append(append(json, a.JSON...), ','), b.JSON...)
	return event.Batch{First: a.First, Last: b.Last, Count: a.Count + b.Count, JSON: json}
}
