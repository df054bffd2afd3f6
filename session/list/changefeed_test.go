package list_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/list"
)

func TestAFeedTellsEachChangeOnceInTheOrderOfTheLast(t *testing.T) {
	f := list.NewChangeFeed()
	since := func(v uint64, wantChanged, wantGone []string) uint64 {
		t.Helper()
		changed, gone, now := f.Since(v)
		require.Equal(t, wantChanged, changed)
		require.Equal(t, wantGone, gone)
		return now
	}
	f.Add("a")
	f.Add("b")
	v := since(0, []string{"a", "b"}, nil)
	bell := f.Changed()
	f.Touch("a")
	<-bell
	f.Touch("b")
	f.Touch("a")
	v = since(v, []string{"b", "a"}, nil)
	v = since(v, nil, nil)
	f.Remove("a")
	f.Touch("a") // it stays removed
	v = since(v, nil, []string{"a"})
	f.Add("a")
	since(v, []string{"a"}, nil)
}
