package index

import "fmt"

// LimitPages bounds the pages of the open database, as a full disk does. It waits for the
// transaction that is under way.
func (x *Index) LimitPages(n int) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if _, err := x.db.write.Exec(fmt.Sprint("pragma max_page_count = ", n)); err != nil {
		panic(err)
	}
}
