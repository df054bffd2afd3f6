package gitstate

// OnStep calls f between the steps of a change, until it is called with nil.
func (g *Git) OnStep(f func(step string)) { g.stepped = f }
