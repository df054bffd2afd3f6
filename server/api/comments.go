package api

import (
	"net/http"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/state"
)

// commentRows are the routes of this file.
func commentRows() section {
	return section{
		title: "Comments",
		about: []string{
			"A text has 1 to 8192 bytes, a `path` and a `quote` at most 4096. `line` and `end_line` count from 1 on the `side` of the change, `new` (also without `side`) or `old`. A line is at most 10,000,000. Each comment is on disk before it is answered. Those who follow the session are sent `comments`.",
		},
		rows: []route{
			{
				"GET", one + "/comments", auth.Credential, auth.Read, false, inSession(commentsRoute),
				doc{summary: "The review comments, oldest first. They are not events.", out: wire.CommentList{}, status: 200},
			},
			{
				"POST", one + "/comments", auth.Credential, auth.Act, false, inSessionWith(commentAddRoute),
				doc{
					summary: "Comment on an event or a range of them. On the device before the answer. At most 1,000 a session.",
					headers: []param{{"Idempotency-Key", "The comment's id: the same request again adds nothing.", ""}},
					in:      wire.NewComment{}, out: wire.Comment{}, status: 201,
				},
			},
			{
				"PATCH", one + "/comments/{comment}", auth.Credential, auth.Act, false, with(commentChangeRoute),
				doc{summary: "Change a comment's text, or resolve it. 400 for a part of its place, which stays.", in: wire.CommentPatch{}, out: wire.Comment{}, status: 200},
			},
			{
				"DELETE", one + "/comments/{comment}", auth.Credential, auth.Act, false, commentRemoveRoute,
				doc{summary: "Remove a comment.", status: 204},
			},
		},
	}
}

func commentsRoute(s *API, c *call, own *session.BackgroundSession) error {
	list, version, err := own.Comments().List()
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, wire.CommentList{Version: version, Comments: append([]wire.Comment{}, list...)})
}

func commentAddRoute(s *API, c *call, own *session.BackgroundSession, in wire.NewComment) error {
	id, err := c.promptID("")
	if err != nil {
		return err
	}
	by := c.grant.By()
	made, err := own.Comments().Add(state.Comment{
		CommentID: id, FromSeq: in.FromSeq, ToSeq: in.ToSeq, Path: in.Path, Line: in.Line, EndLine: in.EndLine, Side: in.Side, Quote: in.Quote,
		Text: in.Text, By: by.Name, ByID: by.ID,
	}, !c.grant.May(auth.Manage, own.ID()))
	if err != nil {
		return err
	}
	return c.reply(http.StatusCreated, made)
}

func commentChangeRoute(s *API, c *call, in wire.CommentPatch) error {
	own, id, err := c.part("comment")
	if err != nil {
		return err
	}
	return c.answer(own.Comments().Edit(id, in, c.grant.By()))
}

func commentRemoveRoute(s *API, c *call) error {
	own, id, err := c.part("comment")
	if err != nil {
		return err
	}
	return c.done(own.Comments().Remove(id, c.grant.By()))
}
