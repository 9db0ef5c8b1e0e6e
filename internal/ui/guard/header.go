// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import "net/http"

// policy lets a page load and run what this server sends, and nothing else: no script, style or event handler that got
// into its text, nothing of other sites, no frame around it, no form that goes elsewhere.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// permissions are what no page of ours needs.
const permissions = "accelerometer=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), magnetometer=(), microphone=(), midi=(), payment=(), usb=()"

// protect tells browsers what they may do with an answer, whatever it is.
func protect(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY") // for browsers that do not know frame-ancestors
	// Nobody hears from where a link was followed.
	// Not "no-referrer": with that browsers hide the origin of a form from us as well, and send "null".
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", permissions)
	// Assets say otherwise.
	h.Set("Cache-Control", "no-store")
}
