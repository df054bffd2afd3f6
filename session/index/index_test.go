package index_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/abidehub/abide/internal/tools/seed"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/index"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/list"
	"github.com/abidehub/abide/session/search"
	"github.com/abidehub/abide/session/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shelf is a store with an index behind it, a search that uses it, and one that does not.
type shelf struct {
	t       *testing.T
	dir     string
	options index.Options
	store   journal.Store
	feed    *list.ChangeFeed
	index   *index.Index
	by      *search.Sessions
	files   *search.Sessions
	stop    func()
}

func newShelf(t *testing.T) *shelf {
	dir := t.TempDir()
	st, err := store.Open(dir, store.Options{SegmentBytes: 64 << 20})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, st.Close()) })
	s := &shelf{t: t, dir: filepath.Join(dir, "derived"), store: st.Journal(), feed: list.NewChangeFeed()}
	s.options = index.Options{Store: s.store, Dir: s.dir, Most: 64, Settle: time.Millisecond, Retry: 20 * time.Millisecond}
	s.files = search.NewSessions(search.Options{Store: s.store})
	t.Cleanup(func() { s.halt() })
	return s
}

// start runs an index, in place of the one before.
func (s *shelf) start() {
	s.halt()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	x := index.New(s.options)
	go func() {
		x.Run(ctx, s.feed)
		close(ended)
	}()
	s.stop = func() { cancel(); <-ended }
	s.index = x
	s.by = search.NewSessions(search.Options{Store: s.store, Index: x})
}

func (s *shelf) halt() {
	if s.stop != nil {
		s.stop()
		s.stop = nil
	}
}

const patience = time.Minute

// settled waits until the index has everything.
func (s *shelf) settled() {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		var sources []search.Source
		for md := range s.store.Newest(journal.Place{}) {
			sources = append(sources, search.SourceOf(s.store, md))
		}
		ctx, cancel := context.WithTimeout(s.t.Context(), time.Second)
		defer cancel()
		s.index.CatchUp(ctx, sources)
		p := s.index.Progress()
		return p.Behind == 0 && p.Sessions == len(sources) && p.Problem == ""
	}, patience, 5*time.Millisecond, "%+v", s.index.Progress())
}

func (s *shelf) session() journal.Log {
	s.t.Helper()
	id, err := s.store.Create(s.t.Context(), event.SessionStart{Agent: "demo", Workspace: "/w"})
	require.NoError(s.t, err)
	lease, err := s.store.Lease(s.t.Context(), id)
	require.NoError(s.t, err)
	log, err := lease.Log(s.t.Context())
	require.NoError(s.t, err)
	s.feed.Add(id)
	return log
}

func (s *shelf) append(log journal.Log, list ...event.Payload) {
	s.t.Helper()
	for _, p := range list {
		draft, err := event.NewDraft(p, 1, time.Now())
		require.NoError(s.t, err)
		_, _, err = log.Append(s.t.Context(), 0, draft)
		require.NoError(s.t, err)
	}
	s.feed.Touch(log.ID())
}

// all are the hits of a whole search, in the order of their sessions and seqs.
func all(t *testing.T, by *search.Sessions, r search.Request) []search.Hit {
	t.Helper()
	var hits []search.Hit
	for calls := 0; ; calls++ {
		require.Less(t, calls, 1000, "a search comes to its end")
		page, err := by.Find(t.Context(), r)
		require.NoError(t, err)
		require.LessOrEqual(t, len(page.Hits), r.Limit)
		hits = append(hits, page.Hits...)
		if r.Cursor = page.NextCursor; r.Cursor == "" {
			break
		}
	}
	slices.SortFunc(hits, func(a, b search.Hit) int {
		return cmp.Or(cmp.Compare(a.SessionID, b.SessionID), cmp.Compare(a.Seq, b.Seq))
	})
	return hits
}

// author draws what is said: few words, so that each occurs often.
type author struct{ *rand.Rand }

func (a author) word() string {
	words := strings.Fields("store Store restore storeroom café Cafe\u0301 世界 世 **bold** `code` straße STRASSE a_b a ſ K \u212a 😀 \\n \" zero\x00byte x")
	return words[a.IntN(len(words))]
}

func (a author) words(n int) string {
	var text strings.Builder
	for range 1 + a.IntN(n) {
		text.WriteString(a.word())
		text.WriteString([]string{" ", " ", "", "\n"}[a.IntN(4)])
	}
	return text.String()
}

