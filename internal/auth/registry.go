package auth

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/abidehub/abide/session/event"
)

const (
	// tokenPrefix lets secret scanners, and people, recognise a token.
	tokenPrefix = "abide_"

	// maxPairing and maxGrants limit the file: the oldest pairing codes are
	// removed, a grant beyond the limit is refused.
	maxPairing = 32
	maxGrants  = 1000

	// newFor is how long a grant counts as new, and maxNew how many are listed as
	// such.
	newFor = 7 * 24 * time.Hour
	maxNew = 20

	// touchEvery is how old last_used may be. It limits the writes of a device that
	// is always on.
	touchEvery = time.Hour
	// lookRate is how many times a second the file is read for an unknown code.
	lookRate = 20
)

// Registry holds the credentials of one data directory. Several processes may have
// one open on the same directory: each change is made to the file's newest content
// under its lock. It is safe for concurrent use.
type Registry struct {
	file   *credentialsFile
	now    func() time.Time
	logger *slog.Logger
	looks  *rate.Limiter // at the file, for codes that may be newer than current
}

// Open reads the credentials of a data directory, which must exist, and creates the
// file if needed. If now is nil, time.Now is used.
func Open(dir string, logger *slog.Logger, now func() time.Time) (*Registry, error) {
	if now == nil {
		now = time.Now
	}
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	file := &credentialsFile{dir: dir, now: now, logger: logger}
	if err := file.open(); err != nil {
		return nil, err
	}
	return &Registry{file: file, now: now, logger: logger, looks: rate.NewLimiter(lookRate, lookRate)}, nil
}

// TokenRequest is a request for a token.
type TokenRequest struct {
	Name  string
	Scope Scope
	// SessionID is the one session that the token is valid for. Only an owner's
	// token may omit it.
	SessionID string
	// Life is how long the token is valid; zero means until it is revoked.
	Life time.Duration
	// AskedBy is the process that asks, for people.
	AskedBy string
	// Holder is "uid:N" for the command line of the hub's own machine, which makes
	// many tokens; otherwise it is empty.
	Holder string
}

// MintToken makes a Bearer token. The secret is returned once and not stored.
func (r *Registry) MintToken(req TokenRequest) (secret string, g Grant, err error) {
	if _, ok := ParseScope(string(req.Scope)); !ok {
		return "", Grant{}, fmt.Errorf("%w: no scope %q", ErrInvalid, req.Scope)
	}
	if req.Scope != Owner && req.SessionID == "" {
		return "", Grant{}, fmt.Errorf("%w: a %s token requires a session (--session ID)", ErrInvalid, req.Scope)
	}
	if err := checkName(req.Name); err != nil {
		return "", Grant{}, err
	}
	if req.Life < 0 {
		return "", Grant{}, fmt.Errorf("%w: a lifetime of %s is in the past", ErrInvalid, req.Life)
	}
	now := r.now().UTC().Truncate(time.Millisecond)
	secret = tokenPrefix + randomText(32)
	rec := grantRecord{
		ID: randomID(), Name: cleanName(req.Name), Scope: req.Scope, SessionID: req.SessionID, Holder: req.Holder, AskedBy: cleanName(req.AskedBy), CreatedAt: now,
	}
	if req.Life > 0 {
		end := now.Add(req.Life)
		rec.ExpiresAt = &end
	}
	err = r.file.update(func(next *record) error {
		if len(next.Tokens) >= maxGrants {
			return fmt.Errorf("%w: %d tokens exist already", ErrInvalid, maxGrants)
		}
		rec.Hash = next.hash(secret)
		next.Tokens = append(next.Tokens, rec)
		return nil
	})
	if err != nil {
		return "", Grant{}, fmt.Errorf("making a token: %w", err)
	}
	return secret, rec.grant(KindToken), nil
}

