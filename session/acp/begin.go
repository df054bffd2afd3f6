package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// The methods the hub calls.
const (
	methodInitialize   = "initialize"
	methodAuthenticate = "authenticate"
	methodLogout       = "logout"
	methodNew          = "session/new"
	methodLoad         = "session/load"
	methodResume       = "session/resume"
	methodList         = "session/list"
	methodClose        = "session/close"
	methodDelete       = "session/delete"
	methodSetTitle     = "session/set_title"
	methodFork         = "session/fork"
	methodPrompt       = "session/prompt"
	methodCancel       = "session/cancel"
	methodSetMode      = "session/set_mode"
	methodSetOption    = "session/set_config_option"
	methodSetModel     = "session/set_model"
)

func beginsSession(method string) bool {
	return method == methodNew || method == methodLoad || method == methodResume
}

// protocolVersion is the version of the protocol spoken here.
const protocolVersion = 1

// begin initializes the connection and begins the session. The reader records the
// result.
func (a *Agent) begin(ctx context.Context) error {
	offers, err := a.hello(ctx)
	if err != nil {
		return err
	}
	if err := a.logIn(ctx, offers); err != nil {
		return err
	}
	session, err := a.beginSession(ctx, offers)
	if err != nil {
		return offers.explain(err)
	}
	a.mu.Lock()
	a.session = session
	a.mu.Unlock()
	return nil
}

// hello initializes the connection.
func (a *Agent) hello(ctx context.Context) (offers, error) {
	hello, err := a.bounded(ctx, methodInitialize, a.cfg.introduction())
	if err != nil {
		return offers{}, err
	}
	o, err := readOffers(hello, a.cfg.Command)
	if err != nil {
		return offers{}, err
	}
	a.mu.Lock()
	a.offers = o
	a.mu.Unlock()
	return o, nil
}

// logIn asks the agent to log in if the config names a method. It does not send a
// login that happens in a terminal: the start of the session shows whether that was
// done.
func (a *Agent) logIn(ctx context.Context, offers offers) error {
	id := a.cfg.AuthMethod
	if id == "" {
		return nil
	}
	method, offered := offers.method(id)
	var err error
	switch {
	case !offered:
		err = errors.New("it is not one of the agent's ways to log in")
	case method.Command == nil:
		_, err = a.bounded(ctx, methodAuthenticate, map[string]any{"methodId": id})
	}
	if err != nil {
		return fmt.Errorf("login by %q failed (%w): %w", id, err, &AuthError{Methods: offers.auth, Err: err})
	}
	return nil
}

// placed returns the members of a request that say where a session works.
func (a *Agent) placed(o offers, folder string, servers []json.RawMessage) map[string]any {
	params := map[string]any{"cwd": folder, "mcpServers": servers}
	if o.directories && len(a.cfg.Directories) > 0 {
		params["additionalDirectories"] = a.cfg.Directories
	}
	return params
}

// beginSession resumes the session, else loads it, else creates a new one.
func (a *Agent) beginSession(ctx context.Context, offers offers) (string, error) {
	taken, _ := offers.servers(a.cfg.MCPServers)
	servers := make([]json.RawMessage, 0, len(taken))
	for _, server := range taken {
		servers = append(servers, server.mcpServer())
	}
	params := a.placed(offers, a.cfg.Workspace, servers)
	if a.cfg.Adopt {
		params["sessionId"] = a.cfg.Resume
		if !offers.load {
			return "", fmt.Errorf("%s: %w", methodLoad, ErrNotOffered)
		}
		_, err := a.bounded(ctx, methodLoad, params)
		return a.cfg.Resume, err
	}
	if a.cfg.Resume != "" {
		params["sessionId"] = a.cfg.Resume
		for _, method := range offers.continuing() {
			if err := a.expectReplay(ctx, method); err != nil {
				return "", err
			}
			_, err := a.bounded(ctx, method, params)
			if err == nil {
				return a.cfg.Resume, nil
			}
			var refused *RequestError
			if !errors.As(err, &refused) || refused.Code == codeAuthRequired {
				return "", err
			}
			a.cfg.Logger.Warn("agent cannot continue its session", "method", method, "err", err)
		}
		delete(params, "sessionId")
		a.tap.loading.Store(false)
	}
	result, err := a.bounded(ctx, methodNew, params)
	if err != nil {
		return "", err
	}
	var began struct {
		SessionID string `json:"sessionId"`
	}
	if err := json.Unmarshal(result, &began); err != nil || began.SessionID == "" {
		return "", fmt.Errorf("%s: the answer names no session", methodNew)
	}
	return began.SessionID, a.giveAccount(ctx)
}

// expectReplay announces that the agent's next output may be a replay. After
// session/load it is compared with the log's history. After session/resume there
// should be none: what comes is dropped, and not compared, as that reads the log.
func (a *Agent) expectReplay(ctx context.Context, method string) error {
	if method == methodLoad && a.cfg.Known != nil {
		known, err := a.cfg.Known(ctx)
		if err != nil {
			return err
		}
		a.tap.stream.known.Store(known)
	}
	a.tap.loading.Store(true)
	return nil
}

// giveAccount keeps the summary for an agent without memory until the first prompt.
func (a *Agent) giveAccount(ctx context.Context) error {
	if !a.cfg.ContextLost || a.cfg.Account == nil {
		return nil
	}
	account, err := a.cfg.Account(ctx)
	a.mu.Lock()
	a.account = account
	a.mu.Unlock()
	return err
}

// bounded is request with the time limit for starting.
func (a *Agent) bounded(ctx context.Context, method string, params any) (json.RawMessage, error) {
	cause := fmt.Errorf("no answer in %s: %w", a.cfg.Bounds.Start, context.DeadlineExceeded)
	ctx, cancel := context.WithTimeoutCause(ctx, a.cfg.Bounds.Start, cause)
	defer cancel()
	return a.request(ctx, method, params)
}

// introduction contains the hub's name and version.
func (c Config) introduction() any {
	version := c.Version
	if version == "" {
		version = "dev"
	}
	type object = map[string]any
	return object{
		"protocolVersion": protocolVersion,
		"clientInfo":      object{"name": "abide", "title": "abide", "version": version},
		"clientCapabilities": object{
			"fs":       object{"readTextFile": c.Files, "writeTextFile": c.Files},
			"terminal": c.Terminals,
			// A person logs in in their own terminal; the hub shows the command to
			// run there.
			"auth":        object{"terminal": true},
			"elicitation": object{"form": object{}, "url": object{}},
			"session":     object{"configOptions": object{"boolean": object{}}, "compaction": object{}, "notices": object{}},
			// Agents that run commands themselves stream their output under this
			// name.
			"_meta": object{"terminal_output": true, "terminal-auth": true},
		},
	}
}