func (a author) payload() event.Payload {
	switch a.IntN(9) {
	case 0:
		return event.UserPrompt{PromptID: "p", Text: event.Text(a.words(9)), Actor: []string{"ann", "bob"}[a.IntN(2)], ByID: "id"}
	case 1:
		command, err := json.Marshal(map[string]string{"command": a.words(3)})
		if err != nil {
			panic(err)
		}
		return event.ToolCall{ToolCallFields: event.ToolCallFields{ToolCallID: "t", Title: a.words(4), RawInput: command}}
	case 2:
		return event.ToolCallUpdate{ToolCallFields: event.ToolCallFields{ToolCallID: "t", Status: event.ToolCompleted}}
	case 3:
		return event.AgentThought{Text: event.Text(a.words(5))}
	default:
		return event.AgentMessage{MessageID: []string{"m", "m", "m", "n", ""}[a.IntN(5)], Text: event.Text(a.words(6))}
	}
}

func (a author) query() string {
	var words []string
	for range 1 + a.IntN(3) {
		word := []rune(strings.NewReplacer(`"`, "", "\x00", "", `\n`, "").Replace(a.word()))
		if len(word) == 0 {
			continue
		}
		from := a.IntN(len(word))
		word = word[from : from+1+a.IntN(len(word)-from)]
		words = append(words, string(word))
	}
	text := strings.Join(words, " ")
	if a.IntN(3) == 0 {
		text = `"` + text + `"`
	}
	if strings.Trim(text, "*`\" ") == "" {
		return "store"
	}
	return text
}

func (a author) filter() (f search.Filter) {
	switch a.IntN(6) {
	case 0:
		f.Kind = search.Kind(search.Kind("").Values()[a.IntN(3)])
	case 1:
		f.By = "ann"
	case 2:
		f.From = time.Now().Add(-time.Duration(a.IntN(50)) * time.Millisecond)
	case 3:
		f.To = time.Now().Add(-time.Duration(a.IntN(50)) * time.Millisecond)
	}
	return f
}

// Whatever was said, and whatever became of the index, a search finds with it what it finds in
// the files.
func TestASearchFindsByTheIndexWhatItFindsInTheFiles(t *testing.T) {
	first := seed.Of(t)
	found := 0
	for n := range uint64(3) {
		a := author{rand.New(rand.NewPCG(first, n))}
		s := newShelf(t)
		s.start()
		var logs []journal.Log
		for round := range 12 {
			for range 1 + a.IntN(60) {
				if len(logs) == 0 || a.IntN(15) == 0 {
					logs = append(logs, s.session())
				}
				s.append(logs[a.IntN(len(logs))], a.payload())
			}
			switch a.IntN(6) {
			case 0:
				s.start() // another run
			case 1:
				s.halt()
				require.NoError(t, os.RemoveAll(s.dir))
				s.start()
			case 2:
				if len(logs) > 1 {
					require.NoError(t, s.store.Delete(t.Context(), logs[0].ID()))
					s.feed.Remove(logs[0].ID())
					logs = logs[1:]
				}
			}
			s.settled()
			for range 8 {
				r := search.Request{Text: a.query(), Filter: a.filter(), Limit: 1 + a.IntN(30)}
				want, got := all(t, s.files, r), all(t, s.by, r)
				require.Equal(t, want, got, "seed %d, round %d, %q %+v", n, round, r.Text, r.Filter)
				found += len(want)
			}
		}
		s.halt()
	}
	require.Greater(t, found, 1000)
}

// The index looks for a few runs of a word or phrase, near each other. It finds what has all of
// it, wherever that stands, also of few syllables and of the same again and again.
func TestAPartOfTheSameSyllablesIsFound(t *testing.T) {
	a := author{rand.New(rand.NewPCG(seed.Of(t), 9))}
	s := newShelf(t)
	s.start()
	log := s.session()
	syllables := strings.Fields("ab ba an na é 世界 a_b ab")
	var texts []string
	for range 400 {
		var text strings.Builder
		for range 4 + a.IntN(40) {
			text.WriteString(syllables[a.IntN(len(syllables))])
			text.WriteString([]string{"", "", "", " "}[a.IntN(4)])
		}
		texts = append(texts, text.String())
		s.append(log, event.AgentMessage{MessageID: fmt.Sprint(len(texts)), Text: event.Text(text.String())})
	}
	s.settled()
	found := 0
	for range 150 {
		from := []rune(texts[a.IntN(len(texts))])
		at := a.IntN(len(from) - 3)
		text := strings.TrimSpace(string(from[at:min(len(from), at+3+a.IntN(14))]))
		if a.IntN(2) == 0 && text != "" {
			text = `"` + text + `"`
		}
		if text == "" {
			continue
		}
		r := search.Request{Text: text, Limit: 1000}
		want := all(t, s.files, r)
		require.Equal(t, want, all(t, s.by, r), text)
		found += len(want)
	}
	require.Greater(t, found, 1000)
}

