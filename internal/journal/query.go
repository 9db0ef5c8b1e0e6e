// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/plan/run"
)

// Query chooses runs, or omissions. The zero value chooses all; each field narrows it.
type Query struct {
	Namespace string
	// OwnerKind ("CronJob", "Timetable") and OwnerName choose those of one owner, OwnerUID of one object.
	OwnerKind, OwnerName string
	OwnerUID             types.UID
	// OwnerUIDs, if there are any, choose those of one of these objects; "" among them are those of what no schedule
	// made.
	OwnerUIDs []types.UID
	// Name is the name of the run's own object. UID is its UID. An omission has neither.
	Name string
	UID  types.UID
	// Outcomes: one of these. An omission has none.
	Outcomes []run.Outcome
	// LastTries: of several tries of one scheduled time only the last one, by the order of run.Times, whatever the other
	// fields choose. An omission has none.
	LastTries bool
	// From (inclusive) and Until (exclusive) bound run.Run.Time, or an omission's ScheduledTime.
	From, Until time.Time
	// EndedFrom chooses what has ended then or later, as its object tells; of omissions what was seen then or later.
	EndedFrom time.Time
	// Limit is how many are given at most, the newest by run.Run.Time; 0 means all.
	Limit int
}

// condition is the WHERE of a statement, with its values.
type condition struct {
	parts  []string
	values []any
}

func (c *condition) add(part string, values ...any) {
	c.parts = append(c.parts, part)
	c.values = append(c.values, values...)
}

func (c *condition) String() string {
	if len(c.parts) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(c.parts, " AND ")
}

// addSeries narrows to the series of the owners and the namespace that are asked for.
func (q *Query) addSeries(c *condition) {
	var s condition
	q.addOwners(&s)
	if len(s.parts) > 0 {
		c.add("series IN (SELECT id FROM series"+s.String()+")", s.values...)
	}
}

// addOwners narrows series themselves to these.
func (q *Query) addOwners(s *condition) {
	if q.OwnerUID != "" {
		s.add("owner_uid = ?", pack(string(q.OwnerUID)))
	}
	if len(q.OwnerUIDs) > 0 {
		in := make([]any, len(q.OwnerUIDs))
		for i, uid := range q.OwnerUIDs {
			in[i] = pack(string(uid))
		}
		s.add("owner_uid IN (?"+strings.Repeat(", ?", len(in)-1)+")", in...)
	}
	if q.OwnerName != "" {
		s.add("owner_name = ?", q.OwnerName)
	}
	if q.OwnerKind != "" {
		s.add("owner_kind = ?", q.OwnerKind)
	}
	if q.Namespace != "" {
		s.add("namespace = ?", q.Namespace)
	}
}

// addTimes narrows to what is from one time on and before another, by a column.
func (q *Query) addTimes(c *condition, column string) {
	if !q.From.IsZero() {
		c.add(column+" >= ?", bound(q.From))
	}
	if !q.Until.IsZero() {
		c.add(column+" < ?", bound(q.Until))
	}
}

// reading is a look at one state of the database.
type reading struct {
	ctx context.Context
	o   *opened
	tx  *sql.Tx
}

// read calls f with one state of the database.
func (r *Reader) read(ctx context.Context, f func(*reading) error) error {
	return r.with(func(o *opened) error {
		tx, err := o.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
		if err != nil {
			return err
		}
		defer tx.Rollback() //nolint:errcheck // it has written nothing
		return f(&reading{ctx: ctx, o: o, tx: tx})
	})
}

