//go:build unix && !linux

package acp

type proc struct{}

type processKey struct{}

func (proc) key() processKey { return processKey{} }

func (proc) kill() {}

func (processKey) gone() bool { return true }

func marked(string) []proc { return nil }

func leftBy(_, _ string) []proc { return nil }

func reapOrphans() {}

func reapGroup(int) {}
