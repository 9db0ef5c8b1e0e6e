// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/plan/run"
)

// seriesKey is what a row of series has.
type seriesKey struct {
	namespace, apiVersion, kind string
	owner                       run.Owner
}

// cachedSeries is how many series are remembered by a writer: a big cluster's, in a few MB.
const cachedSeries = 20_000

// seriesID gives the id of a series, and makes it if need be.
func (d *database) seriesID(k seriesKey) (int64, error) {
	if id, ok := d.series[k]; ok {
		return id, nil
	}
	var id int64
	uid := pack(string(k.owner.UID))
	found, err := d.one(`SELECT id FROM series WHERE owner_uid = ? AND owner_name = ? AND namespace = ? AND api_version = ?
		AND kind = ? AND owner_api_version = ? AND owner_kind = ?`,
		[]any{uid, k.owner.Name, k.namespace, k.apiVersion, k.kind, k.owner.APIVersion, k.owner.Kind}, &id)
	if err == nil && !found {
		id, err = d.insert(`INSERT INTO series (namespace, api_version, kind, owner_api_version, owner_kind, owner_name, owner_uid)
			VALUES (?, ?, ?, ?, ?, ?, ?)`,
			k.namespace, k.apiVersion, k.kind, k.owner.APIVersion, k.owner.Kind, k.owner.Name, uid)
	}
	if err != nil {
		return 0, err
	}
	if len(d.series) >= cachedSeries {
		clear(d.series)
	}
	d.series[k] = id
	return id, nil
}

// word gives what stands for a text in a row: the number of a word, if it is one that comes again, or the text.
func (d *database) word(text string) (any, error) {
	if !repeats(text) {
		return text, nil
	}
	if id, ok := d.words[text]; ok {
		return id, nil
	}
	var id, count int64
	found, err := d.one("SELECT id FROM words WHERE text = ?", []any{text}, &id)
	if err != nil {
		return nil, err
	}
	if !found {
		// No word is ever removed, so the greatest number is how many there are.
		if _, err := d.one("SELECT coalesce(max(id), 0) FROM words", nil, &count); err != nil {
			return nil, err
		}
		if count >= mostWords {
			return text, nil
		}
		if id, err = d.insert("INSERT INTO words (text) VALUES (?)", text); err != nil {
			return nil, err
		}
	}
	d.words[text] = id
	return id, nil
}

// wordsOf is word for several texts.
func (d *database) wordsOf(texts ...string) ([]any, error) {
	all := make([]any, len(texts))
	for i, text := range texts {
		w, err := d.word(text)
		if err != nil {
			return nil, err
		}
		all[i] = w
	}
	return all, nil
}

// stored is what putRun needs of the row that is there.
type stored struct {
	id      int64
	series  any
	outcome int64
	run     run.Run // without owner and kind, which are its series'; its times are its object's
	span    run.Span
	// exitEnded and exitWeight are of the attempt whose exit code is the run's.
	exitEnded, exitWeight any
}

func (d *database) storedRun(uid types.UID) (s stored, found bool, err error) {
	var name, trigger, reason, message, retry, suspended any
	var scheduled, created, started, ended, first, last, well any
	var completions, succeeded, failed, running any
	found, err = d.one(`SELECT id, series, outcome, name, trigger, retry, scheduled, created, started, ended, suspended, reason,
		message, completions, succeeded, failed, running, first, last, well,
		exit_ended, exit_weight FROM runs WHERE uid = ?`, []any{pack(string(uid))},
		&s.id, &s.series, &s.outcome, &name, &trigger, &retry, &scheduled, &created, &started, &ended, &suspended, &reason,
		&message, &completions, &succeeded, &failed, &running, &first, &last, &well, &s.exitEnded, &s.exitWeight)
	s.span = spanOf(first, last, well)
	if err != nil || !found || s.outcome == hidden {
		return s, found, err
	}
	s.run = run.Run{
		UID: uid, Name: textOf(name), Retry: int(numberOf(retry)), ScheduledTime: ofNanos(scheduled),
		Created: ofNanos(created), Started: ofNanos(started), Ended: ofNanos(ended), Outcome: outcomeOf(s.outcome),
		Suspended: numberOf(suspended) != 0, Completions: count32(completions), PodsSucceeded: count32(succeeded),
		PodsFailed: count32(failed), PodsRunning: count32(running),
	}
	for to, v := range map[*string]any{(*string)(&s.run.Trigger): trigger, &s.run.Reason: reason, &s.run.Message: message} {
		if *to, err = d.text(v); err != nil {
			return s, found, err
		}
	}
	return s, found, nil
}

// spanOf is a run.Span as columns have it.
func spanOf(first, last, well any) run.Span {
	return run.Span{First: ofNanos(first), Last: ofNanos(last), Well: numberOf(well) != 0}
}

