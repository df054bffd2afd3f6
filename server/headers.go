package server

import "net/http"

// policy is the Content-Security-Policy of every answer: the app is scripts,
// styles and images of its own, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; " +
	"connect-src 'self'; font-src 'self'; manifest-src 'self'; worker-src 'self'; frame-ancestors 'none'; " +
	"base-uri 'none'; form-action 'self'; require-trusted-types-for 'script'"

// setHeaders puts on every answer, errors too, what browsers need to be told.
// Data is never stored; static files say otherwise for themselves.
func setHeaders(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cache-Control", "no-store")
}
