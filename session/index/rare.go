package index

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/abidehub/abide/session/search"
)

// A sample is of a few passages beside each other, at places all over the index.
const (
	samplePlaces = 256
	sampleBeside = 8
	sampleText   = 1000 // characters of each
)

// fewest is how many runs of a part are looked for at least: what one passage of a thousand has
// can be missing from the sample.
const fewest = 3

// considered is among how many of the rarest runs of a part is chosen.
const considered = 16

// sample tells which runs of three characters are rare.
type sample struct {
	last int64  // the highest id when it was taken
	text string // the folded passages, a zero byte after each
	seed maphash.Seed
	// counts are how many of the passages have the runs with a hash.
	counts [1 << 16]uint32
}

// has returns how many of the passages have a run, or a few more.
func (s *sample) has(run string) int { return int(*s.count(run)) }

func (s *sample) count(run string) *uint32 {
	return &s.counts[maphash.String(s.seed, run)%uint64(len(s.counts))]
}

// takeSample reads a sample of an index whose highest id is last.
func takeSample(ctx context.Context, db *sql.DB, last int64) (*sample, error) {
	s := &sample{last: last, seed: maphash.MakeSeed()}
	var text strings.Builder
	for place := range int64(samplePlaces) {
		passages, err := passagesAt(ctx, db, 1+place*last/samplePlaces)
		if err != nil {
			return nil, fmt.Errorf("sample the search index: %w", err)
		}
		for _, p := range passages {
			for _, r := range runsOf(p) {
				*s.count(r.text)++
			}
			text.WriteString(p + "\x00")
		}
	}
	s.text = text.String()
	return s, nil
}

func passagesAt(ctx context.Context, db *sql.DB, id int64) (folded []string, err error) {
	rows, err := db.QueryContext(ctx, "select substr(text, 1, ?) from passages where id >= ? order by id limit ?", sampleText, id, sampleBeside)
	if err != nil {
		return nil, err
	}
	defer rows.Close() // its error is Err's
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		folded = append(folded, strings.ReplaceAll(search.Fold(text), "\x00", " "))
	}
	return folded, rows.Err()
}

// run is one of three characters. It has its first place in a text, in bytes and in characters.
type run struct {
	text     string
	byte, at int
	times    int // that it is in the text
}

// runsOf returns the runs of a text, each once.
func runsOf(text string) (runs []run) {
	seen := map[string]int{}
	var starts []int
	for start := range text {
		starts = append(starts, start)
	}
	starts = append(starts, len(text))
	for at := range max(0, len(starts)-gram) {
		r := text[starts[at]:starts[at+gram]]
		if n, again := seen[r]; again {
			runs[n].times++
			continue
		}
		seen[r] = len(runs)
		runs = append(runs, run{r, starts[at], at, 1})
	}
	return runs
}

// rarest returns a few of the runs of a part, the rarest first: at every place of the sample
// with all of them is the part.
func (s *sample) rarest(part string, runs []run) []run {
	slices.SortStableFunc(runs, func(a, b run) int { return cmp.Compare(s.has(a.text), s.has(b.text)) })
	runs = runs[:min(len(runs), considered)]
	first := runs[0]
	var spots []int // where the first is and not the part
	for at := 0; ; {
		next := strings.Index(s.text[at:], first.text)
		if next < 0 {
			break
		}
		at += next
		if begin := at - first.byte; begin < 0 || !strings.HasPrefix(s.text[begin:], part) {
			spots = append(spots, at)
		}
		at++
	}
	for n := 1; n < len(runs); n++ {
		if len(spots) == 0 && n >= fewest {
			return runs[:n]
		}
		best, least := n, len(spots)+1
		for i, r := range runs[n:] {
			left := 0
			for _, spot := range spots {
				if s.isNear(r, first, spot) {
					left++
				}
			}
			if left < least {
				best, least = n+i, left
			}
		}
		r := runs[best]
		copy(runs[n+1:best+1], runs[n:best])
		runs[n] = r
		spots = slices.DeleteFunc(spots, func(spot int) bool { return !s.isNear(r, first, spot) })
	}
	return runs
}

// isNear reports whether a run is as near to a place of the first as in their part, before it or
// after it.
func (s *sample) isNear(r, first run, place int) bool {
	far := max(r.byte-first.byte, first.byte-r.byte)
	return strings.Contains(s.text[max(0, place-far):min(len(s.text), place+far+len(r.text))], r.text)
}

// expression is what FTS5 looks for to find passages that may have all parts. FTS5 reads every
// place of each run that it is given. It is given few and rare ones of a part, near each other.
func (s *sample) expression(parts []string) string {
	type one struct {
		text string
		has  int
	}
	all := make([]one, len(parts))
	for i, part := range parts {
		if all[i].text = quoted(part); s == nil {
			continue
		}
		// That something is near says nothing of how often it is there.
		runs := slices.DeleteFunc(runsOf(part), func(r run) bool { return r.times > 1 })
		if len(runs) == 0 {
			continue
		}
		few := s.rarest(part, runs)
		all[i].has = s.has(few[0].text)
		if len(few) == utf8.RuneCountInString(part)-gram+1 {
			continue
		}
		var b strings.Builder
		first, last := few[0].at, few[0].at
		for _, r := range few {
			b.WriteString(quoted(r.text) + " ")
			first, last = min(first, r.at), max(last, r.at)
		}
		all[i].text = fmt.Sprintf("NEAR(%s, %d)", b.String(), max(0, last-first-1))
	}
	// The first leads: the others are looked for where it is.
	slices.SortStableFunc(all, func(a, b one) int { return cmp.Compare(a.has, b.has) })
	texts := make([]string, len(all))
	for i, of := range all {
		texts[i] = of.text
	}
	return strings.Join(texts, " AND ")
}

// quoted is a text as FTS5 takes it.
func quoted(text string) string { return `"` + strings.ReplaceAll(text, `"`, `""`) + `"` }