// text gives the text that a column has.
func (d *database) text(v any) (string, error) {
	id, ok := v.(int64)
	if !ok {
		return textOf(v), nil
	}
	var text string
	found, err := d.one("SELECT text FROM words WHERE id = ?", []any{id}, &text)
	if err == nil && !found {
		text = unknownWord(id)
	}
	return text, err
}

// updated is what is known of a run after news of it: of times and names that the news do not have, the former hold,
// and how it ended is forgotten neither for "it runs" nor for "nobody knows". One of which nobody knows whether it has
// ended can turn out to run: a restored journal has those that were active.
func updated(old, news run.Run) run.Run {
	r := news
	switch {
	case old.Outcome == run.Unknown && old.Ended.IsZero():
	case old.Outcome.Ended() && (!news.Outcome.Ended() || news.Outcome == run.Unknown && old.Outcome != run.Unknown):
		r = old
	}
	r.ScheduledTime = firstTime(r.ScheduledTime, news.ScheduledTime, old.ScheduledTime)
	r.Created = firstTime(r.Created, news.Created, old.Created)
	r.Started = firstTime(r.Started, news.Started, old.Started)
	if r.Outcome.Ended() {
		r.Ended = firstTime(r.Ended, old.Ended)
	}
	r.Name = cmp.Or(r.Name, news.Name, old.Name)
	r.Trigger = cmp.Or(r.Trigger, news.Trigger, old.Trigger)
	r.Retry = cmp.Or(r.Retry, news.Retry, old.Retry)
	r.Completions = cmp.Or(r.Completions, news.Completions, old.Completions)
	return r
}

func firstTime(times ...time.Time) time.Time {
	for _, t := range times {
		if !t.IsZero() {
			return t
		}
	}
	return time.Time{}
}

