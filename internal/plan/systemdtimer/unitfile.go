// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package systemdtimer

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// A unitFile is what a unit file says: the values of each setting, in their order.
type unitFile struct {
	values map[string][]string // by "Section.Setting"
	order  []string
}

// readUnitFile reads a unit file, with its drop-ins behind it. An empty value takes back what stands above.
func readUnitFile(text string) (unitFile, error) {
	file := unitFile{values: map[string][]string{}}
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return unitFile{}, fmt.Errorf("it is not UTF-8 text")
	}
	section, number := "", 0
	joined := ""
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		number++
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "#") || strings.HasPrefix(trimmed, ";") {
			continue // between continued lines, too
		}
		if before, ok := strings.CutSuffix(trimmed, `\`); ok {
			joined += before + " "
			continue
		}
		trimmed, joined = joined+trimmed, ""
		switch {
		case trimmed == "":
		case strings.HasPrefix(trimmed, "[") && strings.HasSuffix(trimmed, "]"):
			section = trimmed[1 : len(trimmed)-1]
		default:
			name, content, ok := strings.Cut(trimmed, "=")
			if !ok || section == "" {
				return unitFile{}, fmt.Errorf("line %d: %q is neither a [Section] nor Setting=value", number, trimmed)
			}
			file.add(section+"."+strings.TrimSpace(name), strings.TrimSpace(content))
		}
	}
	return file, nil
}

// times are the settings of a timer that say when; an empty value of one takes all of them back.
var times = []string{"Timer.OnCalendar", "Timer.OnActiveSec", "Timer.OnBootSec", "Timer.OnStartupSec", "Timer.OnUnitActiveSec", "Timer.OnUnitInactiveSec"}

func (f *unitFile) add(name, content string) {
	if content == "" {
		delete(f.values, name)
		if slices.Contains(times, name) {
			for _, other := range times {
				delete(f.values, other)
			}
		}
		return
	}
	if f.values[name] == nil {
		f.order = append(f.order, name)
	}
	f.values[name] = append(f.values[name], content)
}

// last is the value of a setting that counts once: the last.
func (f unitFile) last(name string) string {
	all := f.values[name]
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1]
}

func isYes(text string) bool {
	switch strings.ToLower(text) {
	case "1", "yes", "y", "true", "t", "on":
		return true
	}
	return false
}