// What the sample of the index does not have makes its choice of runs a bad one, and hides nothing.
func TestAWordThatTheSampleDoesNotHaveIsFoundAmongMany(t *testing.T) {
	s := newShelf(t)
	s.options.Most = 0
	s.start()
	log := s.session()
	far := strings.Repeat("hay ", 600) // beyond what a sample reads of a text
	var said []event.Payload
	for n := range 1500 {
		text := far + "kilolaba"
		if n%400 == 5 {
			text = far + "kilolima"
		}
		said = append(said, event.AgentMessage{MessageID: fmt.Sprint(n), Text: event.Text(text)})
	}
	s.append(log, said...)
	s.settled()
	r := search.Request{Text: "kilolima", Limit: 100}
	want := all(t, s.files, r)
	require.Len(t, want, 4)
	require.Equal(t, want, all(t, s.by, r))
}

// What the index does not have yet is found in the files: once, and also on the pages after the
// index has come to it.
func TestWhatTheIndexDoesNotHaveYetIsFoundInTheFiles(t *testing.T) {
	s := newShelf(t)
	s.start()
	var logs []journal.Log
	prompt := func(n int) event.Payload {
		return event.UserPrompt{PromptID: "p", Text: event.Text(fmt.Sprintf("needle %d", n))}
	}
	for n := range 5 {
		log := s.session()
		logs = append(logs, log)
		s.append(log, prompt(n), prompt(n+10))
	}
	s.settled()
	s.halt() // nothing is read from here on
	for n, log := range logs {
		s.append(log, prompt(n+20))
	}
	s.append(s.session(), prompt(30))
	r := search.Request{Text: "needle", Limit: 4}
	want := all(t, s.files, search.Request{Text: "needle", Limit: 100})
	require.Len(t, want, 16)
	require.Equal(t, want, all(t, s.by, r), "without a database")
	s.start()
	s.settled()
	require.Equal(t, want, all(t, s.by, r))

	page, err := s.by.Find(t.Context(), r)
	require.NoError(t, err)
	hits := page.Hits
	for n, log := range logs {
		s.append(log, prompt(n+40)) // after the search began
	}
	s.settled()
	r.Cursor = page.NextCursor
	hits = append(hits, all(t, s.by, r)...)
	seen := map[string]int{}
	for _, h := range hits {
		seen[fmt.Sprint(h.SessionID, h.Seq)]++
	}
	for _, h := range want {
		require.Equal(t, 1, seen[fmt.Sprint(h.SessionID, h.Seq)], "%+v", h)
	}
}

// A search that goes on looks below its mark, and in the files for what came above it.
func TestWhatIsReadAfterAMarkIsNotCoveredByIt(t *testing.T) {
	s := newShelf(t)
	first := s.session()
	s.append(first, event.UserPrompt{PromptID: "p", Text: "needle"})
	s.start()
	s.settled()
	mark := s.index.Mark()
	before, listed := s.store.Listed(first.ID())
	require.True(t, listed)
	s.append(first, event.UserPrompt{PromptID: "p", Text: "another needle"})
	second := s.session()
	s.append(second, event.UserPrompt{PromptID: "p", Text: "needle"})
	s.settled()
	for id, want := range map[string]event.Seq{first.ID(): before.MaxSeq, second.ID(): 0} {
		md, _ := s.store.Listed(id)
		covered, err := s.index.Covered(t.Context(), search.SourceOf(s.store, md), mark)
		require.NoError(t, err)
		require.Equal(t, want, covered)
		now, err := s.index.Covered(t.Context(), search.SourceOf(s.store, md), s.index.Mark())
		require.NoError(t, err)
		require.Equal(t, md.MaxSeq, now)
		md.Epoch = "of another log"
		covered, err = s.index.Covered(t.Context(), search.SourceOf(s.store, md), s.index.Mark())
		require.NoError(t, err)
		require.Zero(t, covered)
	}
}

