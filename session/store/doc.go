// Package store keeps sessions as plain files that survive whatever stops the
// machine.
package store
