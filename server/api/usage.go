package api

import (
	"bytes"
	"encoding/csv"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/usage"
)

const (
	usualUsage = 1000
	mostUsage  = 10_000
)

// usageRows are the routes of this file.
func usageRows() section {
	return section{
		title: "Usage",
		about: []string{
			"Tokens are those that the agent says at the end of a turn, cost is what the cost that it reports grew by in the turn. Nothing is guessed: a turn without an account counts in `unreported`. An agent that counts all turns of its session is told from one that counts each by the log, where that has the sizes of its context; the turn then has the difference. A turn counts on the day on which its prompt came, in the hub's time zone. Deleted sessions count nothing. Sums of an open turn come at its end.",
			"As `text/csv` the first line has the names of the columns. A row with costs in several currencies has a line more for each, with the names and that cost alone. Text that a spreadsheet could take for a formula begins with an apostrophe.",
		},
		rows: []route{
			{
				"GET", "/api/usage", auth.Credential, auth.Read, true, usageRoute,
				doc{
					summary: "What sessions used, by turn, session, project, agent or day; as a table of CSV for Accept: text/csv.",
					out:     wire.Usage{}, status: 200, stream: "text/csv",
					query: []param{
						{"by", "turn, session, project, agent or day (default)", ""},
						{"from", "the first day, YYYY-MM-DD, in the hub's time zone", ""},
						{"to", "the last day", ""},
						{"project", "turns in this folder only, as `project` of a row", ""},
						{"agent", "turns of this agent only", ""},
						{"session", "turns of this session only", ""},
						{"limit", "how many rows, from 1 to 10,000; 1,000 when absent", 0},
						ofMachine,
					},
				},
			},
		},
	}
}

func usageRoute(s *API, c *call) error {
	q := c.r.URL.Query()
	question, err := usageQuestion(q)
	if err != nil {
		return err
	}
	if only := c.grant.SessionID; only != "" && question.Session == "" {
		question.Session = only
	}
	if !c.grant.May(auth.Read, question.Session) {
		return Forbidden()
	}
	a, err := s.manager.Usage(c.r.Context(), question)
	if err != nil {
		return err
	}
	if strings.Contains(c.r.Header.Get("Accept"), "text/csv") {
		return c.replyCSV(a)
	}
	answer := wire.Usage{
		By: string(question.By), From: q.Get("from"), To: q.Get("to"), Zone: time.Now().In(question.Zone).Format("MST -07:00"),
		Rows: make([]wire.UsageRow, 0, len(a.Rows)), LeftOut: a.LeftOut, Total: usageSum(a.Total), Behind: a.Behind,
	}
	if c.grant.May(auth.Read, "") {
		days, err := s.manager.Budgets(c.r.Context())
		if err != nil {
			return err
		}
		for _, d := range days {
			answer.Budgets = append(answer.Budgets, wire.UsageBudget{
				Project: d.Project, Tokens: d.Tokens, Cost: d.Cost, WarnAt: d.WarnAt, Stop: d.Stop,
				Used: usageSum(d.Used), Part: d.Part(), Until: d.Until, Text: d.Words(),
			})
		}
	}
	for _, r := range a.Rows {
		answer.Rows = append(answer.Rows, wire.UsageRow{
			Day: r.Day, SessionID: r.SessionID, Name: r.Name, Turn: r.Turn, Project: r.Project, Agent: r.Agent, At: r.At, Used: usageSum(r.Sum),
		})
	}
	return c.reply(http.StatusOK, answer)
}

// usageQuestion reads the query.
func usageQuestion(q url.Values) (usage.Question, error) {
	out := usage.Question{By: usage.ByDay, Zone: time.Local, Project: q.Get("project"), Agent: q.Get("agent"), Session: q.Get("session")}
	if by := q.Get("by"); by != "" {
		out.By = usage.By(by)
	}
	if !slices.Contains(usage.Groups(), out.By) {
		return out, invalidField("by", "by is turn, session, project, agent or day")
	}
	var err error
	if out.From, err = dayOf(q, "from"); err != nil {
		return out, err
	}
	if out.To, err = dayOf(q, "to"); err != nil {
		return out, err
	}
	if !out.To.IsZero() {
		if out.To.Before(out.From) {
			return out, invalidField("to", "to is before from")
		}
		out.To = out.To.AddDate(0, 0, 1)
	}
	out.Most, err = limitOf(q, usualUsage, mostUsage)
	return out, err
}

// dayOf is the begin of a day in a query; zero if it names none.
func dayOf(q url.Values, name string) (time.Time, error) {
	text := q.Get(name)
	if text == "" {
		return time.Time{}, nil
	}
	day, err := time.ParseInLocation(time.DateOnly, text, time.Local)
	if err != nil {
		return time.Time{}, invalidField(name, "%s is a day such as 2026-02-21", name)
	}
	return day, nil
}

// invalidField is Invalid with the name of the parameter that is wrong.
func invalidField(name, format string, args ...any) *Problem {
	p := Invalid(format, args...)
	p.field = name
	return p
}

func usageSum(s usage.Sum) wire.UsageSum {
	out := wire.UsageSum{
		Turns: s.Turns, Unreported: s.Unreported, Tokens: s.Tokens.Total, InputTokens: s.Tokens.Input, OutputTokens: s.Tokens.Output,
		CachedRead: s.Tokens.Read, CachedWrite: s.Tokens.Write, Costs: s.Costs, ToolCalls: s.Calls, DurationMS: s.MS,
	}
	if out.Costs == nil {
		out.Costs = []event.Cost{}
	}
	return out
}

// replyCSV sends the rows as CSV.
func (c *call) replyCSV(a usage.Answer) error {
	var text bytes.Buffer
	table := csv.NewWriter(&text)
	lines := [][]string{{"day", "session_id", "name", "turn", "project", "agent", "at", "turns", "unreported", "tokens", "input_tokens", "output_tokens", "cached_read_tokens", "cached_write_tokens", "cost", "currency", "tool_calls", "duration_ms"}}
	for _, r := range a.Rows {
		lines = append(lines, usageLines(r)...)
	}
	if err := table.WriteAll(lines); err != nil {
		return err
	}
	c.boundAnswer()
	c.w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	c.w.Header().Set("Content-Disposition", `attachment; filename="usage.csv"`)
	c.w.WriteHeader(http.StatusOK)
	c.w.Write(text.Bytes()) // an error means that the client is gone
	return nil
}

// usageLines are the lines of a row.
func usageLines(r usage.Row) [][]string {
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	turn := ""
	if r.Turn > 0 {
		turn = strconv.Itoa(r.Turn)
	}
	names := []string{r.Day, r.SessionID, plainCell(r.Name), turn, plainCell(r.Project), plainCell(r.Agent), r.At.UTC().Format(time.RFC3339)}
	lines := [][]string{slices.Concat(names, []string{
		strconv.Itoa(r.Turns), strconv.Itoa(r.Unreported), number(r.Tokens.Total), number(r.Tokens.Input), number(r.Tokens.Output), number(r.Tokens.Read), number(r.Tokens.Write),
		"", "", strconv.Itoa(r.Calls), number(r.MS),
	})}
	const cost = 14 // its column
	for i, one := range r.Costs {
		if i > 0 {
			lines = append(lines, slices.Concat(names, make([]string, 11)))
		}
		line := lines[len(lines)-1]
		line[cost], line[cost+1] = strconv.FormatFloat(one.Amount, 'f', -1, 64), plainCell(one.Currency)
	}
	return lines
}

// plainCell keeps a spreadsheet from taking a text for a formula.
func plainCell(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}
