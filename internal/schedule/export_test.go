package schedule

import "context"

// Turn makes what is due now, as Run does.
func (s *Schedules) Turn(ctx context.Context) { s.turn(ctx) }
