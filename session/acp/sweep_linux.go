package acp

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// proc contains the needed fields of /proc/<pid>/stat.
type proc struct {
	pid, parent, group, session int
	zombie                      bool
	bare                        bool   // it has no memory any more: it is ending
	born                        uint64 // in ticks since the system began: with the pid, an identity
}

type processKey struct {
	pid  int
	born uint64
}

func (p proc) key() processKey { return processKey{p.pid, p.born} }

// processes lists the running processes. Those that end meanwhile are left out.
func processes() []proc {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	list := make([]proc, 0, len(names))
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if p, ok := readProc(pid); ok {
			list = append(list, p)
		}
	}
	return list
}

func readProc(pid int) (proc, bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return proc{}, false
	}
	// The command's name may contain anything, including spaces and brackets.
	end := bytes.LastIndexByte(stat, ')')
	if end < 0 {
		return proc{}, false
	}
	f := strings.Fields(string(stat[end+1:]))
	if len(f) < 21 {
		return proc{}, false
	}
	p := proc{pid: pid, zombie: f[0] == "Z" || f[0] == "X"}
	p.bare = f[20] == "0"
	p.born, _ = strconv.ParseUint(f[19], 10, 64)
	p.parent, _ = strconv.Atoi(f[1])
	p.group, _ = strconv.Atoi(f[2])
	p.session, _ = strconv.Atoi(f[3])
	return p, true
}

// marked lists the live processes with this marker. Those that cleared their environment
// are known by their limit.
func marked(marker string) []proc {
	return owned(func(m string) bool { return m == marker }, func(l uint64) bool { return l == limitOf(marker) })
}

// leftBy lists the live processes of other runs of the hub. It takes a process without
// a marker for one of those.
func leftBy(hubID, runID string) []proc {
	return owned(func(m string) bool { return earlierRun(m, hubID, runID) },
		func(l uint64) bool { return l>>sessionBits == limitOf(hubID)>>sessionBits })
}

// owned lists the live processes with a matching marker, and those without a marker
// that have a matching limit. It leaves out this process's session, and processes
// without a marker that this one may not end.
func owned(marker func(string) bool, limit func(uint64) bool) []proc {
	session, err := unix.Getsid(0)
	if err != nil {
		return nil
	}
	var found []proc
	for _, p := range processes() {
		if p.zombie || p.pid == os.Getpid() {
			continue
		}
		if m, ok := markerOf(p.pid); ok {
			if marker(m) {
				found = append(found, p)
			}
			continue
		}
		// The environment of a process that is ending cannot be read either: with the hub
		// that was killed, its own agents end.
		if now, ok := readProc(p.pid); !ok || now.born != p.born || now.zombie || now.bare {
			continue
		}
		if l, ok := limitOfProcess(p.pid); ok && limit(l) && p.session != session && unix.Kill(p.pid, 0) == nil {
			found = append(found, p)
		}
	}
	return found
}

// markerOf reads the marker with which a process was started. It fails for
// processes of other users, which the hub did not start.
func markerOf(pid int) (string, bool) {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return "", false
	}
	for entry := range bytes.SplitSeq(env, []byte{0}) {
		if value, ok := bytes.CutPrefix(entry, []byte(markerName+"=")); ok {
			return string(value), true
		}
	}
	return "", false
}

// kill ends the process, and never another one that got its pid since.
func (p proc) kill() {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if errors.Is(err, unix.ENOSYS) {
		_ = unix.Kill(p.pid, unix.SIGKILL)
		return
	}
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if now, ok := readProc(p.pid); ok && now.born == p.born {
		_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	}
}

// gone reports whether the process has ended. It reaps an inherited one, which cannot be
// done while threads of it still run.
func (k processKey) gone() bool {
	p, ok := readProc(k.pid)
	if !ok || p.born != k.born {
		return true
	}
	if p.zombie && p.parent == os.Getpid() && !children.has(k.pid) {
		reaped, err := unix.Wait4(k.pid, nil, unix.WNOHANG, nil)
		return reaped == k.pid || err != nil
	}
	return p.zombie
}

// reapOrphans reaps dead processes that this one inherited as a subreaper. It
// leaves those that this program started and waits for: the table of children, and
// processes in this one's session and group, or leading a group of it.
func reapOrphans() {
	self := os.Getpid()
	session, err := unix.Getsid(0)
	if err != nil {
		return
	}
	group := unix.Getpgrp()
	children.whileStill(func() {
		for _, p := range processes() {
			inherited := p.session != session || p.group != group && p.group != p.pid
			if p.zombie && p.parent == self && inherited && !children.has(p.pid) {
				_, _ = unix.Wait4(p.pid, nil, unix.WNOHANG, nil)
			}
		}
	})
}

// reapGroup reaps the dead processes of a group after its leader was reaped.
func reapGroup(pgid int) {
	for {
		pid, err := unix.Wait4(-pgid, nil, unix.WNOHANG, nil)
		if pid <= 0 || err != nil {
			return
		}
	}
}
