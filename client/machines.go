package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/abidehub/abide/server/wire"
)

// Machines lists the machines that joined the hub, and the home that it joined.
func (h *Hub) Machines(ctx context.Context) (wire.Machines, error) {
	var all wire.Machines
	err := h.do(ctx, http.MethodGet, "/api/machines", nil, &all)
	return all, err
}

// MachineLink makes a link with which one machine joins the hub, once.
func (h *Hub) MachineLink(ctx context.Context) (wire.MachineLink, error) {
	var link wire.MachineLink
	err := h.do(ctx, http.MethodPost, "/api/machines/links", wire.NewMachineLink{}, &link)
	return link, err
}

// RenameMachine gives a machine another name.
func (h *Hub) RenameMachine(ctx context.Context, id, name string) (wire.JoinedMachine, error) {
	var m wire.JoinedMachine
	err := h.do(ctx, http.MethodPatch, "/api/machines/"+url.PathEscape(id), wire.MachinePatch{Name: name}, &m)
	return m, err
}

// ForgetMachine ends a machine's access.
func (h *Hub) ForgetMachine(ctx context.Context, id string) error {
	return h.do(ctx, http.MethodDelete, "/api/machines/"+url.PathEscape(id), nil, nil)
}

// JoinHome lets the hub join another.
func (h *Hub) JoinHome(ctx context.Context, in wire.NewHome) (wire.Home, error) {
	var home wire.Home
	err := h.do(ctx, http.MethodPost, "/api/home", in, &home)
	return home, err
}

// LeaveHome ends that.
func (h *Hub) LeaveHome(ctx context.Context) error {
	return h.do(ctx, http.MethodDelete, "/api/home", nil, nil)
}
