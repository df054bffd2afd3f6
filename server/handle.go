package server

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/api"
	"github.com/abidehub/abide/server/backlog"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/presence"
	"github.com/abidehub/abide/session/state"
)

// handle handles one message. An invalid message does not end the socket. A message
// of an unknown type is ignored and counted.
func (c *SessionWSClient) handle(data []byte) {
	head, err := wire.ReadHead(data)
	if err != nil {
		// Return the request id in the error if it can be read.
		c.refuse(head.RequestID, "", api.Invalid("the message cannot be read: %v", err))
		return
	}
	verb, known := verbOf(head.Type)
	if !known {
		c.server.ignored.Add(1)
		return
	}
	// A message that is refused anyway is not decoded. An invalid session id is
	// refused below.
	if head.Type != typePing && api.ValidID(head.SessionID) && !c.may(verb, head.SessionID) {
		c.refuse(head.RequestID, head.SessionID, api.Forbidden())
		return
	}
	message, err := c.decode(data)
	if err != nil {
		c.refuse(head.RequestID, "", api.Invalid("the message cannot be read: %v", err))
		return
	}
	c.act(message)
}

const typePing = "ping"

// verbOf returns the verb that the credential must have for a message of this type.
func verbOf(messageType string) (verb auth.Verb, known bool) {
	switch messageType {
	case typePing, "observe", "unobserve", "load_events", "ack", "presence":
		return auth.Read, true
	case "prompt", "permission_answer", "cancel", "force_reset", "resume", "dismiss", "restart_agent",
		"queue_edit", "queue_move", "queue_remove", "queue_clear":
		return auth.Act, true
	case "authenticate", "set_mode", "set_config_option":
		return auth.Manage, true
	}
	return 0, false
}

// A decoded message can be many times larger than its bytes. Only a few messages
// above largeMessage are decoded at a time, over all clients.
const (
	largeMessage = 64 << 10
	largeAtOnce  = 4
)

func (c *SessionWSClient) decode(data []byte) (wire.Message, error) {
	if len(data) > largeMessage {
		c.server.large <- struct{}{}
		defer func() { <-c.server.large }()
	}
	return wire.DecodeClient(data)
}

// act carries out a message.
func (c *SessionWSClient) act(message wire.Message) {
	if c.elsewhere(message) {
		return
	}
	switch m := message.(type) {
	case *wire.Ping:
		c.send(c.ctx, &wire.Pong{Nonce: m.Nonce, Time: time.Now().UTC(), MaxSeq: c.maxSeqs()})
	case *wire.Observe:
		c.do(m.RequestID, m.SessionID, auth.Read, func() error { return c.observe(m) })
	case *wire.Unobserve:
		c.stopFollow(m.SessionID)
	case *wire.Ack:
		c.do("", m.SessionID, auth.Read, func() error { return c.ack(m) })
	case *wire.Presence:
		c.do("", m.SessionID, auth.Read, func() error { return c.declare(m) })
	case *wire.LoadEvents:
		c.do(m.RequestID, m.SessionID, auth.Read, func() error { return c.loadEvents(m) })
	case *wire.Prompt:
		c.with(m.RequestID, m.SessionID, auth.Act, func(s *session.BackgroundSession) error { return c.prompt(m, s) })
	case *wire.PermissionAnswer:
		c.with(m.RequestID, m.SessionID, auth.Act, func(s *session.BackgroundSession) error { return c.answer(m, s) })
	default:
		c.handleVerb(message)
	}
}

// elsewhere has a machine carry out a message about a session of it, and reports whether it
// is one. The message becomes the HTTP request that does the same.
func (c *SessionWSClient) elsewhere(message wire.Message) bool {
	id, requestID := ofMessage(message)
	if id == "" || c.server.machines == nil {
		return false
	}
	machine, _, known := c.server.machines.Of(id)
	method, path, body, verb := requestOf(message)
	if !known || method == "" {
		return false
	}
	c.do(requestID, id, verb, func() error {
		if c.slow.Add(1) > maxSlow {
			c.slow.Add(-1)
			return &api.Problem{Code: wire.CodeBusy, Message: "several such requests are waiting already", RetryAfter: api.RetryLater}
		}
		before, done := c.calls.after(id)
		c.wait.Go(func() {
			defer c.slow.Add(-1)
			defer done()
			if before != nil {
				<-before
			}
			if frame := c.ask(machine.ID, method, "/api/sessions/"+id+path, body, message); frame != nil {
				c.send(c.ctx, frame)
			}
		})
		return nil
	})
	return true
}

