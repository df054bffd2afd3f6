package playback

import "strings"

// maxEdits bounds how far apart two texts may be to be compared line by line. Beyond
// it the lines of the one count as removed and those of the other as added.
const maxEdits = 1000

// countLines tells how many lines a change adds and removes: the least number, by
// Myers' algorithm.
func countLines(before, after string) (added, removed int) {
	old, now := lines(before), lines(after)
	for len(old) > 0 && len(now) > 0 && old[0] == now[0] {
		old, now = old[1:], now[1:]
	}
	for len(old) > 0 && len(now) > 0 && old[len(old)-1] == now[len(now)-1] {
		old, now = old[:len(old)-1], now[:len(now)-1]
	}
	edits := distance(old, now)
	if edits < 0 {
		return len(now), len(old)
	}
	return (edits + len(now) - len(old)) / 2, (edits - len(now) + len(old)) / 2
}

func lines(text string) []string {
	if text == "" {
		return nil
	}
	all := strings.SplitAfter(text, "\n")
	if all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	return all
}

// distance is the least number of lines to add and remove, or -1 above maxEdits.
func distance(old, now []string) int {
	n, m := len(old), len(now)
	bound := min(n+m, maxEdits)
	reach := make([]int, 2*bound+2) // the furthest line of old on each diagonal
	for d := 0; d <= bound; d++ {
		for k := -d; k <= d; k += 2 {
			x := 0
			switch {
			case d == 0:
			case k == -d || k != d && reach[bound+k-1] < reach[bound+k+1]:
				x = reach[bound+k+1]
			default:
				x = reach[bound+k-1] + 1
			}
			for x < n && x-k < m && x-k >= 0 && old[x] == now[x-k] {
				x++
			}
			reach[bound+k] = x
			if x >= n && x-k >= m {
				return d
			}
		}
	}
	return -1
}
