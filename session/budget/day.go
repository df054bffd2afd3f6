package budget

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/abidehub/abide/session/settings"
	"github.com/abidehub/abide/session/usage"
)

// mostPart is the part from which on a person need not know it exactly.
const mostPart = 99.0

// Day is a project's budget, and what its sessions used of it today.
type Day struct {
	// Project is the folder that has the budget.
	Project string
	settings.Budget
	Used usage.Sum
	// Until is when the next day begins.
	Until time.Time
}

// Part is how much of the budget is used: 1 is all of it. Of tokens and cost it is the larger
// part. It ends at mostPart.
func (d Day) Part() float64 {
	part := 0.0
	if d.Tokens > 0 {
		part = float64(d.Used.Tokens.Total) / float64(d.Tokens)
	}
	if d.Cost > 0 {
		part = max(part, d.spent()/d.Cost)
	}
	return min(part, mostPart)
}

// spent is the cost in the currency in which it is highest: they are not converted.
func (d Day) spent() (most float64) {
	for _, c := range d.Used.Costs {
		most = max(most, c.Amount)
	}
	return most
}

// Warns reports whether enough is used for a warning.
func (d Day) Warns() bool { return d.Part() >= d.WarnAt }

// Stops reports whether nothing new begins in the project today.
func (d Day) Stops() bool { return d.Stop && d.Part() >= 1 }

// Words say how much is used, in one sentence.
func (d Day) Words() string {
	words := fmt.Sprintf("%d %% of today's budget of %s is used: %s.", int(d.Part()*100), d.Project, d.amounts())
	if d.Stops() {
		words += fmt.Sprintf(" New work goes on at midnight (%s), or when projects.FOLDER.budget is raised in the configuration.", d.Until.Format("2006-01-02 15:04 MST"))
	}
	return words
}

// amounts are such as "1800000 of 2000000 tokens".
func (d Day) amounts() string {
	var all []string
	if d.Tokens > 0 {
		all = append(all, fmt.Sprintf("%d of %d tokens", d.Used.Tokens.Total, d.Tokens))
	}
	if d.Cost > 0 {
		all = append(all, fmt.Sprintf("%.2f of %s in cost", d.spent(), strconv.FormatFloat(d.Cost, 'f', -1, 64)))
	}
	return strings.Join(all, ", ")
}
