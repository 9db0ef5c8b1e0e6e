// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planted_test

import "testing"

// The tables about objects that choose what they start, in internal/controller/scheduled, find each of these.
func TestChosenKinds(t *testing.T) {
	t.Parallel()
	simulate(t, simulation{dir: "internal/controller/scheduled", test: "TestChosenKinds|TestChildWatches", fixed: true, noHistories: true}, map[string]bug{
		"cache not waited for": {
			file: "childwatch.go", old: "\t\t\treturn n.kinds, nil, false\n", new: "\t\t\treturn n.kinds, nil, true\n",
			breaks: "a run is started beside one that no cache shows yet",
		},
		"former kind let go of": {
			file: "childwatch.go", old: "\t\tcase !busy && k.emptyOf(uid):\n", new: "\t\tcase true:\n",
			breaks: "a run is started beside one of the kind that was asked for before",
		},
		"former kind let go of with its label": {
			file: "childwatch.go", old: "\t\tcase !busy && k.emptyOf(uid):\n", new: "\t\tcase k.emptyOf(uid):\n",
			breaks: "a run is started beside one of the former kind that has lost its label",
		},
		"former kind never let go of": {
			file: "childwatch.go", old: "len(n.watches) > len(named) && !busy {", new: "false {",
			breaks: "kinds are watched that nobody needs",
		},
		"those who wait not told": {
			file: "childwatch.go", old: "\tif !news {\n", new: "\tif news = false; !news {\n",
			breaks: "nothing is started when a kind can be watched",
		},
		"asked for once": {
			file: "childwatch.go", old: "\t\tcase <-w.clock.After(wait):\n\t\t}\n\t}", new: "\t\tcase <-w.clock.After(1000 * wait):\n\t\t}\n\t}",
			breaks: "a kind that is granted later is not started",
		},
		"trouble that may pass told at once": {
			file: "childwatch.go", old: "if w.clock.Since(failing) >= watchPatience {", new: "if true {",
			breaks: "a server that is away for a moment counts as one without the kind",
		},
		"watch never ends": {
			file: "childwatch.go", old: "\t\t\tk.close()\n", new: "",
			breaks: "what nobody needs any more is cached for ever",
		},
		"watch ends at once": {
			file: "childwatch.go", old: "len(k.users) == 0 && w.clock.Since(k.idleSince) >= watchLinger", new: "w.clock.Since(k.idleSince) >= watchLinger",
			breaks: "a watch ends that somebody needs again",
		},
		"obstacle not told": {
			file: "childkind.go", old: "\tif trouble != nil {\n", new: "\tif false {\n",
			breaks: "nobody knows why nothing starts",
		},
		"deleted in the present kind only": {
			file: "apply.go", old: "\t\tk := s.kindOf(steps[i].UID)\n", new: "\t\tk := s.kinds[0]\n",
			breaks: "Replace does not stop a run of a former kind",
		},
		"looked for in the present kind only": {
			file: "apply.go", old: "\tfor _, k := range s.kinds {\n\t\tlive", new: "\tfor _, k := range s.kinds[:1] {\n\t\tlive",
			breaks: "a run of a former kind that no cache shows counts as gone",
		},
		"without its label expected in the cache": {
			file: "apply.go", old: "\t\ts.unwatched = true\n\t\treturn\n", new: "\t\ts.unwatched = true\n",
			breaks: "a child that no watch tells of never ends",
		},
		"without its label not looked for again": {
			file: "sync.go", old: "s.unwatched && (wake", new: "false && (wake",
			breaks: "the end of a child that no watch tells of is seen late",
		},
		"kind changed during a sync": {
			file: "childkind.go", old: "\treturn len(now) == 0 || now[0] != s.kinds[0].gvk\n", new: "\treturn len(now) == 0\n",
			breaks: "a child is taken for one of another kind",
		},
		"judged without its owner": {
			file: "gather.go", old: "r.kind.ReadChild(obj, k.gvk, s.owner)", new: "r.kind.ReadChild(obj, k.gvk, nil)",
			breaks: "nobody sees how a child of a kind that Carillon does not know has ended",
		},
		"started without what was known": {
			file: "apply.go", old: "start := adapter.Start{Timing: s.in.Policy.Timing, Memory: s.in.Stored}", new: "start := adapter.Start{}",
			breaks: "a template knows nothing of the times around its own",
		},
		"change of a dependency overlooked": {
			file: "dependencies.go", old: "\t\t\tq.Add(request(owner))\n", new: "\t\t\t_ = owner\n",
			breaks: "a holiday that was added is worked",
		},
		"dependency of another namespace": {
			file: "dependencies.go", old: "return kind.GroupKind().String() + \"/\" + name.String()", new: "return kind.GroupKind().String() + \"/\" + name.Name",
			breaks: "objects of others call for syncs",
		},
	})
}
