package api

import (
	"net/http"

	"github.com/abidehub/abide/internal/auth"
)

// policy is the Content-Security-Policy of every response: the app's own scripts,
// styles and images only.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; " +
	"connect-src 'self'; font-src 'self'; manifest-src 'self'; worker-src 'self'; frame-ancestors 'none'; " +
	"base-uri 'none'; form-action 'self'; require-trusted-types-for 'script'; trusted-types abide-shell abide-worker svelte-trusted-html dompurify"

// features are the device features that no page and no script of the hub may use.
const features = "camera=(), display-capture=(), geolocation=(), gyroscope=(), hid=(), microphone=(), midi=(), payment=(), serial=(), usb=()"

// halfYear is how long a browser that has used a public name uses https only.
const halfYear = "max-age=15552000"

// setHeaders sets the security headers on every response, including errors. Data is
// not cached; static files set their own headers.
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
	if auth.PublicName(r.Host) { // browsers ignore it over http
		h.Set("Strict-Transport-Security", halfYear)
	}
}

// forgetCached tells a browser whose sign-in has ended to clear its cache of the
// hub. It keeps the page's storage, which holds drafts.
func forgetCached(h http.Header) { h.Set("Clear-Site-Data", `"cache"`) }