// MintPairingCode makes a code that turns one browser into a device, once,
// within PairingLife.
func (r *Registry) MintPairingCode() (string, error) {
	raw := make([]byte, 10)
	rand.Read(raw)
	code := strings.ToLower(base32.StdEncoding.EncodeToString(raw))
	now := r.now().UTC()
	err := r.file.update(func(next *record) error {
		next.Pairing = append(next.Pairing, pairingRecord{
			Hash: next.hash(code), CreatedAt: now, ExpiresAt: now.Add(PairingLife),
		})
		next.Pairing = next.Pairing[max(0, len(next.Pairing)-maxPairing):]
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("making a pairing code: %w", err)
	}
	return code, nil
}

// Redeem redeems a pairing code and makes a device with the owner's scope. The
// secret is the device's cookie, returned once and not stored. A name that another
// device has gets a number. A code that was redeemed, has expired or never existed
// is ErrUnknown. The devices of the replaced cookies, valid or not, end in the same
// write: they belong to the same browser, which will not present them again.
func (r *Registry) Redeem(code, device, pageKey string, replaced ...string) (secret string, g Grant, err error) {
	if !r.waits(code) {
		return "", Grant{}, fmt.Errorf("redeeming a pairing code: %w", ErrUnknown)
	}
	secret = randomText(32)
	rec := grantRecord{
		ID: randomID(), Scope: Owner, PageKey: pageKey, CreatedAt: r.now().UTC().Truncate(time.Millisecond),
	}
	err = r.file.update(func(next *record) error {
		hash := next.hash(code)
		i := slices.IndexFunc(next.Pairing, func(p pairingRecord) bool { return sameHash(p.Hash, hash) })
		if i < 0 {
			return ErrUnknown
		}
		for _, cookie := range replaced {
			old := next.hash(cookie)
			next.Devices = slices.DeleteFunc(next.Devices, func(g grantRecord) bool {
				return sameHash(g.Hash, old)
			})
		}
		if len(next.Devices) >= maxGrants {
			return fmt.Errorf("%w: %d devices are paired already", ErrInvalid, maxGrants)
		}
		next.Pairing = slices.Delete(next.Pairing, i, i+1)
		rec.Name = freeName(cleanName(device), next.Devices)
		rec.Hash = next.hash(secret)
		next.Devices = append(next.Devices, rec)
		return nil
	})
	if err != nil {
		return "", Grant{}, fmt.Errorf("redeeming a pairing code: %w", err)
	}
	return secret, rec.grant(KindDevice), nil
}

// waits reports whether a pairing code may exist, without the file or its lock:
// thousands of wrong codes at once must not wait for either. A code that another
// process has just made is looked up in the file, lookRate times a second; beyond
// that Run finds it within half a second.
func (r *Registry) waits(code string) bool {
	current := r.file.known()
	return current.pairing(code) || r.looks.AllowN(r.now(), 1) && r.file.newest().pairing(code)
}

// Present looks up the credential of a request and records its use. The error is
// ErrUnknown for anything that is not valid now.
func (r *Registry) Present(kind Kind, secret string) (Grant, error) {
	now := r.now()
	current := r.file.newest()
	hash := current.hash(secret)
	for _, rec := range current.grants(kind) {
		if !sameHash(rec.Hash, hash) || !rec.live(kind, now) {
			continue
		}
		if now.Sub(rec.lastSeen()) > touchEvery {
			r.touch(kind, rec.ID, now)
		}
		return rec.grant(kind), nil
	}
	return Grant{}, ErrUnknown
}

// Ended reports whether a device's cookie was valid earlier in this run: presenting
// it does not count as a guess.
func (r *Registry) Ended(cookie string) bool {
	return r.file.ended(r.file.newest().hash(cookie))
}

// Grant returns the registry's current version of a grant, for users that live
// longer than one request. ErrUnknown means that it expired or was revoked.
func (r *Registry) Grant(kind Kind, id string) (Grant, error) {
	current := r.file.known()
	now := r.now()
	for _, rec := range current.grants(kind) {
		if rec.ID == id && rec.live(kind, now) {
			return rec.grant(kind), nil
		}
	}
	return Grant{}, ErrUnknown
}

// May reports whether the recorded person may do verb on a session now. A record of
// an ended or revoked credential allows nothing. Records of the hub's own machine
// always count, because its command line has no lasting credential.
func (r *Registry) May(by event.Actor, verb Verb, sessionID string) bool {
	if strings.HasPrefix(by.ID, holderPrefix) {
		return true
	}
	return slices.ContainsFunc(r.Grants(), func(g Grant) bool { return g.By().Is(by.Name, by.ID) && g.May(verb, sessionID) })
}

// Grants lists the valid devices and tokens, devices first, oldest first.
func (r *Registry) Grants() []Grant {
	now := r.now()
	current := r.file.newest()
	list := make([]Grant, 0, len(current.Devices)+len(current.Tokens))
	for _, kind := range []Kind{KindDevice, KindToken} {
		for _, rec := range current.grants(kind) {
			if rec.live(kind, now) {
				list = append(list, rec.grant(kind))
			}
		}
	}
	return list
}

// LetInSince lists the newest grants that were made after own and within the last
// week and that the owner has not seen yet, oldest first. A token that the command line
// made for itself is listed only if an agent had a turn then: any other shows no more
// than that the owner of the data directory was there.
func (r *Registry) LetInSince(own Grant) []Grant {
	since, now := own.CreatedAt, r.now()
	if week := now.Add(-newFor); week.After(since) {
		since = week
	}
	current := r.file.newest()
	list := []Grant{}
	for _, kind := range []Kind{KindDevice, KindToken} {
		for _, rec := range current.grants(kind) {
			quiet := rec.Holder != "" && (rec.DuringTurn == nil || !*rec.DuringTurn)
			if rec.live(kind, now) && rec.ID != own.ID && !quiet && !rec.CreatedAt.Before(since) && rec.CreatedAt.After(current.Seen) {
				list = append(list, rec.grant(kind))
			}
		}
	}
	slices.SortStableFunc(list, func(a, b Grant) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return list[max(0, len(list)-maxNew):]
}

// Seen records that the owner has seen the grants made until then as new ones. It is
// never set back.
func (r *Registry) Seen(until time.Time) error {
	if now := r.now(); until.After(now) {
		until = now
	}
	err := r.file.update(func(next *record) error {
		if until.After(next.Seen) {
			next.Seen = until.UTC()
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("recording that new access was seen: %w", err)
	}
	return nil
}

// Meet records of a token of the command line whether an agent had a turn when the hub
// met it. The first call counts.
func (r *Registry) Meet(id string, duringTurn bool) error {
	err := r.file.update(func(next *record) error {
		for i, rec := range next.Tokens {
			if rec.ID == id && rec.DuringTurn == nil {
				next.Tokens[i].DuringTurn = &duringTurn
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("meeting the token %s: %w", id, err)
	}
	return nil
}

// Revoke ends a device or a token. Its sockets learn of it through Changed.
func (r *Registry) Revoke(id string) error {
	err := r.file.update(func(next *record) error {
		before := len(next.Devices) + len(next.Tokens)
		same := func(g grantRecord) bool { return g.ID == id }
		next.Devices = slices.DeleteFunc(next.Devices, same)
		next.Tokens = slices.DeleteFunc(next.Tokens, same)
		if len(next.Devices)+len(next.Tokens) == before {
			return ErrNotFound
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("revoking %s: %w", id, err)
	}
	return nil
}

// Rename changes the name of a device or a token. A name without printable
// characters is ErrInvalid.
func (r *Registry) Rename(id, name string) (Grant, error) {
	if err := checkName(name); err != nil {
		return Grant{}, err
	}
	name = cleanName(name)
	if name == "" {
		return Grant{}, fmt.Errorf("renaming %s: %w: a name cannot be empty", id, ErrInvalid)
	}
	var renamed Grant
	err := r.file.update(func(next *record) error {
		for _, kind := range []Kind{KindDevice, KindToken} {
			for i, rec := range next.grants(kind) {
				if rec.ID == id {
					rec.Name = name
					next.grants(kind)[i], renamed = rec, rec.grant(kind)
					return nil
				}
			}
		}
		return ErrNotFound
	})
	if err != nil {
		return Grant{}, fmt.Errorf("renaming %s: %w", id, err)
	}
	return renamed, nil
}

// Changed returns a channel that is closed when grants may have changed. Take it
// before reading them. It also signals changes by other processes while Run runs.
func (r *Registry) Changed() <-chan struct{} { return r.file.changed.Listen() }

// Run detects changes by other processes within half a second, until ctx ends.
func (r *Registry) Run(ctx context.Context) error { return r.file.watch(ctx) }

// touch records that a credential was used. A failure refuses no request.
func (r *Registry) touch(kind Kind, id string, now time.Time) {
	err := r.file.update(func(next *record) error {
		for i, rec := range next.grants(kind) {
			if rec.ID == id {
				next.grants(kind)[i].LastUsed = now.UTC().Truncate(time.Second)
			}
		}
		return nil
	})
	if err != nil {
		r.logger.Warn("last use of a credential not noted", "credential", id, "err", err)
	}
}

func randomText(bytes int) string {
	raw := make([]byte, bytes)
	rand.Read(raw)
	return base64.RawURLEncoding.EncodeToString(raw)
}

func randomID() string {
	raw := make([]byte, 8)
	rand.Read(raw)
	return hex.EncodeToString(raw)
}
