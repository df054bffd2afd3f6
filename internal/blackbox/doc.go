// Package blackbox proves what abide promises on the running program: its tests
// build the binary, start it as a user would, speak to it over the command
// line, HTTP and the socket, kill it, and compare what clients saw with what is
// on disk. It holds no code but tests.
package blackbox
