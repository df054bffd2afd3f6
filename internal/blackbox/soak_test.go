package blackbox_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/abidehub/abide/internal/client"
	"github.com/abidehub/abide/internal/seed"
	"github.com/abidehub/abide/session/event"
	"github.com/stretchr/testify/require"
)

// soakTime is how long the faults go on: what ABIDE_SOAK_TIME says, else ten
// minutes with ABIDE_SOAK set, else a sample.
func soakTime(t *testing.T) time.Duration {
	if given := os.Getenv("ABIDE_SOAK_TIME"); given != "" {
		wanted, err := time.ParseDuration(given)
		require.NoError(t, err, "ABIDE_SOAK_TIME")
		return wanted
	}
	if os.Getenv("ABIDE_SOAK") != "" {
		return 10 * time.Minute
	}
	return 7 * time.Second
}

// TestNothingIsLostUnderAllFaultsAtOnce has three people at work, each at three
// screens, while everything goes wrong that can: the hub is killed, restarted
// and stopped, its files are damaged in its absence, its disk is full at times,
// its agents die, connections stall, break and go dead, clients freeze, hostile clients
// harass it and somebody edits its configuration. An account outside the hub
// says at each of its ends, and once more at the very end, whether anything that
// was seen or promised is gone.
func TestNothingIsLostUnderAllFaultsAtOnce(t *testing.T) {
	t.Parallel()
	s := newSoak(t, seed.Of(t))
	s.beginFaults()
	told := time.Now()
	for began := time.Now(); time.Since(began) < soakTime(t); {
		s.strike()
		if time.Since(told) > 10*time.Second {
			told = time.Now()
			s.tell(time.Since(began))
		}
	}
	s.settle()
}

// soak is a hub, the people and the fault around it.
type soak struct {
	*hub
	random  *rand.Rand
	record  string
	good    []byte   // the configuration as it should be
	network *network // between the hub and the screens
	disk    *smallDisk
	people  []*person
	crowds  []*crowd
	weather *weather
}

func newSoak(t *testing.T, seed uint64) *soak {
	s := &soak{
		random: rand.New(rand.NewPCG(seed, 0)), record: filepath.Join(t.TempDir(), "record"),
		network: newNetwork(t), disk: newSmallDisk(t),
	}
	wanted := settings{
		agents: map[string]agent{"demo": tapped(t, s.record, demo())},
		more:   fmt.Sprintf("public_names: [%q]\nlog_file_mib: 1\n", s.network.addr),
	}
	if s.disk != nil {
		wanted.data = filepath.Join(s.disk.dir, "data")
	} else {
		t.Log("without root no disk gets full: that fault is left out")
	}
	s.hub = newHub(t, wanted)
	var err error
	s.good, err = os.ReadFile(s.config)
	require.NoError(t, err)
	require.NoError(t, s.network.tell("upstream "+s.addr))
	far, err := client.New("http://"+s.network.addr, s.token())
	require.NoError(t, err)
	t.Cleanup(far.Close)
	for n := range 3 {
		p := newPerson(s.hub, n, far, s.hub.hub, far)
		s.people = append(s.people, p)
	}
	for range 2 {
		s.crowds = append(s.crowds, newCrowd(s.hub, "http://"+s.addr, s.people[0].session, 5))
	}
	s.weather = newWeather(t, seed)
	for n, p := range s.people {
		p.act(seed+uint64(n), 2, 1)
	}
	return s
}

// beginFaults starts everything that goes wrong beside the hub's own end.
func (s *soak) beginFaults() {
	w := s.weather
	attackers := make([]hostileClient, len(s.people))
	for i, p := range s.people { // while the configuration can be read
		attackers[i] = hostileClient{s.addr, s.token(), p.session}
	}
	w.blow(1500*time.Millisecond, cut(s.network))
	w.blow(3*time.Second, killAgents(s.id()))
	w.blow(2*time.Second, reconfigure(s.config, s.good))
	for _, c := range s.crowds {
		w.blow(2*time.Second, freeze(c))
	}
	for _, attacker := range attackers {
		w.blow(time.Second, attacker.harass)
	}
	if s.disk != nil {
		w.blow(4*time.Second, fillUp(s.disk))
	}
}

// strike lets the hub work for a while, ends it in some way, compares its files
// with all accounts, damages its files and starts it again.
func (s *soak) strike() {
	s.t.Helper()
	if s.random.IntN(3) > 0 {
		s.progress() // on a busy machine too
	}
	time.Sleep(100*time.Millisecond + time.Duration(s.random.Int64N(int64(3*time.Second)))) // the random moment
	switch s.random.IntN(8) {
	case 0:
		s.weather.count("hub stopped for a moment")
		require.NoError(s.t, s.cmd.Process.Signal(syscall.SIGSTOP))
		time.Sleep(time.Duration(s.random.Int64N(int64(2 * time.Second)))) // the moment
		require.NoError(s.t, s.cmd.Process.Signal(syscall.SIGCONT))
		return
	case 1:
		s.weather.count("restart in order")
		s.end()
	default:
		s.weather.count("hub killed")
		s.kill()
	}
	for _, p := range s.people {
		p.requireKept()
	}
	for _, p := range s.people {
		s.damage(filepath.Join(s.data, "sessions", p.session.SessionID))
	}
	for s.random.IntN(3) == 0 {
		s.weather.count("hub killed while it starts")
		s.spawn()
		time.Sleep(time.Duration(s.random.Int64N(int64(400 * time.Millisecond)))) // the moment that is tried
		_ = s.cmd.Process.Kill()                                                  // it may have refused to start by then
		_ = s.wait()
	}
	s.startAnyhow()
}

