package session

// fileWriter writes the session's files beside the log, so that the session's
// goroutine does not wait for the device meanwhile. It writes one file at a time, in
// the order of add. The engine's goroutine owns it.
type fileWriter struct {
	helpers *helpers
	line    []fileWrite // the first one is being written
}

// fileWrite is one write, and its consequence.
type fileWrite struct{ write, then func() }

// add has write called in another goroutine, and then called in the engine's.
func (w *fileWriter) add(write, then func()) {
	w.line = append(w.line, fileWrite{write, then})
	if len(w.line) == 1 {
		w.begin()
	}
}

func (w *fileWriter) begin() {
	first := w.line[0]
	w.helpers.run(func() {
		first.write()
		w.helpers.post(func() {
			w.line = w.line[1:]
			if len(w.line) > 0 {
				w.begin()
			}
			first.then()
		})
	})
}

// idle reports whether nothing is left to write.
func (w *fileWriter) idle() bool { return len(w.line) == 0 }
