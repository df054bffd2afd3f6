package gitstate

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
)

// Pair are two states to compare.
type Pair struct{ From, To string }

// Lines are the lines that a file gained and lost. Binary means that they cannot be counted.
type Lines struct {
	Path           string
	Added, Removed int
	Binary         bool
}

// LineCounts lists, for each pair, the files that differ with their lines, in one run of git.
func (g *Git) LineCounts(ctx context.Context, r *Repository, pairs []Pair) ([][]Lines, error) {
	if len(pairs) == 0 {
		return nil, nil
	}
	var in strings.Builder
	for _, p := range pairs {
		if !isCommit(p.From) || !isCommit(p.To) {
			return nil, fmt.Errorf("compare %q and %q: no states", p.From, p.To)
		}
		fmt.Fprintln(&in, p.To, p.From) // the first is a commit, the others are as its parents
	}
	s, err := g.standIn(ctx, r)
	if err != nil {
		return nil, err
	}
	defer s.remove()
	c := s.command(r.Worktree, "diff-tree", "--stdin", "--always", "-r", "-z", "--numstat", "--no-renames", "--no-ext-diff", "--no-textconv")
	c.in = strings.NewReader(in.String())
	out, err := g.output(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("compare states: %w", err)
	}
	all, at := make([][]Lines, len(pairs)), -1
	for record := range bytes.SplitSeq(bytes.TrimSuffix(out, []byte{0}), []byte{0}) {
		fields := strings.SplitN(string(record), "\t", 3)
		if len(fields) == 1 && at+1 < len(pairs) && fields[0] == pairs[at+1].To {
			at++
			continue
		}
		if len(fields) != 3 || at < 0 {
			return nil, fmt.Errorf("compare states: git says %q", record)
		}
		l := Lines{Path: fields[2], Binary: fields[0] == "-"}
		if !l.Binary {
			if l.Added, err = strconv.Atoi(fields[0]); err == nil {
				l.Removed, err = strconv.Atoi(fields[1])
			}
			if err != nil {
				return nil, fmt.Errorf("compare states: git says %q", record)
			}
		}
		all[at] = append(all[at], l)
	}
	if at != len(pairs)-1 {
		return nil, fmt.Errorf("compare states: git compared %d of %d", at+1, len(pairs))
	}
	return all, nil
}

// Place is a path of a state.
type Place struct{ Commit, Path string }

// Present reports which of the places have a file, in one run of git.
func (g *Git) Present(ctx context.Context, r *Repository, places []Place) ([]bool, error) {
	var in strings.Builder
	var asked []int
	for i, p := range places {
		if !isCommit(p.Commit) {
			return nil, fmt.Errorf("look into %q: no state", p.Commit)
		}
		if !strings.ContainsAny(p.Path, "\n\r") { // such a one is not asked for
			fmt.Fprintf(&in, "%s:%s\n", p.Commit, p.Path)
			asked = append(asked, i)
		}
	}
	there := make([]bool, len(places))
	if len(asked) == 0 {
		return there, nil
	}
	s, err := g.standIn(ctx, r)
	if err != nil {
		return nil, err
	}
	defer s.remove()
	c := s.command(r.Worktree, "cat-file", "--batch-check")
	c.in = strings.NewReader(in.String())
	out, err := g.output(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("look into states: %w", err)
	}
	said := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(said) != len(asked) {
		return nil, fmt.Errorf("look into states: git answers %d of %d", len(said), len(asked))
	}
	for n, i := range asked {
		there[i] = !strings.HasSuffix(said[n], " missing")
	}
	return there, nil
}
