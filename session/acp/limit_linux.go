package acp

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// sessionBits are the bits of a limit that tell the markers of one hub apart.
const sessionBits = 38

// limitOf returns the number by which a process that cleared its environment is known as
// one with this marker: as its soft limit of file locks, which Linux has not used since
// 2.4. A process inherits it whatever becomes of its parent, session and environment. The
// bits above sessionBits depend on the hub alone. Systems of 32 bits have no room for it.
func limitOf(marker string) uint64 {
	hub, _, _ := strings.Cut(marker, ".")
	return 1<<62 | hashed(hub)>>(sessionBits+2)<<sessionBits | hashed(marker)>>(64-sessionBits)
}

func hashed(s string) uint64 {
	sum := sha256.Sum256([]byte(s))
	return binary.BigEndian.Uint64(sum[:])
}

// startLimited starts cmd with this soft limit of file locks. No limit can be set between
// fork and exec, so this process has it meanwhile. Other children that it starts then
// have a marker or its session. Callers take turns.
func startLimited(cmd *exec.Cmd, limit uint64) error {
	var was unix.Rlimit
	if unix.Prlimit(0, unix.RLIMIT_LOCKS, nil, &was) == nil {
		// It fails where the hard limit is lower: then the process has its marker only.
		if unix.Prlimit(0, unix.RLIMIT_LOCKS, &unix.Rlimit{Cur: limit, Max: was.Max}, nil) == nil {
			defer func() { _ = unix.Prlimit(0, unix.RLIMIT_LOCKS, &was, nil) }() // it had this one before
		}
	}
	return cmd.Start()
}

// limitOfProcess reads the soft limit of file locks, which every user may read.
func limitOfProcess(pid int) (uint64, bool) {
	limits, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/limits")
	if err != nil {
		return 0, false
	}
	_, rest, _ := bytes.Cut(limits, []byte("Max file locks"))
	words := bytes.Fields(rest[:min(len(rest), 64)])
	if len(words) == 0 {
		return 0, false
	}
	limit, err := strconv.ParseUint(string(words[0]), 10, 64)
	return limit, err == nil
}