// putRun writes what is known of a run. What its attempts have summed up stays.
func (d *database) putRun(news run.Run) error {
	s, found, err := d.storedRun(news.UID)
	if err != nil {
		return err
	}
	r := stripped(news)
	known := found && s.outcome != hidden
	series := s.series
	if known {
		r = updated(s.run, r)
	}
	// The owner of a run does not change, but may become known later.
	if series == nil || (news.Owner != run.Owner{}) {
		if series, err = d.seriesID(seriesKey{news.Namespace, news.APIVersion, news.Kind, news.Owner}); err != nil {
			return err
		}
	}
	if known && r == s.run && series == s.series {
		return nil
	}
	texts, err := d.wordsOf(string(r.Trigger), r.Reason, r.Message)
	if err != nil {
		return err
	}
	row := []any{
		series, r.Name, hash(r.Name), texts[0], r.Retry, nanos(r.Time()), nanos(r.ScheduledTime), nanos(r.Created),
		nanos(r.Started), nanos(r.Ended), outcomeNumber(r.Outcome), r.Suspended, texts[1], texts[2], r.Completions,
		r.PodsSucceeded, r.PodsFailed, r.PodsRunning,
	}
	if found {
		_, err = d.exec(`UPDATE runs SET series = ?, name = ?, name_hash = ?, trigger = ?, retry = ?, time = ?, scheduled = ?,
			created = ?, started = ?, ended = ?, outcome = ?, suspended = ?, reason = ?, message = ?, completions = ?,
			succeeded = ?, failed = ?, running = ? WHERE id = ?`, append(row, s.id)...)
	} else {
		s.id, err = d.insert(`INSERT INTO runs (series, name, name_hash, trigger, retry, time, scheduled, created, started,
			ended, outcome, suspended, reason, message, completions, succeeded, failed, running, uid)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, append(row, pack(string(r.UID)))...)
	}
	if err != nil || news.Owner.UID == "" {
		return err
	}
	r.Refine(s.span)
	return d.putUsual(numberOf(series), s.id, &r)
}

// stripped is a run as its row has it: the rest is its series', or its attempts'.
func stripped(r run.Run) run.Run {
	r.APIVersion, r.Kind, r.Namespace, r.Owner = "", "", "", run.Owner{}
	r.Attempts, r.ExitCode, r.CPU, r.MemoryPeak, r.OutputBytes = 0, nil, 0, 0, 0
	r.Outcome = outcomeOf(outcomeNumber(r.Outcome))
	for _, t := range []*time.Time{&r.ScheduledTime, &r.Created, &r.Started, &r.Ended} {
		*t = ofNanos(nanos(*t))
	}
	if !r.Outcome.Ended() {
		r.Ended = time.Time{}
	} else {
		r.Suspended = false
	}
	return r
}

// putOmission writes an omission, in place of one of the same owner and time.
func (d *database) putOmission(o *run.Omission) error {
	series, err := d.seriesID(seriesKey{namespace: o.Namespace, owner: o.Owner})
	if err != nil {
		return err
	}
	texts, err := d.wordsOf(o.Reason, o.Message)
	if err != nil {
		return err
	}
	_, err = d.exec(`INSERT INTO omissions (series, scheduled, until, count, missed, reason, message, seen)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (series, scheduled) DO UPDATE SET until = excluded.until,
		count = excluded.count, missed = excluded.missed, reason = excluded.reason, message = excluded.message,
		seen = excluded.seen`,
		series, bound(o.ScheduledTime), nanos(o.Until), max(1, o.Count), o.Missed, texts[0], texts[1], bound(o.Seen))
	return err
}

// attemptID finds an attempt.
func (d *database) attemptID(containerID string) (id int64, found bool, err error) {
	found, err = d.one("SELECT id FROM attempts WHERE container_hash = ? AND container_id = ?",
		[]any{hash(containerID), pack(containerID)}, &id)
	return id, found, err
}

// putAttempt writes an attempt that is not there yet, and adds it to what its run sums up. log is that of its chunks,
// kept their text; 0 is none.
func (d *database) putAttempt(a *run.Attempt, log, kept int64) error {
	if _, found, err := d.attemptID(a.ContainerID); err != nil || found {
		return err // what was kept for it then is in no attempt, and is swept
	}
	s, found, err := d.storedRun(a.RunUID)
	if err != nil {
		return err
	}
	owner := s.id
	if !found {
		// ended is for retention: a run that never becomes known goes with the age of its attempts.
		if owner, err = d.insert("INSERT INTO runs (uid, outcome, ended) VALUES (?, ?, ?)", pack(string(a.RunUID)), hidden, nanos(a.Ended)); err != nil {
			return err
		}
	}
	texts, err := d.wordsOf(a.Namespace, a.Container, a.Reason)
	if err != nil {
		return err
	}
	var logID any
	if log != 0 {
		logID = log
	}
	id, err := d.insert(`INSERT INTO attempts (run, container_hash, container_id, namespace, pod, pod_uid, container, restart,
		role, mains, started, ended, exit_code, signal, reason, cpu, memory, output, kept, log)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		owner, hash(a.ContainerID), pack(a.ContainerID), texts[0], a.Pod, pack(string(a.PodUID)), texts[1], a.Restart,
		orNull(int64(a.Role)), orNull(int64(a.Mains)), nanos(a.Started), nanos(a.Ended), a.ExitCode, a.Signal, texts[2], int64(a.CPU), a.MemoryPeak, a.OutputBytes, kept, logID)
	if err != nil {
		return err
	}
	if log != 0 {
		if _, err := d.exec("UPDATE logs SET attempt = ?, ended = ? WHERE id = ?", id, bound(a.Ended), log); err != nil {
			return err
		}
	}
	return d.sum(a, owner, &s)
}

// sum adds an attempt to what its run sums up, as run.Run.Sum does it; s is the run before.
func (d *database) sum(a *run.Attempt, id int64, s *stored) error {
	span := s.span
	span.Add(a)
	if _, err := d.exec(`UPDATE runs SET attempts = coalesce(attempts, 0) + 1, cpu = coalesce(cpu, 0) + ?,
		memory = max(coalesce(memory, 0), ?), output = coalesce(output, 0) + ?, first = ?, last = ?, well = ? WHERE id = ?`,
		int64(a.CPU), a.MemoryPeak, a.OutputBytes, nanos(span.First), nanos(span.Last), span.Well, id); err != nil {
		return err
	}
	before, some := s.exitEnded.(int64)
	heavier := cmp.Compare(a.Weight(), numberOf(s.exitWeight))
	if ended := bound(a.Ended); !some || heavier > 0 || heavier == 0 && ended >= before {
		if _, err := d.exec("UPDATE runs SET exit_code = ?, exit_ended = ?, exit_weight = ? WHERE id = ?", a.ExitCode, ended, a.Weight(), id); err != nil {
			return err
		}
	}
	if s.run.Outcome != run.Succeeded {
		return nil
	}
	var owner any
	if _, err := d.one("SELECT owner_uid FROM series WHERE id = ?", []any{s.series}, &owner); err != nil || unpack(owner) == "" {
		return err
	}
	s.run.Refine(span)
	return d.putUsual(numberOf(s.series), s.id, &s.run)
}

// orNull is a number, or NULL for none.
func orNull(n int64) any {
	if n == 0 {
		return nil
	}
	return n
}

func textOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []byte:
		return string(v)
	}
	return ""
}

func numberOf(v any) int64 {
	n, _ := v.(int64)
	return n
}

func count32(v any) int32 { return int32(numberOf(v)) } //nolint:gosec // it was one
