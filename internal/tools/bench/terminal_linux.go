package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/abidehub/abide/client"
)

// measureTerminal starts the screens of a terminal beside a running hub: the time from the
// start of the program to the list of 30 sessions, and to the newest text of a long one.
func measureTerminal(ctx context.Context, b *bench) error {
	data := filepath.Join(b.dir, "terminal")
	s, err := openStore(data)
	if err != nil {
		return err
	}
	events := b.scaled(100_000, 4)
	var ids []string
	for i := range 30 {
		l, err := newLog(ctx, s)
		if err != nil {
			return errors.Join(err, s.Close())
		}
		n := 20
		if ids = append(ids, l.ID()); i == 0 {
			n = events
		}
		if err := converse(ctx, l, n); err != nil {
			return errors.Join(err, s.Close())
		}
	}
	if err := s.Close(); err != nil {
		return err
	}
	p, err := b.run(ctx, data)
	if err != nil {
		return err
	}
	if err := touch(ctx, p, ids); err != nil {
		return errors.Join(err, p.kill())
	}
	var list, session []time.Duration
	for range b.scaled(9, 3) {
		one, err := b.paint(ctx, data, "Showing 1", "sessions", "--all")
		if err != nil {
			return errors.Join(err, p.kill())
		}
		other, err := b.paint(ctx, data, "makes Jack", "attach", ids[0])
		if err != nil {
			return errors.Join(err, p.kill())
		}
		list, session = append(list, one), append(session, other)
	}
	b.within("a terminal's list, start to first paint", 50*time.Millisecond, median(list))
	b.within(fmt.Sprintf("a terminal at a session of %s events, start to its newest text", count(events)), 100*time.Millisecond, median(session))
	return p.kill()
}

// touch opens sessions once, so that their lines say what was said last.
func touch(ctx context.Context, p *program, ids []string) error {
	hub, err := client.New("http://"+p.addr, p.token)
	if err != nil {
		return err
	}
	defer hub.Close()
	for _, id := range ids {
		if _, err := hub.State(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// paint runs a command in a terminal until it shows a text.
func (b *bench) paint(ctx context.Context, data, text string, args ...string) (took time.Duration, err error) {
	path, err := b.build(ctx)
	if err != nil {
		return 0, err
	}
	pty, tty, err := openTerminal()
	if err != nil {
		return 0, err
	}
	defer pty.Close()
	cmd := exec.CommandContext(ctx, path, append(args, "--data", data)...)
	cmd.Env = append(os.Environ(), "TERM=xterm", "HOME="+b.dir)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	began := time.Now()
	err = cmd.Start()
	tty.Close()
	if err != nil {
		return 0, err
	}
	defer func() { _, _ = cmd.Process.Kill(), cmd.Wait() }()
	stuck := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() }) // the read ends with it
	defer stuck.Stop()
	var shown []byte
	for chunk := make([]byte, 64<<10); ; {
		n, err := pty.Read(chunk)
		if shown = append(shown, chunk[:n]...); bytes.Contains(shown, []byte(text)) {
			return time.Since(began), nil
		}
		if err != nil {
			return 0, fmt.Errorf("the terminal of %v showed %q: %w", args, shown, err)
		}
	}
}

func openTerminal() (pty, tty *os.File, err error) {
	if pty, err = os.OpenFile("/dev/ptmx", os.O_RDWR, 0); err != nil {
		return nil, nil, err
	}
	n, err := unix.IoctlGetInt(int(pty.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = errors.Join(unix.IoctlSetPointerInt(int(pty.Fd()), unix.TIOCSPTLCK, 0),
			unix.IoctlSetWinsize(int(pty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 60, Col: 200}))
	}
	if err == nil {
		tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	}
	if err != nil {
		pty.Close()
	}
	return pty, tty, err
}