// each calls f for the rows of a query.
func (t *reading) each(query string, args []any, f func(scan func(...any) error) error) error {
	rows, err := t.tx.QueryContext(t.ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // Err tells
	for rows.Next() {
		if err := f(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

func limit(c *condition, n int) string {
	if n <= 0 {
		return ""
	}
	c.values = append(c.values, n)
	return " LIMIT ?"
}

// condition is that for runs.
func (q *Query) condition() *condition {
	c := &condition{parts: []string{"series IS NOT NULL"}}
	q.addSeries(c)
	if q.UID != "" {
		c.add("uid = ?", pack(string(q.UID)))
	}
	if q.Name != "" {
		c.add("name_hash = ? AND name = ?", hash(q.Name), q.Name)
	}
	if len(q.Outcomes) > 0 {
		in := make([]any, len(q.Outcomes))
		for i, o := range q.Outcomes {
			in[i] = outcomeNumber(o)
		}
		c.add("outcome IN (?"+strings.Repeat(", ?", len(in)-1)+")", in...)
	} else if !q.EndedFrom.IsZero() && (len(q.OwnerUIDs) == 0 || q.From.IsZero()) {
		c.add("outcome IN (1, 2, 3, 4)") // for the index; of some owners since some time the index of these is the better one
	}
	q.addTimes(c, "time")
	if !q.EndedFrom.IsZero() {
		c.add("ended >= ?", bound(q.EndedFrom))
	}
	if q.LastTries {
		c.add(lastTry)
	}
	return c
}

// lastTry is the condition for a run that no later try of its scheduled time follows. A CronJob has one Job for each
// time, and what has no owner no tries, so that nothing need be looked up of the very many that there may be. Of others
// the index tells by itself that a time has one run.
const lastTry = `(scheduled IS NULL OR series NOT IN (SELECT id FROM series WHERE owner_kind <> 'CronJob' AND owner_name <> '')
	OR NOT EXISTS (SELECT 1 FROM runs AS later WHERE later.series = runs.series AND later.time = runs.time AND later.id <> runs.id
		AND later.scheduled = runs.scheduled
		AND (coalesce(later.retry, 0), coalesce(later.created, 0), later.id) > (coalesce(runs.retry, 0), coalesce(runs.created, 0), runs.id)))`

func (t *reading) runs(q Query) ([]run.Run, error) {
	c := q.condition()
	all, _, err := t.selectRuns(c.String()+" ORDER BY time DESC, id DESC"+limit(c, q.Limit), c.values...)
	return all, err
}

// selectRuns gives the runs that the rest of a statement chooses, and the greatest id of their rows.
func (t *reading) selectRuns(rest string, values ...any) ([]run.Run, int64, error) {
	query := `SELECT id, series, uid, name, trigger, retry, scheduled, created, started, ended, outcome, suspended, reason, message,
		completions, succeeded, failed, running, attempts, exit_code, first, last, well, cpu, memory, output FROM runs` + rest
	all := []run.Run{}
	var later [][4]any // series, trigger, reason and message: numbers of other tables
	var id, greatest int64
	err := t.each(query, values, func(scan func(...any) error) error {
		var r run.Run
		var l [4]any
		var uid, name, retry, scheduled, created, started, ended, suspended any
		var completions, succeeded, failed, running, attempts, exit, first, last, well, cpu, memory, output any
		var outcome int64
		if err := scan(&id, &l[0], &uid, &name, &l[1], &retry, &scheduled, &created, &started, &ended, &outcome, &suspended,
			&l[2], &l[3], &completions, &succeeded, &failed, &running, &attempts, &exit, &first, &last, &well, &cpu, &memory, &output); err != nil {
			return err
		}
		greatest = max(greatest, id)
		r.UID, r.Name, r.Retry = types.UID(unpack(uid)), textOf(name), int(numberOf(retry))
		r.ScheduledTime, r.Created, r.Started, r.Ended = ofNanos(scheduled), ofNanos(created), ofNanos(started), ofNanos(ended)
		r.Outcome, r.Suspended = outcomeOf(outcome), numberOf(suspended) != 0
		r.Completions, r.PodsSucceeded, r.PodsFailed, r.PodsRunning = count32(completions), count32(succeeded), count32(failed), count32(running)
		r.Attempts, r.CPU, r.MemoryPeak, r.OutputBytes = int(numberOf(attempts)), time.Duration(numberOf(cpu)), numberOf(memory), numberOf(output)
		r.Refine(spanOf(first, last, well))
		if exit != nil {
			code := count32(exit)
			r.ExitCode = &code
		}
		all, later = append(all, r), append(later, l)
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	for i := range all {
		r := &all[i]
		s, err := t.seriesOf(later[i][0])
		if err != nil {
			return nil, 0, err
		}
		r.Namespace, r.APIVersion, r.Kind, r.Owner = s.namespace, s.apiVersion, s.kind, s.owner
		texts, err := t.texts(later[i][1:])
		if err != nil {
			return nil, 0, err
		}
		r.Trigger, r.Reason, r.Message = run.Trigger(texts[0]), texts[1], texts[2]
	}
	return all, greatest, nil
}

func (t *reading) omissions(q Query) ([]run.Omission, error) {
	if q.Name != "" || q.UID != "" || len(q.Outcomes) > 0 {
		return []run.Omission{}, nil
	}
	var c condition
	q.addSeries(&c)
	q.addTimes(&c, "scheduled")
	if !q.EndedFrom.IsZero() {
		c.add("seen >= ?", bound(q.EndedFrom))
	}
	all, _, err := t.selectOmissions(c.String()+" ORDER BY scheduled DESC, id DESC"+limit(&c, q.Limit), c.values...)
	return all, err
}

// selectOmissions gives the omissions that the rest of a statement chooses, and the greatest id of their rows.
func (t *reading) selectOmissions(rest string, values ...any) ([]run.Omission, int64, error) {
	query := "SELECT id, series, scheduled, until, count, missed, reason, message, seen FROM omissions" + rest
	all := []run.Omission{}
	var later [][3]any
	var id, greatest int64
	err := t.each(query, values, func(scan func(...any) error) error {
		var o run.Omission
		var l [3]any
		var scheduled, until, seen, missed any
		if err := scan(&id, &l[0], &scheduled, &until, &o.Count, &missed, &l[1], &l[2], &seen); err != nil {
			return err
		}
		greatest = max(greatest, id)
		o.ScheduledTime, o.Until, o.Seen, o.Missed = ofNanos(scheduled), ofNanos(until), ofNanos(seen), numberOf(missed) != 0
		all, later = append(all, o), append(later, l)
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	for i := range all {
		s, err := t.seriesOf(later[i][0])
		if err != nil {
			return nil, 0, err
		}
		texts, err := t.texts(later[i][1:])
		if err != nil {
			return nil, 0, err
		}
		all[i].Namespace, all[i].Owner, all[i].Reason, all[i].Message = s.namespace, s.owner, texts[0], texts[1]
	}
	return all, greatest, nil
}

func (t *reading) attempts(uid types.UID) ([]run.Attempt, error) {
	kept, err := t.selectAttempts(" WHERE run = (SELECT id FROM runs WHERE uid = ?) ORDER BY ended, id", pack(string(uid)))
	all := make([]run.Attempt, len(kept))
	for i := range kept {
		all[i] = kept[i].Attempt
	}
	return all, err
}

// keptAttempt is an attempt as it is kept; log is that of its chunks, 0 is none.
type keptAttempt struct {
	run.Attempt
	id, log int64
}

// selectAttempts gives the attempts that the rest of a statement chooses.
func (t *reading) selectAttempts(rest string, values ...any) ([]keptAttempt, error) {
	query := `SELECT id, (SELECT uid FROM runs WHERE id = run), container_id, namespace, pod, pod_uid, container, restart, role, mains, started,
		ended, exit_code, signal, reason, cpu, memory, output, kept, log FROM attempts` + rest
	var all []keptAttempt
	var later [][3]any
	err := t.each(query, values, func(scan func(...any) error) error {
		var a keptAttempt
		var l [3]any
		var uid, id, pod, podUID, role, mains, started, ended, log any
		var cpu int64
		if err := scan(&a.id, &uid, &id, &l[0], &pod, &podUID, &l[1], &a.Restart, &role, &mains, &started, &ended, &a.ExitCode,
			&a.Signal, &l[2], &cpu, &a.MemoryPeak, &a.OutputBytes, &a.KeptBytes, &log); err != nil {
			return err
		}
		a.RunUID, a.log = types.UID(unpack(uid)), numberOf(log)
		a.ContainerID, a.Pod, a.PodUID = unpack(id), textOf(pod), types.UID(unpack(podUID))
		a.Role, a.Mains = run.Role(numberOf(role)), count32(mains) //nolint:gosec // it was one
		a.Started, a.Ended, a.CPU = ofNanos(started), ofNanos(ended), time.Duration(cpu)
		all, later = append(all, a), append(later, l)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i := range all {
		texts, err := t.texts(later[i][:])
		if err != nil {
			return nil, err
		}
		all[i].Namespace, all[i].Container, all[i].Reason = texts[0], texts[1], texts[2]
	}
	return all, nil
}

// texts gives the texts that columns have or name.
func (t *reading) texts(columns []any) ([]string, error) {
	all := make([]string, len(columns))
	for i, v := range columns {
		id, ok := v.(int64)
		if !ok {
			all[i] = textOf(v)
			continue
		}
		text, err := t.word(id)
		if err != nil {
			return nil, err
		}
		all[i] = text
	}
	return all, nil
}

// word gives the text of a word. Words stay, so those read once are remembered.
func (t *reading) word(id int64) (string, error) {
	t.o.mu.Lock()
	text, ok := t.o.words[id]
	t.o.mu.Unlock()
	if ok {
		return text, nil
	}
	err := t.tx.QueryRowContext(t.ctx, "SELECT text FROM words WHERE id = ?", id).Scan(&text)
	if err != nil {
		if noRows(err) {
			return unknownWord(id), nil
		}
		return "", err
	}
	t.o.mu.Lock()
	t.o.words[id] = text
	t.o.mu.Unlock()
	return text, nil
}

// seriesOf gives a series. It does not change as long as it is there.
func (t *reading) seriesOf(v any) (seriesKey, error) {
	id := numberOf(v)
	t.o.mu.Lock()
	k, ok := t.o.series[id]
	t.o.mu.Unlock()
	if ok {
		return k, nil
	}
	var uid any
	err := t.tx.QueryRowContext(t.ctx, `SELECT namespace, api_version, kind, owner_api_version, owner_kind, owner_name, owner_uid
		FROM series WHERE id = ?`, id).
		Scan(&k.namespace, &k.apiVersion, &k.kind, &k.owner.APIVersion, &k.owner.Kind, &k.owner.Name, &uid)
	if err != nil {
		if noRows(err) {
			return k, &damagedError{"a run belongs to nothing"}
		}
		return k, err
	}
	k.owner.UID = types.UID(unpack(uid))
	t.o.mu.Lock()
	if len(t.o.series) >= cachedSeries {
		clear(t.o.series)
	}
	t.o.series[id] = k
	t.o.mu.Unlock()
	return k, nil
}
