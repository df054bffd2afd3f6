package localhub

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/internal/audit"
	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/internal/jsonfile"
)

const (
	credentialName = "cli.json"
	// Holder is the command line's name in lists and logs.
	Holder = "command line"
	// life is how long a credential lasts, and spare how much of that a command
	// wants to begin with.
	life  = time.Hour
	spare = 5 * time.Minute
)

// credential is the content of cli.json.
type credential struct {
	Token     string    `json:"token"`
	ExpiresAt time.Time `json:"expires_at"`
}

func (c credential) good(now time.Time) bool {
	return c.Token != "" && now.Add(spare).Before(c.ExpiresAt)
}

// owner finds a data directory's hub again for each connection: a hub that
// starts again may listen elsewhere, and a credential ends.
type owner struct {
	dir string

	mu   sync.Mutex
	held credential
}

// Connect returns the hub that runs on a data directory, spoken to as its owner.
// Without one the error is ErrNoHub. The hub that comes after it, where this one
// is started again, is spoken to by the same client.
func Connect(ctx context.Context, dir string) (*client.Hub, error) {
	if _, err := Address(dir); err != nil {
		return nil, err
	}
	o := &owner{dir: dir}
	hub := client.Locate(o.locate)
	_, err := hub.Health(ctx)
	if refused := (*client.RefusedError)(nil); errors.As(err, &refused) && refused.Status == 401 {
		// The credential was revoked, or auth.json is another: the owner of the
		// directory makes the next one.
		if err = o.renew(); err == nil {
			_, err = hub.Health(ctx)
		}
	}
	if err != nil {
		hub.Close()
		return nil, err
	}
	return hub, nil
}

func (o *owner) locate(context.Context) (client.Place, error) {
	base, err := announced(o.dir)
	if err != nil {
		return client.Place{}, err
	}
	token, err := o.token()
	if err != nil {
		return client.Place{}, err
	}
	return client.Place{Base: base, Token: token}, nil
}

// token returns a credential that is not about to end: the one held, the one in
// the file, else a new one.
func (o *owner) token() (string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.held.good(time.Now()) {
		return o.held.Token, nil
	}
	if kept, _, err := o.file().Read(); err == nil && kept.good(time.Now()) {
		o.held = kept
		return kept.Token, nil
	}
	return o.mint()
}

// file is cli.json, which a new credential replaces.
func (o *owner) file() jsonfile.File[credential] {
	return jsonfile.File[credential]{Files: disk.Folder{Dir: o.dir, Shared: true}, Name: credentialName, Damage: jsonfile.Forget}
}

func (o *owner) renew() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, err := o.mint()
	return err
}

// mint is called with mu held.
func (o *owner) mint() (string, error) {
	if err := NotAnAgent(); err != nil {
		return "", err
	}
	registry, err := auth.Open(o.dir, nil, nil)
	if err != nil {
		return "", err
	}
	token, grant, err := registry.MintToken(auth.TokenRequest{Name: Holder, Scope: auth.Owner, Life: life, Holder: auth.LocalHolder(os.Getuid()), AskedBy: Asker()})
	if err != nil {
		return "", err
	}
	if err := Granted(o.dir, audit.TokenMade, grant); err != nil {
		return "", err
	}
	o.held = credential{Token: token, ExpiresAt: grant.ExpiresAt}
	if err := o.file().Write(o.held); err != nil {
		return "", err
	}
	return token, nil
}