func TestAnIndexThatIsDamagedOrOfAnotherVersionIsMadeAgain(t *testing.T) {
	s := newShelf(t)
	log := s.session()
	for n := range 200 {
		s.append(log, event.UserPrompt{PromptID: "p", Text: event.Text(fmt.Sprintf("needle %d", n))})
	}
	s.start()
	s.settled()
	r := search.Request{Text: "needle", Limit: 100}
	want := all(t, s.files, r)
	require.Len(t, want, 200)
	path := filepath.Join(s.dir, "search.db")
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		info, err := os.Stat(name)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), name)
	}
	for about, damage := range map[string]func([]byte) []byte{
		"no database": func([]byte) []byte {
			return []byte("this is no database, but a text that is long enough to be read as one")
		},
		"empty":           func([]byte) []byte { return nil },
		"half":            func(data []byte) []byte { return data[:len(data)/2] },
		"other version":   func(data []byte) []byte { data[63]++; return data },
		"zeros":           func(data []byte) []byte { clear(data[8192:]); return data },
		"noise in tables": func(data []byte) []byte { return noisy(data) },
	} {
		t.Run(about, func(t *testing.T) {
			s.t = t
			s.halt()
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Greater(t, len(data), 3*8192)
			require.NoError(t, os.WriteFile(path, damage(data), 0o600))
			s.start()
			require.Eventually(t, func() bool { return len(all(t, s.by, r)) == 200 }, patience, 5*time.Millisecond)
			require.Equal(t, want, all(t, s.by, r))
			s.append(log, event.AgentThought{Text: "not searched"})
			s.settled()
			require.Equal(t, want, all(t, s.by, r))
		})
	}
}

// noisy changes bytes behind the first pages.
func noisy(data []byte) []byte {
	r := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		data[8192+r.IntN(len(data)-8192)] ^= byte(1 + r.IntN(255))
	}
	return data
}

func TestWithoutAPlaceForTheIndexTheFilesAreSearched(t *testing.T) {
	s := newShelf(t)
	log := s.session()
	s.append(log, event.UserPrompt{PromptID: "p", Text: "needle"})
	require.NoError(t, os.WriteFile(s.dir, nil, 0o600)) // a file is where the directory is to be
	s.start()
	r := search.Request{Text: "needle", Limit: 5}
	require.Len(t, all(t, s.by, r), 1)
	require.Eventually(t, func() bool { return s.index.Progress().Problem != "" }, patience, 5*time.Millisecond)
	require.Len(t, all(t, s.by, r), 1)
	require.NoError(t, os.Remove(s.dir))
	s.settled()
	require.Len(t, all(t, s.by, r), 1)
	require.FileExists(t, filepath.Join(s.dir, "search.db"))
}

func TestASessionThatWasPutAwayLeavesTheIndexAndComesBack(t *testing.T) {
	s := newShelf(t)
	log := s.session()
	s.append(log, event.UserPrompt{PromptID: "p", Text: "a secret needle"})
	s.start()
	s.settled()
	require.NoError(t, s.store.Trash(t.Context(), log.ID()))
	s.feed.Remove(log.ID())
	r := search.Request{Text: "needle", Limit: 5}
	require.Empty(t, all(t, s.by, r))
	s.settled()
	s.halt()
	data, err := os.ReadFile(filepath.Join(s.dir, "search.db"))
	require.NoError(t, err)
	require.NotContains(t, string(data), "secret needle", "its text is gone from the file")
	s.start()
	require.NoError(t, s.store.Restore(t.Context(), log.ID()))
	s.feed.Add(log.ID())
	s.settled()
	require.Len(t, all(t, s.by, r), 1)
}

// Whatever becomes of its files while the hub runs, the index is made again by itself, and
// health says so from the first look on.
func TestAnIndexWhoseFilesAreTakenAwayUnderItIsMadeAgain(t *testing.T) {
	s := newShelf(t)
	s.options.Settle = time.Hour // only what notices wakes it
	var logs []journal.Log
	for n := range 3 {
		logs = append(logs, s.session())
		s.append(logs[n], event.UserPrompt{PromptID: "p", Text: "needle"})
	}
	s.start()
	s.settled()
	r := search.Request{Text: "needle", Limit: 100}
	path := filepath.Join(s.dir, "search.db")
	said := 3
	for _, take := range map[string]func(){
		"the directory": func() { require.NoError(t, os.RemoveAll(s.dir)) },
		"the file":      func() { require.NoError(t, os.Remove(path)) },
		"replaced": func() {
			require.NoError(t, os.Rename(path, path+".old"))
			require.NoError(t, os.WriteFile(path, nil, 0o600))
		},
	} {
		take()
		p := s.index.Progress()
		require.Equal(t, "its files were removed or replaced", p.Again)
		require.Eventually(t, func() bool {
			p := s.index.Progress()
			return p == index.Progress{Sessions: 3}
		}, patience, time.Millisecond, "without a search, and without news")
		require.Equal(t, all(t, s.files, r), all(t, s.by, r))

		take()
		require.Len(t, all(t, s.by, r), said, "a search notices it, too")
		require.Eventually(t, func() bool { _, err := os.Stat(path); return err == nil }, patience, time.Millisecond)
		s.settled()

		take()
		s.append(logs[0], event.UserPrompt{PromptID: "p", Text: "needle"})
		said++
		s.settled()
		require.Len(t, all(t, s.by, r), said)
	}
}

