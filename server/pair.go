package server

import (
	"net/http"
	"time"

	"github.com/abidehub/abide/internal/auth"
)

// pairRequest spends a pairing code.
type pairRequest struct {
	Code string `json:"code"`
	// Device is what a person will call this browser in the list of devices.
	Device string `json:"device,omitempty"`
}

// device is one browser or token that may come in.
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

// deviceList is who may come in.
type deviceList struct {
	Devices []device `json:"devices"`
}

func pairRoute(s *Server, c *call) error {
	var in pairRequest
	if err := c.read(&in); err != nil {
		return err
	}
	cookie, grant, err := s.door.Pair(c.r.Context(), c.r, in.Code, in.Device)
	if err != nil {
		return err
	}
	s.manager.Reads().Came(grant.Person())
	s.logger.Info("device paired", "device", grant.ID, "name", grant.Name)
	http.SetCookie(c.w, cookie)
	return c.reply(http.StatusOK, deviceOf(grant, grant))
}

func devicesRoute(s *Server, c *call) error {
	answer := deviceList{Devices: []device{}}
	for _, g := range s.registry.Grants() {
		answer.Devices = append(answer.Devices, deviceOf(g, c.grant))
	}
	return c.reply(http.StatusOK, answer)
}

// deviceChange gives a device or a token another name.
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
	s.logger.Info("access revoked", "device", id, "actor", c.grant.Actor())
	return c.done()
}

func deviceOf(g, current auth.Grant) device {
	return device{
		ID: g.ID, Kind: string(g.Kind), Name: g.Name, Scope: string(g.Scope), SessionID: g.SessionID,
		CreatedAt: g.CreatedAt.UTC(), LastUsed: timeOrNil(g.LastUsed), ExpiresAt: timeOrNil(g.ExpiresAt),
		Current: g.ID == current.ID,
	}
}

func timeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
