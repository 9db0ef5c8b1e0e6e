// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"net/http"
	"net/url"
	"strings"
	"time"
)

// The cookies of what the viewer prefers. They hold nothing secret; a script sets the zone once.
const (
	zoneCookie   = "carillon-zone"
	themeCookie  = "carillon-theme"
	noticeCookie = "carillon-notice"
)

// ZoneOf is the time zone of the viewer: what he chose or his browser told, and otherwise that of this machine.
func ZoneOf(r *http.Request) *time.Location {
	if c, err := r.Cookie(zoneCookie); err == nil {
		if name, err := url.QueryUnescape(c.Value); err == nil && name != "" && name != "Local" {
			if zone, err := time.LoadLocation(name); err == nil {
				return zone
			}
		}
	}
	return time.Local
}

func themeOf(r *http.Request) string {
	if c, err := r.Cookie(themeCookie); err == nil && (c.Value == "light" || c.Value == "dark") {
		return c.Value
	}
	return "auto"
}

func (s *Site) preferences() {
	s.Handle("GET /settings", func(w http.ResponseWriter, r *http.Request) error {
		return s.Render(w, r, settingsPage, View{Title: "Settings", Data: settings{Back: localPath(r.URL.Query().Get("back"))}})
	})
	s.Handle("POST /settings", func(w http.ResponseWriter, r *http.Request) error {
		zone, theme := strings.TrimSpace(r.PostFormValue("zone")), r.PostFormValue("theme")
		form := settings{Back: localPath(r.PostFormValue("back")), Zone: zone}
		if zone != "" {
			if _, err := time.LoadLocation(zone); err != nil || zone == "Local" {
				form.Fault = "There is no time zone " + zone + ". Names are those of the IANA database, such as Europe/Berlin or UTC."
				return s.RenderInvalid(w, r, settingsPage, View{Title: "Settings", Data: form})
			}
		}
		if theme != "light" && theme != "dark" {
			theme = ""
		}
		prefer(w, r, zoneCookie, zone)
		prefer(w, r, themeCookie, theme)
		http.Redirect(w, r, form.Back, http.StatusSeeOther)
		return nil
	})
}

var settingsPage = Parse(layouts, "settings.html")

type settings struct{ Back, Zone, Fault string }

// localPath lets no form lead elsewhere.
func localPath(path string) string {
	u, err := url.Parse(path)
	if err != nil || u.Host != "" || u.Scheme != "" || !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.ContainsAny(path, "\\\r\n") {
		return "/"
	}
	return path
}

// prefer keeps a preference for a year; "" forgets it.
func prefer(w http.ResponseWriter, r *http.Request, name, value string) {
	c := &http.Cookie{Name: name, Value: url.QueryEscape(value), Path: "/", MaxAge: 365 * 24 * 3600, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil}
	if value == "" {
		c.MaxAge = -1
	}
	http.SetCookie(w, c)
}

// Done leads the viewer on after an act, and tells him there what was done.
func Done(w http.ResponseWriter, r *http.Request, to, notice string) {
	http.SetCookie(w, &http.Cookie{Name: noticeCookie, Value: url.QueryEscape(notice), Path: "/", MaxAge: 60, HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil})
	http.Redirect(w, r, localPath(to), http.StatusSeeOther)
}

// takeNotice gives what Done left, once.
func takeNotice(w http.ResponseWriter, r *http.Request) string {
	c, err := r.Cookie(noticeCookie)
	if err != nil || r.Header.Get("HX-Request") != "" {
		return ""
	}
	http.SetCookie(w, &http.Cookie{Name: noticeCookie, Path: "/", MaxAge: -1, HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil})
	text, err := url.QueryUnescape(c.Value)
	if err != nil {
		return ""
	}
	return text
}
