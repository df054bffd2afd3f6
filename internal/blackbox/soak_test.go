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

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/internal/tools/seed"
	"github.com/abidehub/abide/internal/tools/soak"
	"github.com/abidehub/abide/session/event"
	"github.com/stretchr/testify/require"
)

// soakTime is how long the faults last: ABIDE_SOAK_TIME, else ten minutes with
// ABIDE_SOAK set, else a sample.
func soakTime(t *testing.T) time.Duration {
	if given := os.Getenv("ABIDE_SOAK_TIME"); given != "" {
		wanted, err := time.ParseDuration(given)
		require.NoError(t, err, "ABIDE_SOAK_TIME")
		return wanted
	}
	if soak.On() {
		return 10 * time.Minute
	}
	return 7 * time.Second
}

// TestNothingIsLostUnderAllFaultsAtOnce simulates three people at three screens
// each while every kind of fault happens. The hub is killed, restarted and stopped.
// Its files are damaged while it is down, and its disk is full at times. Its agents
// die. Connections stall, break and go silent, clients freeze, and hostile clients
// attack. The configuration is edited. After each end of the hub, and at the very
// end, the test compares the log with all events and acknowledgements that the
// clients received.
func TestNothingIsLostUnderAllFaultsAtOnce(t *testing.T) {
	t.Parallel()
	s := newAllFaults(t, seed.Of(t))
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

// allFaults is a hub with its users and its faults.
type allFaults struct {
	*hub
	random  *rand.Rand
	record  string
	good    []byte   // the valid configuration
	network *network // the proxy between the hub and the screens
	disk    *smallDisk
	people  []*person
	crowds  []*crowd
	weather *weather
}

func newAllFaults(t *testing.T, seed uint64) *allFaults {
	s := &allFaults{
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
		t.Log("full disks are left out: they need root")
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

// beginFaults starts the faults that happen beside the ends of the hub.
func (s *allFaults) beginFaults() {
	w := s.weather
	attackers := make([]hostileClient, len(s.people))
	for i, p := range s.people { // before faults edit the configuration
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

// strike lets the hub work for a while and ends it in some way. It compares the
// hub's files with all accounts, damages the files and starts the hub again.
func (s *allFaults) strike() {
	s.t.Helper()
	if s.random.IntN(3) > 0 {
		s.progress() // on a busy machine too
	}
	time.Sleep(100*time.Millisecond + time.Duration(s.random.Int64N(int64(3*time.Second)))) // a random moment
	switch s.random.IntN(8) {
	case 0:
		s.weather.count("hub stopped for a moment")
		require.NoError(s.t, s.cmd.Process.Signal(syscall.SIGSTOP))
		time.Sleep(time.Duration(s.random.Int64N(int64(2 * time.Second)))) // a random moment
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
		time.Sleep(time.Duration(s.random.Int64N(int64(400 * time.Millisecond)))) // a random moment of the start
		_ = s.cmd.Process.Kill()                                                  // it may have refused to start
		_ = s.wait()
	}
	s.startAnyhow()
}

// progress waits a limited time until one more prompt is acknowledged.
func (s *allFaults) progress() {
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

// end stops the hub with SIGTERM. Unless its disk was full, it must exit with code
// 0.
func (s *allFaults) end() {
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

// startAnyhow starts the hub. The hub may refuse, with a message, if its disk is
// full or its configuration invalid.
func (s *allFaults) startAnyhow() {
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

// damage does to a session's files what a crash may do without loss: a torn tail,
// missing or corrupt metadata, a leftover temporary file.
func (s *allFaults) damage(session string) {
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
		// The disk may be full, or the file may not exist yet.
		require.True(s.t, os.IsNotExist(err) || strings.Contains(err.Error(), "no space left"), "%v", err)
	}
}

// appendTo appends to an existing file.
func appendTo(path, text string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(text)
	return err
}

// tell logs the progress.
func (s *allFaults) tell(since time.Duration) {
	events, prompts := 0, 0
	for _, p := range s.people {
		events += len(p.account.log)
		prompts += len(p.account.prompts)
	}
	s.t.Logf("%s: %d prompts, %d events; %s", since.Round(time.Second), prompts, events, s.weather)
}

// settle ends the faults and requires that every client has every event once.
func (s *allFaults) settle() {
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
	s.stop() // the log no longer changes
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
