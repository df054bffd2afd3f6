package usage

// OnRead has f called with each session whose log is read.
func (b *Book) OnRead(f func(id string)) { b.onRead = f }
