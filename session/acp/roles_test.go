package acp_test

// roles are the agents made of raw lines.
func roles() map[string]func(*fake) int {
	return map[string]func(*fake) int{}
}
