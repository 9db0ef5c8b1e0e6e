// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// The parameters of an address that prove who may look.
const (
	tokenParameter  = "token"
	ticketParameter = "ticket"
)

// NewToken gives a token of 256 bits that nobody can guess, as 64 hexadecimal digits.
func NewToken() string { return random(32) }

// random gives so many bytes of chance, as hexadecimal digits.
func random(size int) string {
	b := make([]byte, size)
	_, _ = rand.Read(b) // it never fails: the program ends if there is no chance to be had
	return hex.EncodeToString(b)
}

// same compares secrets in a time that tells nothing about them, not even their length.
func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// bearerOf gives the token that a program sends.
func bearerOf(r *http.Request) (token string, ok bool) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.TrimSpace(token), strings.EqualFold(scheme, "Bearer")
}

// takeQuery gives a parameter of the address and removes it there, so that no page, link or log has it.
func takeQuery(r *http.Request, name string) (value string, ok bool) {
	if r.URL.RawQuery == "" {
		return "", false
	}
	var rest []string
	for pair := range strings.SplitSeq(r.URL.RawQuery, "&") {
		key, text, _ := strings.Cut(pair, "=")
		if plain, err := url.QueryUnescape(key); err != nil || plain != name {
			rest = append(rest, pair)
			continue
		}
		if plain, err := url.QueryUnescape(text); err == nil && value == "" {
			value = plain
		}
		ok = true
	}
	if !ok {
		return "", false
	}
	address := *r.URL
	address.RawQuery = strings.Join(rest, "&")
	r.URL, r.RequestURI = &address, address.RequestURI()
	return value, ok
}

// TicketPath is where a program that has the token gets a ticket, by POST.
const TicketPath = "/ticket"

// ticketFor is how long a ticket holds.
const ticketFor = time.Minute

// tickets each stand for the token once, for a minute, so that a browser can be started with one: the arguments of a
// program are for all users of the machine to see.
type tickets struct {
	mu     sync.Mutex
	issued map[string]time.Time
}

// Ticket gives the query of an address that signs in whoever follows it first, within a minute, and, where the system
// tells users apart, only the user of this process on this machine, without a proxy between.
func (g *Guard) Ticket() string {
	g.tickets.mu.Lock()
	defer g.tickets.mu.Unlock()
	if g.tickets.issued == nil {
		g.tickets.issued = map[string]time.Time{}
	}
	now := g.o.Clock()
	g.tickets.expire(now)
	ticket := random(32)
	g.tickets.issued[ticket] = now
	return ticketParameter + "=" + ticket
}

// take spends a ticket.
func (t *tickets) take(ticket string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.expire(now)
	for issued := range t.issued {
		if same(issued, ticket) {
			delete(t.issued, issued)
			return true
		}
	}
	return false
}

// expire forgets those that nobody has taken in time. The caller holds mu.
func (t *tickets) expire(now time.Time) {
	maps.DeleteFunc(t.issued, func(_ string, at time.Time) bool { return now.Sub(at) > ticketFor })
}

// What is done about wrong tokens. Who knows the right one is never kept waiting.
const (
	wrongDelay = 500 * time.Millisecond
	mostWrong  = 16
)

// attempts are the wrong tokens that wait for their answer.
type attempts chan struct{}

// slow keeps who has sent a wrong token waiting. It is false if too many wait already.
func (a attempts) slow(ctx context.Context) bool {
	select {
	case a <- struct{}{}:
	default:
		return false
	}
	defer func() { <-a }()
	timer := time.NewTimer(wrongDelay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return true
}
