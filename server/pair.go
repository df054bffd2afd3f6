package server

import (
	"fmt"
	"net/http"
	"time"

	"github.com/abidehub/abide/internal/audit"
	"github.com/abidehub/abide/internal/auth"
	"rsc.io/qr"
)

// pairRequest redeems a pairing code.
type pairRequest struct {
	Code string `json:"code"`
	// Device is this browser's name in the list of devices.
	Device string `json:"device,omitempty"`
	// PageKey is the page's public key: the uncompressed point of P-256 in
	// base64url. The page keeps the private key.
	PageKey string `json:"page_key"`
}

// pairAnswer is the page's device and its first page token.
type pairAnswer struct {
	device
	Page pageAnswer `json:"page"`
}

// pageRequest exchanges a signed challenge for a page token.
type pageRequest struct {
	Challenge string `json:"challenge"`
	// Signature is the page's signature of "abide-page\n", the origin, "\n" and the
	// challenge: ECDSA with SHA-256, r and s of 32 bytes each, in base64url.
	Signature string `json:"signature"`
}

// pageAnswer is a page token, to be sent as the header Abide-Page beside the
// cookie.
type pageAnswer struct {
	Token     string    `json:"token"`
	ExpiresAt time.Time `json:"expires_at"`
}

// device is a paired browser or a token.
type device struct {
	ID   string `json:"id"`
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Scope is owner, collaborator or viewer.
	Scope     string     `json:"scope"`
	SessionID string     `json:"session_id,omitempty"`
	CreatedAt time.Time  `json:"created_at"`
	LastUsed  *time.Time `json:"last_used,omitempty"`
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
	// Current marks the credential of the request.
	Current bool `json:"current,omitempty"`
}

// deviceList is the list of paired browsers and tokens.
type deviceList struct {
	Devices []device `json:"devices"`
}

// pairingRequest asks for a link that pairs another browser.
type pairingRequest struct{}

// pairingAnswer is a link that pairs one browser, once.
type pairingAnswer struct {
	URL       string    `json:"url"`
	ExpiresAt time.Time `json:"expires_at"`
	// ExpiresIn is the seconds until then, for a client whose clock differs from the hub's.
	ExpiresIn int `json:"expires_in"`
	// Loopback means that the link opens on the hub's machine only, or through a
	// tunnel.
	Loopback bool `json:"loopback"`
	// QR is the link as a QR code: rows of "1" for black and "0" for white.
	QR []string `json:"qr"`
}

// pairingRoute creates a pairing link for a paired browser of the owner. A token
// gets none, because the device would outlive the token.
func pairingRoute(s *Server, c *call) error {
	var in pairingRequest
	if err := c.read(&in); err != nil {
		return err
	}
	if c.grant.Kind != auth.KindDevice {
		return forbidden()
	}
	code, err := s.registry.MintPairingCode()
	if err != nil {
		return err
	}
	c.note(audit.Record{Verb: audit.PairingLink})
	address, loopback := s.door.Address(c.r.Host)
	answer := pairingAnswer{
		URL: address + "/#pair=" + code, Loopback: loopback,
		ExpiresAt: time.Now().Add(auth.PairingLife).UTC(), ExpiresIn: int(auth.PairingLife.Seconds()),
	}
	if answer.QR, err = qrRows(answer.URL); err != nil {
		return fmt.Errorf("drawing a pairing link: %w", err)
	}
	return c.reply(http.StatusCreated, answer)
}

func qrRows(text string) ([]string, error) {
	code, err := qr.Encode(text, qr.L)
	if err != nil {
		return nil, err
	}
	rows := make([]string, code.Size)
	for y := range rows {
		row := make([]byte, code.Size)
		for x := range row {
			row[x] = '0'
			if code.Black(x, y) {
				row[x] = '1'
			}
		}
		rows[y] = string(row)
	}
	return rows, nil
}

func pairRoute(s *Server, c *call) error {
	var in pairRequest
	if err := c.read(&in); err != nil {
		return err
	}
	cookie, grant, err := s.door.Pair(c.r.Context(), c.r, in.Code, in.Device, in.PageKey)
	if err != nil {
		s.noteRefusal(c.r, err)
		return err
	}
	s.note(c.r.RemoteAddr, grant, audit.Record{Verb: audit.DevicePaired, Detail: grantDetail(grant)})
	s.manager.Reads().Came(grant.Person())
	s.logger.Info("device paired", "device", grant.ID, "name", grant.Name)
	http.SetCookie(c.w, cookie)
	token, until := s.door.PageToken(c.r, grant)
	return c.reply(http.StatusOK, pairAnswer{deviceOf(grant, grant), pageAnswer{token, until}})
}

// pageRoute gives the page of a paired device its page token.
func pageRoute(s *Server, c *call) error {
	var in pageRequest
	if err := c.read(&in); err != nil {
		return err
	}
	token, until, err := s.door.Prove(c.r.Context(), c.r, in.Challenge, in.Signature)
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, pageAnswer{token, until})
}

func devicesRoute(s *Server, c *call) error {
	answer := deviceList{Devices: []device{}}
	for _, g := range s.registry.Grants() {
		answer.Devices = append(answer.Devices, deviceOf(g, c.grant))
	}
	return c.reply(http.StatusOK, answer)
}

// deviceChange renames a device or a token.
type deviceChange struct {
	Name string `json:"name"`
}

func renameRoute(s *Server, c *call) error {
	id, err := c.param("device")
	if err != nil {
		return err
	}
	var in deviceChange
	if err := c.read(&in); err != nil {
		return err
	}
	grant, err := s.registry.Rename(id, in.Name)
	if err != nil {
		return err
	}
	c.note(audit.Record{Verb: audit.AccessRenamed, Detail: grantDetail(grant)})
	s.logger.Info("device renamed", "device", id, "name", grant.Name, "actor", c.grant.Actor())
	return c.reply(http.StatusOK, deviceOf(grant, c.grant))
}

func revokeRoute(s *Server, c *call) error {
	id, err := c.param("device")
	if err != nil {
		return err
	}
	if err := s.registry.Revoke(id); err != nil {
		return err
	}
	c.note(audit.Record{Verb: audit.AccessRevoked, Detail: id})
	s.logger.Info("access revoked", "device", id, "actor", c.grant.Actor())
	if id == c.grant.ID && c.grant.Kind == auth.KindDevice {
		http.SetCookie(c.w, s.door.SignOut(c.r))
		forgetCached(c.w.Header())
	}
	return c.done()
}

func deviceOf(g, current auth.Grant) device {
	return device{
		ID: g.ID, Kind: string(g.Kind), Name: g.Name, Scope: string(g.Scope), SessionID: g.SessionID,
		CreatedAt: g.CreatedAt.UTC(), LastUsed: timeOrNil(g.LastUsed), ExpiresAt: timeOrNil(g.ExpiresAt),
		Current: g.ID == current.ID,
	}
}

// grantDetail names a credential in the audit trail.
func grantDetail(g auth.Grant) string {
	return fmt.Sprintf("%s %s %q, %s", g.Kind, g.ID, g.Name, g.Scope)
}

func timeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
