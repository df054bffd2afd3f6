package server

import (
	"net/http"

	"github.com/abidehub/abide/internal/auth"
)

// policy is the Content-Security-Policy of every answer: the app is scripts,
// styles and images of its own, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; " +
	"connect-src 'self'; font-src 'self'; manifest-src 'self'; worker-src 'self'; frame-ancestors 'none'; " +
	"base-uri 'none'; form-action 'self'; require-trusted-types-for 'script'; trusted-types abide-shell abide-worker svelte-trusted-html dompurify"

// features are the device features that no page of the hub uses, and no script in
// it may use.
const features = "camera=(), display-capture=(), geolocation=(), gyroscope=(), hid=(), microphone=(), midi=(), payment=(), serial=(), usb=()"

// halfYear is how long a browser that met a public name keeps to https.
const halfYear = "max-age=15552000"

// setHeaders sets the security headers on every answer, errors too. Data is never
// stored; static files say otherwise for themselves.
func setHeaders(h http.Header, r *http.Request) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cache-Control", "no-store")
	h.Set("Permissions-Policy", features)
	h.Set("Origin-Agent-Cluster", "?1")
	if auth.PublicName(r.Host) { // a browser heeds it over https only
		h.Set("Strict-Transport-Security", halfYear)
	}
}

// forgetCached has a browser with an ended sign-in drop its cache of the hub. Its
// storage is the page's to clear: drafts stay.
func forgetCached(h http.Header) { h.Set("Clear-Site-Data", `"cache"`) }
