// Package resume says how an interrupted turn can continue: the checkpoint at which it
// was cut off, the differences of the workspace and of the agent's settings since, and
// the prompt that continues it. It starts no goroutine and reads no file beside the log.
package resume
