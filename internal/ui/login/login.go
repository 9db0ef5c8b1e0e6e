// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package login draws what a viewer without a session sees: the form for the token, and why a request was refused.
package login

import (
	"embed"
	"net/http"

	"github.com/carillon-dev/carillon/internal/ui/guard"
	"github.com/carillon-dev/carillon/internal/ui/page"
)

//go:embed *.html *.css
var files embed.FS

var (
	form = page.Parse(files, "login.html")
	why  = page.Parse(files, "refusal.html")
	_    = page.AddAssets(files, "login.css")
)

// Pages draws them in the design of a site, of which they show nothing. It implements guard.Pages.
type Pages struct{ Site *page.Site }

// Login implements guard.Pages.
func (p Pages) Login(w http.ResponseWriter, r *http.Request, code int, l guard.Login) {
	v := page.View{Title: "Sign in", Outside: true, Styles: []string{"login.css"}, Data: l}
	if err := p.Site.RenderStatus(w, r, code, form, v); err != nil {
		p.Site.Fail(w, r, err)
	}
}

// Refuse implements guard.Pages.
func (p Pages) Refuse(w http.ResponseWriter, r *http.Request, code int, title, message, cure string) {
	f := &page.Fault{Code: code, Title: title, Message: message, Cure: cure}
	v := page.View{Title: title, Outside: guard.SessionOf(r.Context()).CSRF == "", Data: f}
	if err := p.Site.RenderStatus(w, r, code, why, v); err != nil {
		p.Site.Fail(w, r, err)
	}
}
