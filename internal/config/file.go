package config

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/abidehub/abide/internal/outgoing"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// file is config.yaml. Pointers tell an absent key from an empty value. Numbers
// stay as written until whole looks at them: the decoder would cut off a fraction
// silently.
type file struct {
	Addr        *string                `yaml:"addr"`
	Data        *string                `yaml:"data"`
	Durability  *string                `yaml:"durability"`
	LogFileMiB  *float64               `yaml:"log_file_mib"`
	KeepLogMiB  *float64               `yaml:"keep_log_mib"`
	Open        *bool                  `yaml:"open"`
	PublicNames []string               `yaml:"public_names"`
	Agents      map[string]fileAgent   `yaml:"agents"`
	DemoAgent   *bool                  `yaml:"demo_agent"`
	Workspaces  []string               `yaml:"workspaces"`
	Worktrees   *string                `yaml:"worktrees"`
	UndoWait    *string                `yaml:"undo_wait"`
	Storage     fileStorage            `yaml:"storage"`
	Machines    fileMachines           `yaml:"machines"`
	Jobs        fileJobs               `yaml:"jobs"`
	Permissions filePermissions        `yaml:"permissions"`
	Queue       fileQueue              `yaml:"queue"`
	Projects    map[string]fileProject `yaml:"projects"`
	Resume      fileResume             `yaml:"resume"`
	Limits      fileLimits             `yaml:"limits"`
	Outgoing    fileOutgoing           `yaml:"outgoing"`
	Channels    map[string]fileChannel `yaml:"channels"`
}

type fileAgent struct {
	Command    []string          `yaml:"command"`
	Env        map[string]string `yaml:"env"`
	PassEnv    []string          `yaml:"pass_env"`
	Files      bool              `yaml:"fs"`
	Terminals  bool              `yaml:"terminal"`
	MCPServers []MCPServer       `yaml:"mcp_servers"`
	Silence    *string           `yaml:"silence"`
	StartLimit *string           `yaml:"start_limit"`
	Resume     fileAgentResume   `yaml:"resume"`
	Mode       string            `yaml:"mode"`
	Model      string            `yaml:"model"`
	Options    map[string]any    `yaml:"options"`
}

type filePermissions struct {
	Unattended *string `yaml:"unattended"`
	WaitLimit  *string `yaml:"wait_limit"`
}

type fileQueue struct {
	Everywhere fileProjectQueue `yaml:",inline"`
	// Workspaces is what projects were before they had more than a queue.
	Workspaces map[string]fileProjectQueue `yaml:"workspaces"`
}

// fileProject has the settings of one directory.
type fileProject struct {
	Queue    *fileProjectQueue `yaml:"queue"`
	Worktree *fileWorktree     `yaml:"worktree"`
	Git      *fileGit          `yaml:"git"`
	Jobs     *fileProjectJobs  `yaml:"jobs"`
	Budget   *fileBudget       `yaml:"budget"`

	Directories []string `yaml:"directories"`
}

type fileWorktree struct {
	Copy  []string `yaml:"copy"`
	Setup []string `yaml:"setup"`
}

type fileJobs struct {
	AtOnce       *float64 `yaml:"at_once"`
	PerAgent     *float64 `yaml:"per_agent"`
	PerProject   *float64 `yaml:"per_project"`
	StreamEvents *float64 `yaml:"stream_events"`
}

type fileProjectJobs struct {
	TestCommands []string            `yaml:"test_commands"`
	Auditors     map[string][]string `yaml:"auditors"`
	Auditor      string              `yaml:"auditor"`
	Caps         fileJobCaps         `yaml:"caps"`
}

type fileJobCaps struct {
	WallS       *float64 `yaml:"wall_s"`
	RoundS      *float64 `yaml:"round_s"`
	Rounds      *float64 `yaml:"rounds"`
	Tokens      *float64 `yaml:"tokens"`
	Cost        *float64 `yaml:"cost"`
	Events      *float64 `yaml:"events"`
	OutputBytes *float64 `yaml:"output_bytes"`
}

