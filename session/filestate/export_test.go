package filestate

// OnStep calls f between the steps, until it is called with nil.
func (k *Keeper) OnStep(f func(step string)) { k.step = f }