// ask makes the request, and a frame of its answer; nil if there is none to send.
func (c *SessionWSClient) ask(machine, method, target string, body []byte, message wire.Message) wire.Message {
	id, requestID := ofMessage(message)
	failed := func(err error) wire.Message {
		p, unexpected := api.Explain(err, id)
		if unexpected {
			c.logger().Error("message failed", "session", id, "err", err)
		}
		return p.Frame(requestID, id)
	}
	answer, err := c.server.machines.Ask(c.ctx, machine, api.CallerOf(*c.grant.Load()), method, target, "", body)
	if err != nil {
		return failed(err)
	}
	if answer.Status >= 300 {
		var refused wire.Refused
		if json.Unmarshal(answer.Body, &refused) != nil || refused.Error.Code == "" {
			return failed(&api.Problem{Code: wire.CodeUnavailable, Message: "the machine gave no answer that can be read"})
		}
		e := refused.Error
		if e.Code == wire.CodeUnauthorized {
			e.Code = wire.CodeForbidden // the person is known here
		}
		return &wire.Error{RequestID: requestID, SessionID: id, Code: e.Code, Message: e.Message, RetryAfterMS: e.RetryAfterMS, Winner: e.Winner, Needs: e.Needs}
	}
	switch m := message.(type) {
	case *wire.Prompt:
		var a wire.PromptAnswer
		if json.Unmarshal(answer.Body, &a) != nil {
			return failed(&api.Problem{Code: wire.CodeUnavailable, Message: "the machine gave no answer that can be read"})
		}
		a.PromptID = m.PromptID // whatever the machine says
		return promptAnswered(requestID, id, a)
	case *wire.PermissionAnswer:
		var resolved wire.PermissionResolved
		if json.Unmarshal(answer.Body, &resolved) != nil {
			return failed(&api.Problem{Code: wire.CodeUnavailable, Message: "the machine gave no answer that can be read"})
		}
		resolved.RequestID, resolved.SessionID, resolved.PermissionID = requestID, id, m.PermissionID
		return &resolved
	}
	return nil
}

// handleVerb handles the verbs that only the state answers.
func (c *SessionWSClient) handleVerb(message wire.Message) {
	actor := c.grant.Load().By()
	switch m := message.(type) {
	case *wire.Cancel:
		c.with(m.RequestID, m.SessionID, auth.Act, func(s *session.BackgroundSession) error { return s.Cancel(c.ctx, actor) })
	case *wire.QueueEdit:
		c.with(m.RequestID, m.SessionID, auth.Act, func(s *session.BackgroundSession) error {
			return s.QueueEdit(c.ctx, m.PromptID, m.Text, actor)
		})
	case *wire.QueueMove:
		c.with(m.RequestID, m.SessionID, auth.Act, func(s *session.BackgroundSession) error {
			return s.QueueMove(c.ctx, m.PromptID, m.Position, actor)
		})
	case *wire.QueueRemove:
		c.with(m.RequestID, m.SessionID, auth.Act, func(s *session.BackgroundSession) error {
			return c.server.api.RemoveQueued(c.ctx, c.peer, *c.grant.Load(), s, m.PromptID)
		})
	case *wire.QueueClear:
		c.with(m.RequestID, m.SessionID, auth.Act, func(s *session.BackgroundSession) error {
			return c.server.api.ClearQueue(c.ctx, c.peer, *c.grant.Load(), s)
		})
	case *wire.ForceReset:
		c.aside(m.RequestID, m.SessionID, auth.Act, func(ctx context.Context, s *session.BackgroundSession) error { return s.ForceReset(ctx, actor) })
	case *wire.ResumeTurn:
		c.aside(m.RequestID, m.SessionID, auth.Act, func(ctx context.Context, s *session.BackgroundSession) error {
			_, err := s.Resume(ctx, api.ResumeOf(m.Resume, *c.grant.Load(), s.ID()))
			return err
		})
	case *wire.DismissTurn:
		c.aside(m.RequestID, m.SessionID, auth.Act, func(ctx context.Context, s *session.BackgroundSession) error {
			return s.Dismiss(ctx, m.InterruptionID, actor)
		})
	case *wire.RestartAgent:
		c.aside(m.RequestID, m.SessionID, auth.Act, func(ctx context.Context, s *session.BackgroundSession) error { return s.Restart(ctx, actor) })
	case *wire.Authenticate:
		c.aside(m.RequestID, m.SessionID, auth.Manage, func(ctx context.Context, s *session.BackgroundSession) error {
			return s.Authenticate(ctx, m.MethodID, actor)
		})
	case *wire.SetMode:
		c.aside(m.RequestID, m.SessionID, auth.Manage, func(ctx context.Context, s *session.BackgroundSession) error {
			return s.SetMode(ctx, m.ModeID, actor)
		})
	case *wire.SetConfigOption:
		c.aside(m.RequestID, m.SessionID, auth.Manage, func(ctx context.Context, s *session.BackgroundSession) error {
			return s.SetConfigOption(ctx, m.ConfigID, m.Value, actor)
		})
	}
}

