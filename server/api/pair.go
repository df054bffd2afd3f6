package api

import (
	"fmt"
	"net/http"
	"time"

	"github.com/abidehub/abide/internal/audit"
	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/list"
	"github.com/abidehub/abide/session/state"
	"rsc.io/qr"
)

// deviceRows are the routes of this file.
func deviceRows() section {
	return section{
		title: "Devices",
		about: []string{
			"See [credentials](#credentials).",
		},
		rows: []route{
			{
				"POST", "/api/pair", auth.OwnPage, auth.Read, false, with(pairRoute),
				doc{summary: "Spend a pairing code; the answer sets the device's cookie and has its first page token. Needs the page's own Origin and no credential.", in: wire.Pair{}, out: wire.Paired{}, status: 200},
			},
			{
				"POST", "/api/pairings", auth.Credential, auth.Manage, false, with(pairingRoute),
				doc{summary: "Make a link that pairs one more browser, once, within two minutes. Only a paired browser of the owner may, not a token.", in: wire.NewPairing{}, out: wire.PairingLink{}, status: 201},
			},
			{
				"POST", "/api/page", auth.OwnPage, auth.Read, false, with(pageRoute),
				doc{summary: "Exchange a signed challenge, which a 401 to a device's cookie carries, for a page token: the header Abide-Page, which each request with the cookie needs. Needs the page's own Origin and the cookie.", in: wire.PageProof{}, out: wire.PageToken{}, status: 200},
			},
			{
				"GET", "/api/devices", auth.Credential, auth.Manage, false, devicesRoute,
				doc{summary: "Paired browsers and tokens.", out: wire.Devices{}, status: 200},
			},
			{
				"POST", "/api/devices/seen", auth.Credential, auth.Manage, false, with(seenRoute),
				doc{summary: "The owner has seen the devices and tokens made until then: no device shows them as new any more.", in: wire.SeenDevices{}, status: 204},
			},
			{
				"PATCH", "/api/devices/{device}", auth.Credential, auth.Manage, false, renameRoute,
				doc{summary: "Give a device or a token another name, of at most 64 characters: lists show it, and what is done with it from now on.", in: wire.DevicePatch{}, out: wire.Device{}, status: 200},
			},
			{
				"DELETE", "/api/devices/{device}", auth.Credential, auth.Manage, false, revokeRoute,
				doc{summary: "End a device's or a token's access. Its sockets are closed within a second.", status: 204},
			},
		},
	}
}

// pairingRoute creates a pairing link for a paired browser of the owner. A token
// gets none, because the device would outlive the token.
func pairingRoute(s *API, c *call, in wire.NewPairing) error {
	if c.grant.Kind != auth.KindDevice {
		return Forbidden()
	}
	code, err := s.registry.MintPairingCode()
	if err != nil {
		return err
	}
	c.note(audit.Record{Verb: audit.PairingLink})
	address, loopback := s.door.Address(c.r.Host)
	answer := wire.PairingLink{
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

func pairRoute(s *API, c *call, in wire.Pair) error {
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
	return c.reply(http.StatusOK, wire.Paired{Device: deviceOf(grant, grant), Page: wire.PageToken{Token: token, ExpiresAt: until}})
}

// pageRoute gives the page of a paired device its page token.
func pageRoute(s *API, c *call, in wire.PageProof) error {
	token, until, err := s.door.Prove(c.r.Context(), c.r, in.Challenge, in.Signature)
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, wire.PageToken{Token: token, ExpiresAt: until})
}

func devicesRoute(s *API, c *call) error {
	answer := wire.Devices{Devices: []wire.Device{}}
	for _, g := range s.registry.Grants() {
		answer.Devices = append(answer.Devices, deviceOf(g, c.grant))
	}
	return c.reply(http.StatusOK, answer)
}

func renameRoute(s *API, c *call) error {
	id, err := c.param("device")
	if err != nil {
		return err
	}
	var in wire.DevicePatch
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

func seenRoute(s *API, c *call, in wire.SeenDevices) error {
	return c.done(s.registry.Seen(in.Until))
}

// meet notes of a new token of the command line whether an agent has a turn. It is
// called before the token's first request is served, which may begin a turn, and for
// tokens that were not presented yet within a second.
func (s *API) meet(g auth.Grant) {
	if g.Met || g.Holder == "" {
		return
	}
	running, err := s.manager.List(list.Options{Status: string(state.StatusRunning), Limit: 1})
	if err == nil {
		err = s.registry.Meet(g.ID, len(running.Sessions) > 0)
	}
	if err != nil {
		s.logger.Error("a new token was not noted", "credential", g.ID, "err", err)
	}
}

// MeetAll meets the new tokens of the command line.
func (s *API) MeetAll() {
	for _, g := range s.registry.Grants() {
		s.meet(g)
	}
}

func revokeRoute(s *API, c *call) error {
	id, err := c.param("device")
	if err != nil {
		return err
	}
	if id == c.grant.ID {
		c.held.Release() // it is told the outcome
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
	return c.done(nil)
}

func deviceOf(g, current auth.Grant) wire.Device {
	return wire.Device{
		ID: g.ID, Kind: string(g.Kind), Name: g.Name, Scope: string(g.Scope), SessionID: g.SessionID,
		CreatedAt: g.CreatedAt.UTC(), LastUsed: timeOrNil(g.LastUsed), ExpiresAt: timeOrNil(g.ExpiresAt), AskedBy: g.AskedBy,
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
