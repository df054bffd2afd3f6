// Package blackbox proves abide's promises on the running program: its tests build
// the binary, start it as a user would, speak to it over the command line, HTTP and
// the socket, kill it, and compare the clients' events with the files on disk. It
// holds no code but tests.
package blackbox