// do makes the checks of every message about a session, and reports errors to the
// client.
func (c *SessionWSClient) do(requestID, id string, verb auth.Verb, act func() error) {
	err := func() error {
		switch {
		case !api.ValidID(id):
			return api.Invalid("session_id is not the id of a session")
		case !c.may(verb, id):
			return api.Forbidden()
		}
		return act()
	}()
	if err != nil {
		c.refuse(requestID, id, err)
	}
}

// with calls a function with a session, which is opened if needed. While the
// session is read, calls wait in order, and the client is heard meanwhile.
func (c *SessionWSClient) with(requestID, id string, verb auth.Verb, act func(*session.BackgroundSession) error) {
	c.do(requestID, id, verb, func() error {
		s, err := c.server.manager.Readable(c.ctx, id)
		if err != nil {
			c.refuseSession(requestID, id, err)
			return nil
		}
		err = c.waiting.call(id, s.Known(), func() error {
			if err := s.OpenError(); err != nil {
				c.refuseSession(requestID, id, err)
				return nil
			}
			return act(s)
		}, func(err error) { c.refuse(requestID, id, err) })
		if errors.Is(err, errManyWait) {
			return &api.Problem{Code: wire.CodeBusy, Message: err.Error(), RetryAfter: api.RetryLater}
		}
		return err
	})
}

// watched returns a session whose events can be read.
func (c *SessionWSClient) watched(id string) (api.Watched, error) {
	if s := c.followed(id); s != nil && !rung(s.Done()) {
		return s, nil
	}
	return c.server.sessions.Watch(c.ctx, id)
}

// aside is with, in another goroutine, for requests that wait for the agent: a pong
// must not wait for them.
func (c *SessionWSClient) aside(requestID, id string, verb auth.Verb, act func(context.Context, *session.BackgroundSession) error) {
	c.with(requestID, id, verb, func(s *session.BackgroundSession) error {
		if c.slow.Add(1) > maxSlow {
			c.slow.Add(-1)
			return &api.Problem{Code: wire.CodeBusy, Message: "several such requests are waiting for the agent already", RetryAfter: api.RetryLater}
		}
		c.wait.Go(func() {
			defer c.slow.Add(-1)
			if err := act(c.ctx, s); err != nil {
				c.refuse(requestID, id, err)
			}
		})
		return nil
	})
}

// refuse sends the error of a message.
func (c *SessionWSClient) refuse(requestID, sessionID string, err error) {
	p, unexpected := api.Explain(err, sessionID)
	if unexpected {
		c.logger().Error("message failed", "session", sessionID, "err", err)
	}
	c.send(c.ctx, p.Frame(requestID, sessionID)) // a failure ends the socket
}

// refuseSession sends the error of a session that cannot be opened. For an unknown
// session it sends session_gone, so that the client stops asking for it.
func (c *SessionWSClient) refuseSession(requestID, id string, err error) {
	if errors.Is(err, state.ErrNotFound) {
		c.sendGone(requestID, id)
		return
	}
	c.refuse(requestID, id, err)
}

