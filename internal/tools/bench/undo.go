package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/abidehub/abide/internal/gitstate"
	"github.com/abidehub/abide/session/filestate"
)

// measureUndo keeps the state of a repository before a prompt: first when nothing is kept yet,
// then after an agent changed ten files.
func measureUndo(ctx context.Context, b *bench) error {
	files := b.scaled(10_000, 4)
	folder := filepath.Join(b.dir, "undo-repository")
	git, err := repositoryOf(ctx, folder, files)
	if err != nil {
		return err
	}
	of := filestate.Of{Session: "20260101-000000-00000000", Folder: folder}
	wanted := func() bool { return true }
	var first, later []time.Duration
	for round := range b.scaled(5, 2) {
		keeper := filestate.New(git, filepath.Join(b.dir, fmt.Sprint("undo-", round)), nil, slog.New(slog.DiscardHandler))
		for turn := 1; turn <= 4; turn++ {
			for i := range 10 {
				if err := os.WriteFile(fileOf(folder, i*files/10), fmt.Appendf(nil, "round %d, turn %d, file %d\n", round, turn, i), 0o644); err != nil {
					return err
				}
			}
			began := time.Now()
			if _, err := keeper.Keep(ctx, of, filestate.Before(turn), wanted); err != nil {
				return err
			}
			if took := time.Since(began); turn == 1 {
				first = append(first, took)
			} else {
				later = append(later, took)
			}
		}
		if err := keeper.Forget(ctx, of.Session); err != nil {
			return err
		}
	}
	b.within(fmt.Sprintf("the state of %s files before a prompt, the first time", count(files)), 300*time.Millisecond, median(first))
	b.within(fmt.Sprintf("the state of %s files before a prompt, ten changed", count(files)), 300*time.Millisecond, median(later))
	return nil
}

func fileOf(folder string, i int) string {
	return filepath.Join(folder, fmt.Sprint("part-", i/100), fmt.Sprint("file-", i, ".txt"))
}

// repositoryOf makes a repository with a commit of so many files.
func repositoryOf(ctx context.Context, folder string, files int) (*gitstate.Git, error) {
	for i := range files {
		path := fileOf(folder, i)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, fmt.Appendf(nil, "the first text of file %d\n", i), 0o644); err != nil {
			return nil, err
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=A", "-c", "user.email=a@b.c", "commit", "-q", "-m", "all"}} {
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir, cmd.Stderr = folder, os.Stderr
		if err := cmd.Run(); err != nil {
			return nil, fmt.Errorf("git %v: %w", args, err)
		}
	}
	return gitstate.New(ctx, "")
}
