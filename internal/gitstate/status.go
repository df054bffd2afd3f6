package gitstate

import (
	"bytes"
	"context"
	"strconv"
)

// Status has the differences from the commit.
type Status struct {
	// Files are the first of them, in git's order.
	Files []Change
	// Total is how many there are.
	Total int
}

// Change is a file that differs from the commit.
type Change struct {
	// Code is git's two letters: index and worktree; "??" is untracked.
	Code string
	// Path is relative to the repository's worktree. It may hold any byte but NUL.
	Path string
	// From is the path before a rename; else empty.
	From string
}

// Status lists the files in folder and below that differ from the commit, at most
// that many. An untracked directory counts as one.
func (g *Git) Status(ctx context.Context, r *Repository, folder string, most int) (Status, error) {
	out, err := g.Run(ctx, r, folder, "status", "--porcelain=v1", "-z", "--untracked-files=normal", "--no-renames", "--", ".")
	if err != nil {
		return Status{}, err
	}
	return parseStatus(out, most), nil
}

func parseStatus(out []byte, most int) Status {
	var s Status
	for len(out) > 0 {
		entry, rest, _ := bytes.Cut(out, []byte{0})
		out = rest
		if len(entry) < 4 {
			continue
		}
		c := Change{Code: string(entry[:2]), Path: string(entry[3:])}
		if c.Code[0] == 'R' || c.Code[0] == 'C' {
			from, rest, _ := bytes.Cut(out, []byte{0})
			c.From, out = string(from), rest
		}
		if s.Total++; len(s.Files) < most {
			s.Files = append(s.Files, c)
		}
	}
	return s
}

// DiffStat is `git diff --stat` of the worktree against a commit, in folder and
// below, with a line for each of at most that many files.
func (g *Git) DiffStat(ctx context.Context, r *Repository, folder, commit string, most int) (string, error) {
	out, err := g.Run(ctx, r, folder, "diff", statOption(most), "--no-renames", commit, "--", ".")
	return string(out), err
}

func statOption(most int) string { return "--stat=100,80," + strconv.Itoa(most) }