func (c *SessionWSClient) loadEvents(m *wire.LoadEvents) error {
	s, err := c.watched(m.SessionID)
	if err != nil {
		c.refuseSession(m.RequestID, m.SessionID, err)
		return nil
	}
	loaded, page, err := backlog.SpanOf(s).Load(c.ctx, m.AfterSeq, m.BeforeSeq, m.Epoch, m.Limit)
	if err != nil {
		return err
	}
	loaded.RequestID = m.RequestID
	frame, err := backlog.Encode(loaded, page, m.Merge)
	if err != nil {
		return err
	}
	c.write(c.ctx, messageOf(frame)) // a failure ends the socket
	return nil
}

func (c *SessionWSClient) prompt(m *wire.Prompt, s *session.BackgroundSession) error {
	grant := c.grant.Load()
	result, err := s.Prompt(c.ctx, session.PromptRequest{
		PromptID: m.PromptID, Text: m.Text, Attachments: m.Attachments,
		When: session.When(m.When), ScheduledAt: m.ScheduledAt, Actor: grant.By(), Guest: !grant.May(auth.Manage, s.ID()),
	})
	if err != nil {
		return err
	}
	c.send(c.ctx, promptFrame(m.RequestID, s.ID(), m.PromptID, result))
	return nil
}

func (c *SessionWSClient) answer(m *wire.PermissionAnswer, s *session.BackgroundSession) error {
	grant := c.grant.Load()
	if err := api.MayRule(*grant, s.ID(), m.Remember); err != nil {
		return err
	}
	outcome, err := s.AnswerPermission(c.ctx, session.Answer{
		PermissionID: m.PermissionID, OptionID: m.OptionID, Content: m.Content, Actor: grant.By(),
		Remember: m.Remember, SeenSeq: m.SeenSeq,
		MayRule: grant.May(auth.Manage, s.ID()),
	})
	if err != nil {
		return err
	}
	c.server.api.NoteAnswer(c.peer, *grant, s.ID(), outcome, m.Remember)
	c.send(c.ctx, api.ResolvedFrame(m.RequestID, s.ID(), outcome))
	return nil
}

// ack records the seq that the client has applied. A seq beyond the log is an
// error.
func (c *SessionWSClient) ack(m *wire.Ack) error {
	s := c.followed(m.SessionID)
	if s == nil {
		return nil // about a session it no longer follows
	}
	epoch := s.Log().Epoch()
	if m.Epoch != "" && m.Epoch != epoch {
		return nil // the client will learn of the new epoch
	}
	if visible := s.Log().Marks().Visible; m.Seq > visible {
		return api.Invalid("ack of seq %d, but the session's last is %d: observe it again", m.Seq, visible)
	}
	if m.Visible {
		c.server.manager.Reads().Move(c.grant.Load().Person(), m.SessionID, epoch, m.Seq)
	}
	c.presence(m.SessionID, func(p *state.Presence) {
		p.Seq = m.Seq
		if !m.Visible {
			p.Activity = state.Away
		} else if p.Activity == state.Away {
			p.Activity = state.Viewing
		}
	})
	return nil
}

// declare records the person's activity at this screen.
func (c *SessionWSClient) declare(m *wire.Presence) error {
	switch m.Activity {
	case state.Viewing, state.Typing, state.Away:
		c.presence(m.SessionID, func(p *state.Presence) { p.Activity = m.Activity })
		return nil
	}
	return api.Invalid("activity is not one of viewing, typing, away")
}

// presence changes this client's entry in the observers of a session it follows.
func (c *SessionWSClient) presence(id string, change func(*state.Presence)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.follow(id)
	if f == nil || f.session == nil {
		return // about a session it no longer follows
	}
	now, typing := time.Now(), &f.presence
	if typing.Activity == state.Typing && now.Sub(f.typedAt) >= presence.TypingLasts {
		typing.Activity = state.Viewing // others already see it as viewing
	}
	seq := typing.Seq
	change(&f.presence)
	f.presence.Viewer = !c.grant.Load().May(auth.Act, id)
	if f.presence.Seq == seq { // an ack with a new seq is no report of typing
		f.typedAt = now
	}
	f.session.SetPresence(c.id, f.presence)
}
