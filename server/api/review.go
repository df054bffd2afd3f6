package api

import (
	"net/http"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
)

const savedQuery = "saved"

// overviewRows are the routes of this file.
func overviewRows() section {
	return section{
		title: "The overview of a session",
		about: []string{
			"See [the overview](#the-overview).",
		},
		rows: []route{
			{
				"GET", one + "/overview", auth.Credential, auth.Read, false, inSession(overviewRoute),
				doc{summary: "The session at a glance: how its events lie in time, what is worth going to, and a summary of each turn with the files it changed.", out: wire.Overview{}, status: 200},
			},
			{
				"GET", one + "/snapshot", auth.Credential, auth.Read, false, snapshotRoute,
				doc{
					summary: "What the session is after all its events, in one piece: what was said, the agent's plan, files, outputs, and numbers.",
					out:     wire.Snapshot{}, status: 200,
					query: []param{{savedQuery, "true for the one that was saved last, at once: it may be of an earlier event, and there may be none (404)", ""}},
				},
			},
		},
	}
}

// snapshotRoute opens no session.
func snapshotRoute(s *API, c *call) error {
	saved := c.r.URL.Query().Get(savedQuery)
	if saved != "" && saved != "true" {
		return Invalid("%s is true or absent", savedQuery)
	}
	snap, err := s.manager.Snapshot(c.r.Context(), c.id(), saved != "")
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, snapshotBody(snap))
}

func snapshotBody(snap session.Snapshot) wire.Snapshot {
	return wire.Snapshot{
		Snapshot: snap.Snapshot, StateSizeBytes: snap.Size, StoredBytes: snap.Bytes,
		CompressionRatio: float64(snap.Bytes) / float64(max(1, snap.Size)),
	}
}

func overviewRoute(s *API, c *call, own *session.BackgroundSession) error {
	// What the agent did not tell is of the workspace, of which a viewer is told nothing.
	return c.answer(s.manager.Overview(c.r.Context(), own.ID(), c.grant.May(auth.Act, own.ID())))
}