type fileGit struct {
	Collaborators bool   `yaml:"collaborators"`
	Push          bool   `yaml:"push"`
	Forge         string `yaml:"forge"`
	PullRequests  string `yaml:"pull_requests"`
	Sign          bool   `yaml:"sign"`
}

type fileProjectQueue struct {
	Enabled           *bool    `yaml:"enabled"`
	Delay             *string  `yaml:"delay"`
	MaxSize           *float64 `yaml:"max_size"`
	Titles            *bool    `yaml:"titles"`
	AfterInterruption *string  `yaml:"after_interruption"`
}

type fileLimits struct {
	Sessions *float64 `yaml:"sessions"`
	Agents   *float64 `yaml:"agents"`
	Clients  *float64 `yaml:"clients"`

	SessionAttachmentsMiB *float64 `yaml:"session_attachments_mib"`
	DailyAttachmentsMiB   *float64 `yaml:"daily_attachments_mib"`
}

type fileOutgoing struct {
	Allow []string `yaml:"allow"`
}

var (
	agentName  = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)
	publicName = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?$`)
)

// asHere removes what editors of other systems write: a mark of the byte order at the
// beginning, and CR before each LF.
func asHere(text []byte) []byte {
	return bytes.ReplaceAll(bytes.TrimPrefix(text, []byte(byteOrderMark)), []byte("\r\n"), []byte("\n"))
}

const byteOrderMark = "\ufeff"

func (l Loader) applyFile(c *Config, data []byte) error {
	parsed, err := parser.ParseBytes(asHere(data), 0)
	if err != nil {
		return l.yamlError(err)
	}
	if len(parsed.Docs) > 1 {
		return &Error{File: l.Path, Line: parsed.Docs[1].GetToken().Position.Line, Reason: "a second document; one is expected"}
	}
	if len(parsed.Docs) == 0 || parsed.Docs[0].Body == nil || parsed.Docs[0].Body.Type() == ast.NullType || parsed.Docs[0].Body.Type() == ast.CommentType {
		return nil
	}
	body := parsed.Docs[0].Body
	x := expansion{loader: l, put: map[string]string{}}
	if err := x.expand(body); err != nil {
		return err
	}
	err = x.hide(l.applyParsed(c, parsed, body))
	for i, agent := range c.Agents {
		c.Agents[i].Shown = x.unexpanded(strings.Join(agent.Command, " "))
	}
	return err
}

func (l Loader) applyParsed(c *Config, doc *ast.File, body ast.Node) error {
	var f file
	if err := yaml.NodeToValue(body, &f, yaml.Strict()); err != nil {
		return l.yamlError(err)
	}
	r := reader{loader: l, doc: doc, base: filepath.Dir(l.Path)}
	return r.apply(c, f)
}

func (l Loader) yamlError(err error) error {
	var at yaml.Error
	if errors.As(err, &at) {
		e := &Error{File: l.Path, Reason: at.GetMessage()}
		var mismatch *yaml.TypeError
		if errors.As(err, &mismatch) {
			e.Reason = fmt.Sprintf("%s%q is not %s", keyOf(at.GetToken()), at.GetToken().Value, wanted(mismatch.DstType))
		}
		var other *yaml.UnexpectedNodeTypeError
		if errors.As(err, &other) {
			e.Reason = fmt.Sprintf("%s%s is expected, not %s", keyOf(at.GetToken()), inWords(other.Expected), inWords(other.Actual))
		}
		if at := at.GetToken(); at != nil {
			e.Line = at.Position.Line
			if at.Type == token.AliasType || at.Prev != nil && at.Prev.Type == token.AliasType {
				e.Reason = "there is no such anchor; a value that begins with * needs quotes around it"
			}
		}
		return e
	}
	return &Error{File: l.Path, Reason: err.Error()}
}

// inWords names a kind of YAML for people.
func inWords(t ast.NodeType) string {
	switch t {
	case ast.SequenceType:
		return "a list"
	case ast.MappingType, ast.MappingValueType:
		return "a mapping"
	case ast.StringType, ast.LiteralType:
		return "text"
	}
	return t.YAMLName()
}

// keyOf is the key that a value stands right behind, with a colon, or nothing.
func keyOf(value *token.Token) string {
	colon := value.Prev
	if colon == nil || colon.Type != token.MappingValueType || colon.Prev == nil {
		return ""
	}
	return colon.Prev.Value + ": "
}

// wanted names a Go type in YAML's words for people.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Float64:
		return "a number"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "a mapping"
	}
	return "text"
}

// reader turns the file into a Config, and keeps the position of each value.
type reader struct {
	loader Loader
	doc    *ast.File
	base   string
}

// wrong points at the value with this path, such as $.queue.delay.
func (r reader) wrong(path, format string, args ...any) error {
	e := &Error{File: r.loader.Path, Reason: strings.TrimPrefix(path, "$.") + ": " + fmt.Sprintf(format, args...)}
	for _, arg := range args {
		if cause, ok := arg.(error); ok {
			e.cause = cause
		}
	}
	if p, err := yaml.PathString(path); err == nil {
		if node, err := p.FilterFile(r.doc); err == nil && node != nil {
			e.Line = node.GetToken().Position.Line
		}
	}
	return e
}

func (r reader) apply(c *Config, f file) error {
	steps := []func(*Config, file) error{r.applyHub, r.applyAgents, r.applyWorkspaces, r.applyWorktrees, r.applyUndo, r.applyPolicy, r.applyQueue, r.applyProjects, r.applyResume, r.applyLimits, r.applyOutgoing, r.applyChannels}
	for _, step := range steps {
		if err := step(c, f); err != nil {
			return err
		}
	}
	return nil
}

func (r reader) applyHub(c *Config, f file) error {
	if f.Addr != nil {
		if err := checkAddr(*f.Addr); err != nil {
			return r.wrong("$.addr", "%v", err)
		}
		c.Addr = *f.Addr
	}
	if f.Data != nil {
		if *f.Data == "" {
			return r.wrong("$.data", "it names no directory; leave the line out for the usual one")
		}
		path, err := r.loader.absolute(*f.Data, r.base)
		if err != nil {
			return r.wrong("$.data", "%v", err)
		}
		c.Data = path
	}
	if f.Durability != nil {
		if err := checkDurability(*f.Durability); err != nil {
			return r.wrong("$.durability", "%v", err)
		}
		c.Durability = *f.Durability
	}
	if err := r.setCount("$.log_file_mib", &c.LogFileMiB, f.LogFileMiB); err != nil {
		return err
	}
	if f.KeepLogMiB != nil {
		n, err := whole(*f.KeepLogMiB)
		if err == nil {
			err = checkSize(n)
		}
		if err != nil {
			return r.wrong("$.keep_log_mib", "%v", err)
		}
		c.KeepLogMiB = n
	}
	if f.Open != nil {
		c.Open = *f.Open
	}
	if f.DemoAgent != nil {
		c.DemoAgent = *f.DemoAgent
	}
	for i, name := range f.PublicNames {
		name, err := checkPublicName(name)
		if err != nil {
			return r.wrong(fmt.Sprintf("$.public_names[%d]", i), "%v", err)
		}
		c.PublicNames = append(c.PublicNames, name)
	}
	return nil
}

func (r reader) applyAgents(c *Config, f file) error {
	for _, name := range r.keys("$.agents") {
		a := f.Agents[name]
		path := "$.agents." + name
		switch {
		case !agentName.MatchString(name):
			return r.wrong("$.agents", "%q is not an agent's name: lower-case letters, digits, - and _", name)
		case len(a.Command) == 0 || a.Command[0] == "":
			return r.wrong(path, "needs a command, a list of the program and its arguments")
		}
		for variable := range a.Env {
			if variable == "" || strings.ContainsAny(variable, "=\x00") {
				// The text behind the first = may be a secret.
				name, _, _ := strings.Cut(variable, "=")
				return r.wrong(path+".env", "a variable's name has no = in it and is not empty: write %q: and its value behind it", name)
			}
		}
		for i := range a.MCPServers {
			if err := checkMCPServer(&a.MCPServers[i]); err != nil {
				return r.wrong(fmt.Sprintf("%s.mcp_servers[%d]", path, i), "%v", err)
			}
		}
		var silence, start time.Duration
		if err := setSeconds(&silence, a.Silence); err != nil {
			return r.wrong(path+".silence", "%v", err)
		}
		if err := setSeconds(&start, a.StartLimit); err != nil {
			return r.wrong(path+".start_limit", "%v", err)
		}
		resume, field, err := a.Resume.of()
		if err != nil {
			return r.wrong(path+".resume."+field, "%v", err)
		}
		for _, id := range slices.Sorted(maps.Keys(a.Options)) {
			switch a.Options[id].(type) {
			case string, bool:
			default:
				return r.wrong(path+".options."+id, "write true, false or a text: a number that is a choice stands in quotes")
			}
		}
		c.Agents = append(c.Agents, Agent{
			Name: name, Command: a.Command, Env: a.Env, PassEnv: a.PassEnv,
			Files: a.Files, Terminals: a.Terminals, MCPServers: a.MCPServers, Silence: silence, StartLimit: start, Resume: resume,
			Mode: a.Mode, Model: a.Model, Options: a.Options,
		})
	}
	return nil
}

func (r reader) applyWorkspaces(c *Config, f file) error {
	for i, dir := range f.Workspaces {
		path, err := r.loader.absolute(dir, r.base)
		if err != nil || dir == "" {
			return r.wrong(fmt.Sprintf("$.workspaces[%d]", i), "%q is not a directory", dir)
		}
		c.Workspaces = append(c.Workspaces, path)
	}
	return nil
}

func (r reader) applyWorktrees(c *Config, f file) error {
	if f.Worktrees == nil {
		return nil
	}
	if c.Worktrees = *f.Worktrees; c.Worktrees == BesideRepository {
		return nil
	}
	path, err := r.loader.absolute(*f.Worktrees, r.base)
	if err != nil || *f.Worktrees == "" {
		return r.wrong("$.worktrees", "%q is neither a directory nor the word %s", *f.Worktrees, BesideRepository)
	}
	c.Worktrees = path
	return nil
}

func (r reader) applyUndo(c *Config, f file) error {
	if f.UndoWait == nil {
		return nil
	}
	if err := setDuration(&c.UndoWait, *f.UndoWait); err != nil {
		return r.wrong("$.undo_wait", "%v", err)
	}
	if c.UndoWait > time.Minute {
		return r.wrong("$.undo_wait", "%q is more than a minute, and each prompt may wait so long", *f.UndoWait)
	}
	return nil
}

func (r reader) applyPolicy(c *Config, f file) error {
	if v := f.Permissions.Unattended; v != nil {
		if err := checkUnattended(*v); err != nil {
			return r.wrong("$.permissions.unattended", "%v", err)
		}
		c.Permissions.Unattended = *v
	}
	if v := f.Permissions.WaitLimit; v != nil {
		if err := setDuration(&c.Permissions.WaitLimit, *v); err != nil {
			return r.wrong("$.permissions.wait_limit", "%v", err)
		}
	}
	return nil
}

func (r reader) applyLimits(c *Config, f file) error {
	for _, limit := range []struct {
		path string
		to   *int
		from *float64
	}{
		{"$.limits.sessions", &c.Limits.Sessions, f.Limits.Sessions},
		{"$.limits.agents", &c.Limits.Agents, f.Limits.Agents},
		{"$.limits.clients", &c.Limits.Clients, f.Limits.Clients},
		{"$.limits.session_attachments_mib", &c.Limits.SessionAttachmentsMiB, f.Limits.SessionAttachmentsMiB},
		{"$.limits.daily_attachments_mib", &c.Limits.DailyAttachmentsMiB, f.Limits.DailyAttachmentsMiB},
		{"$.jobs.at_once", &c.Jobs.AtOnce, f.Jobs.AtOnce},
		{"$.jobs.per_agent", &c.Jobs.PerAgent, f.Jobs.PerAgent},
		{"$.jobs.per_project", &c.Jobs.PerProject, f.Jobs.PerProject},
		{"$.jobs.stream_events", &c.Jobs.StreamEvents, f.Jobs.StreamEvents},
	} {
		if err := r.setCount(limit.path, limit.to, limit.from); err != nil {
			return err
		}
	}
	if path, err := f.Storage.apply(&c.Storage); err != nil {
		return r.wrong(path, "%v", err)
	}
	if path, err := f.Machines.apply(&c.Machines); err != nil {
		return r.wrong(path, "%v", err)
	}
	return nil
}

func (r reader) applyOutgoing(c *Config, f file) error {
	allow, err := outgoing.ParseAllow(f.Outgoing.Allow)
	if err != nil {
		return r.wrong("$.outgoing.allow", "%v", err)
	}
	c.Outgoing.Allow = allow
	return nil
}

func (r reader) setCount(path string, to *int, from *float64) error {
	if from == nil {
		return nil
	}
	n, err := wholeCount(*from)
	if err != nil {
		return r.wrong(path, "%v", err)
	}
	*to = n
	return nil
}

// keys lists the keys of a mapping in the order of the file, which a decoded
// map forgets.
func (r reader) keys(path string) []string {
	p, err := yaml.PathString(path)
	if err != nil {
		return nil
	}
	node, err := p.FilterFile(r.doc)
	if err != nil {
		return nil
	}
	var keys []string
	if mapping, ok := node.(ast.MapNode); ok {
		for it := mapping.MapRange(); it.Next(); {
			keys = append(keys, it.Key().GetToken().Value)
		}
	}
	return keys
}

func checkDurability(s string) error {
	if s != "balanced" && s != "strict" {
		return fmt.Errorf("%q is neither balanced nor strict", s)
	}
	return nil
}

func checkUnattended(s string) error {
	if s != "wait" && s != "deny" {
		return fmt.Errorf("%q is neither wait nor deny; requests are never allowed unattended", s)
	}
	return nil
}

// checkPublicName wants a Host value: no scheme, no pattern, no path.
func checkPublicName(name string) (string, error) {
	name = strings.ToLower(name)
	if !publicName.MatchString(name) {
		return "", fmt.Errorf("%q is not a host name as a browser sends it, such as abide.example.ts.net or box.local:8443", name)
	}
	return name, nil
}

func checkMCPServer(s *MCPServer) error {
	switch {
	case s.Name == "":
		return errors.New("needs a name")
	case s.Type == "" && s.URL == "", s.Type == "stdio":
		s.Type = "stdio"
		if s.Command == "" {
			return fmt.Errorf("%s needs a command", s.Name)
		}
	case s.Type == "http" || s.Type == "sse":
		if s.URL == "" {
			return fmt.Errorf("%s needs a url", s.Name)
		}
		// Its fault is not described: it may hold a password.
		if u, err := url.Parse(s.URL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return fmt.Errorf("%s: url must begin with http:// or https:// and name a host", s.Name)
		}
	default:
		return fmt.Errorf("%s: type %q is not one of stdio, http, sse", s.Name, s.Type)
	}
	return nil
}