// progress waits until one more prompt was acknowledged, for a while.
func (s *soak) progress() {
	acked := func() (n int) {
		for _, p := range s.people {
			n += len(p.outcomes())
		}
		return n
	}
	before := acked()
	for deadline := time.Now().Add(15 * time.Second); acked() == before && time.Now().Before(deadline); {
		rest(s.t.Context(), 20*time.Millisecond)
	}
}

// end stops the hub in order. With space on its disk it must say that all went
// well.
func (s *soak) end() {
	s.t.Helper()
	if s.disk == nil || s.random.IntN(2) == 0 {
		require.NoError(s.t, s.disk.keepRoom(s.stop))
		return
	}
	require.NoError(s.t, s.cmd.Process.Signal(syscall.SIGTERM))
	if err := s.wait(); err != nil {
		require.True(s.t, s.disk.wasFull(), "the hub ended badly with space on its disk: %v\n%s", err, tail(s.logged(), 4000))
	}
}

// startAnyhow starts the hub. It may refuse where its disk is full or its
// configuration bad at that moment, and must say so.
func (s *soak) startAnyhow() {
	s.t.Helper()
	for range 20 {
		before := len(s.logged())
		if s.tryStart() {
			return
		}
		s.weather.count("hub refused to start")
		said := s.logged()[before:]
		require.True(s.t, strings.Contains(said, "no space left") || strings.Contains(said, s.config), "the hub does not start:\n%s", said)
		require.NoError(s.t, replaceFile(s.config, s.good))
		if s.disk != nil {
			require.NoError(s.t, s.disk.heal())
		}
	}
	require.Fail(s.t, "the hub does not start")
}

// damage does to a session's files what crashes do, and what loses nothing: a
// torn tail, metadata that is gone or garbage, a temporary file left behind.
func (s *soak) damage(session string) {
	s.t.Helper()
	log, metadata := filepath.Join(session, "events.jsonl"), filepath.Join(session, "metadata.json")
	var err error
	switch kind := s.random.IntN(10); kind {
	case 0, 1, 2:
		tails := []string{`{"seq":`, `{"seq":1,"time":"2026-02-21T14:03:07.123456Z","ty`, strings.Repeat("\x00", 300), "\xff\xfe garbage {}"}
		err = appendTo(log, tails[s.random.IntN(len(tails))])
		s.weather.count("torn tail")
	case 3:
		err = os.Remove(metadata)
		s.weather.count("metadata removed")
	case 4:
		err = os.Truncate(metadata, 0)
		s.weather.count("metadata emptied")
	case 5:
		err = os.WriteFile(metadata, []byte(`{"format":1,"max_se`), 0o600)
		s.weather.count("metadata garbled")
	case 6:
		err = os.WriteFile(metadata+".tmp", []byte("{"), 0o600)
		s.weather.count("temporary file left behind")
	}
	if err != nil {
		// A full disk, and files that the crash came before.
		require.True(s.t, os.IsNotExist(err) || strings.Contains(err.Error(), "no space left"), "%v", err)
	}
}

// appendTo adds to a file that is there.
func appendTo(path, text string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(text)
	return err
}

// tell prints how it goes.
func (s *soak) tell(since time.Duration) {
	events, prompts := 0, 0
	for _, p := range s.people {
		events += len(p.account.log)
		prompts += len(p.account.prompts)
	}
	s.t.Logf("%s: %d prompts, %d events; %s", since.Round(time.Second), prompts, events, s.weather)
}

// settle ends the fault and requires that everybody has everything, once.
func (s *soak) settle() {
	s.t.Helper()
	s.weather.calm()
	if s.disk != nil {
		require.NoError(s.t, s.disk.heal())
	}
	require.NoError(s.t, s.network.tell("delay 0s", "heal", "rst"))
	require.NoError(s.t, replaceFile(s.config, s.good))
	for _, c := range s.crowds {
		require.NoError(s.t, c.resume())
	}
	for _, p := range s.people {
		p.hush()
	}
	for _, p := range s.people {
		p.finish()
	}
	s.stop() // the log stands still
	log := onDisk(s.t, s.hub, s.people[0].session.SessionID)
	s.start()
	for _, c := range s.crowds {
		c.ask(event.Seq(len(log)))
		c.requireSaw(log)
	}
	requireGivenOnce(s.t, readRecord(s.t, s.record))
	interrupted := 0
	for _, p := range s.people {
		interrupted += p.requireSettled()
	}
	s.t.Logf("%d turns were interrupted; %s", interrupted, s.weather)
}