// A full disk stops the index, and nothing else: health says so, a search reads the files, and
// with space again nothing is missing or there twice.
func TestAFullDiskStopsOnlyTheIndex(t *testing.T) {
	s := newShelf(t)
	log := s.session()
	say := func(n int) {
		s.append(log, event.UserPrompt{PromptID: "p", Text: event.Text(fmt.Sprint("needle ", n, strings.Repeat(" hay", 1000)))})
	}
	say(0)
	s.start()
	s.settled()
	s.index.LimitPages(1) // fewer than it has: it cannot grow
	for n := range 200 {
		say(n)
	}
	require.Eventually(t, func() bool { return strings.Contains(s.index.Progress().Problem, "full") }, patience, time.Millisecond)
	r := search.Request{Text: "needle", Limit: 100}
	want := all(t, s.files, r)
	require.Len(t, want, 201)
	require.Equal(t, want, all(t, s.by, r))
	s.index.LimitPages(1 << 30)
	s.settled()
	require.Equal(t, want, all(t, s.by, r))
	require.Equal(t, index.Progress{Sessions: 1}, s.index.Progress())
}

// The order of hits is one of what was said, not of when the index read it.
func TestHitsKeepTheirOrderWhenTheIndexIsMadeAgain(t *testing.T) {
	s := newShelf(t)
	var logs []journal.Log
	for range 4 {
		logs = append(logs, s.session())
	}
	s.start()
	words := []string{"store", "restore", "storeroom"}
	for n := range 60 {
		s.append(logs[(n*n+n/7)%4], event.UserPrompt{PromptID: "p", Text: event.Text(fmt.Sprint(words[n%3], " ", n))})
		if n%5 == 0 {
			s.settled()
		}
	}
	s.settled()
	hits := func() []search.Hit {
		page, err := s.by.Find(t.Context(), search.Request{Text: "store", Limit: 100})
		require.NoError(t, err)
		require.Len(t, page.Hits, 60)
		return page.Hits
	}
	before := hits()
	s.halt()
	require.NoError(t, os.RemoveAll(s.dir))
	s.start()
	s.settled()
	require.Equal(t, before, hits())
}

// Events that retention removes from a log are removed from the index, too.
func TestEventsThatRetentionRemovedLeaveTheIndex(t *testing.T) {
	dir := t.TempDir()
	st, err := store.Open(dir, store.Options{SegmentBytes: 4000})
	require.NoError(t, err)
	defer func() { require.NoError(t, st.Close()) }()
	s := &shelf{t: t, dir: filepath.Join(dir, "derived"), store: st.Journal(), feed: list.NewChangeFeed()}
	s.options = index.Options{Store: s.store, Dir: s.dir, Most: 7, Settle: time.Millisecond}
	s.files = search.NewSessions(search.Options{Store: s.store})
	defer s.halt()
	log := s.session()
	say := func(text string) { s.append(log, event.UserPrompt{PromptID: "p", Text: event.Text(text)}) }
	say("a secret needle")
	for range 100 {
		say("needle")
	}
	s.start()
	s.settled()
	st.SetKeep(8000)
	require.Eventually(t, func() bool {
		say("needle")
		md, _ := s.store.Listed(log.ID())
		return md.MinSeq > 20
	}, patience, time.Millisecond)
	s.settled()
	r := search.Request{Text: "needle", Limit: 100}
	require.Equal(t, all(t, s.files, r), all(t, s.by, r))
	require.Empty(t, all(t, s.by, search.Request{Text: "secret", Limit: 1}))
	s.halt()
	data, err := os.ReadFile(filepath.Join(s.dir, "search.db"))
	require.NoError(t, err)
	require.NotContains(t, string(data), "secret needle", "its text is gone from the file")
}
