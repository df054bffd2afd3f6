package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/internal/plain"
	"github.com/abidehub/abide/server/wire"
)

// wrongUsage says what is wrong with what a person asks for; empty if nothing is.
func wrongUsage(q client.UsageQuery) string {
	groups := []string{"turn", "session", "project", "agent", "day"}
	if !slices.Contains(groups, q.By) {
		return "--by is one of " + strings.Join(groups, ", ")
	}
	if q.Limit < 1 || q.Limit > 10_000 {
		return "--limit is from 1 to 10000"
	}
	for name, day := range map[string]string{"from": q.From, "to": q.To} {
		if _, err := time.Parse(time.DateOnly, day); day != "" && err != nil {
			return fmt.Sprintf("--%s is a day such as 2026-02-21", name)
		}
	}
	return ""
}

// usageTable are the rows of a table, with a head, and the total below several.
func usageTable(u wire.Usage) [][]string {
	rows := [][]string{{strings.ToUpper(u.By), "TURNS", "TOKENS", "IN", "OUT", "CACHED", "COST", "CALLS", "TIME"}}
	for _, r := range u.Rows {
		rows = append(rows, usageCells(usageName(u.By, r), r.Used))
	}
	if len(u.Rows) > 1 || u.LeftOut > 0 {
		rows = append(rows, usageCells("total", u.Total))
	}
	return rows
}

// usageName is what a row is about.
func usageName(by string, r wire.UsageRow) string {
	switch by {
	case "day":
		return r.Day
	case "project":
		return plain.Line(r.Project)
	case "agent":
		return plain.Line(r.Agent)
	case "turn":
		return fmt.Sprintf("%s %s %d", r.Day, plain.Line(r.SessionID), r.Turn)
	}
	return plain.Line(r.SessionID) + " " + plain.Cut(plain.Line(r.Name), 30)
}

func usageCells(name string, s wire.UsageSum) []string {
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	var costs []string
	for _, c := range s.Costs {
		costs = append(costs, fmt.Sprintf("%.2f %s", c.Amount, plain.Line(c.Currency)))
	}
	cost := strings.Join(costs, ", ")
	if cost == "" {
		cost = "-"
	}
	return []string{
		name, strconv.Itoa(s.Turns), number(s.Tokens), number(s.InputTokens), number(s.OutputTokens), number(s.CachedRead + s.CachedWrite), cost, strconv.Itoa(s.ToolCalls),
		(time.Duration(s.DurationMS) * time.Millisecond).Round(time.Second).String(),
	}
}
