// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// colours reads the colours of a style sheet, light and dark: those of its first rule.
func colours(t *testing.T, file string) (light, dark map[string]string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), "}")
	light, dark = map[string]string{}, map[string]string{}
	for _, m := range regexp.MustCompile(`--([a-z0-9-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)`).FindAllStringSubmatch(first, -1) {
		light[m[1]], dark[m[1]] = m[2], m[3]
	}
	return light, dark
}

// luminance is that of WCAG.
func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	n, err := strconv.ParseUint(strings.TrimPrefix(colour, "#"), 16, 32)
	if err != nil {
		t.Fatal(err)
	}
	linear := func(c uint64) float64 {
		v := float64(c&255) / 255
		if v <= 0.03928 {
			return v / 12.92
		}
		return math.Pow((v+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(n>>16) + 0.7152*linear(n>>8) + 0.0722*linear(n)
}

// Each colour of a program can be read on each ground, in light and in dark, as WCAG AA asks (4.5 to 1).
func TestContrast(t *testing.T) {
	light, dark := colours(t, "run.css")
	sharedLight, sharedDark := colours(t, "../page/assets/style.css")
	for name, theme := range map[string][2]map[string]string{"light": {light, sharedLight}, "dark": {dark, sharedDark}} {
		own, shared := theme[0], theme[1]
		fores := map[string]string{"text": shared["text"]}
		backs := map[string]string{"sunken": shared["sunken"], "hover": shared["hover"], "accent-ground": shared["accent-ground"]}
		for key, colour := range own {
			switch {
			case strings.HasPrefix(key, "t-f"):
				fores[key] = colour
			case strings.HasPrefix(key, "t-g"):
				backs[key] = colour
			}
		}
		if len(fores) != 17 || len(backs) != 11 {
			t.Errorf("%s: %d foregrounds and %d grounds", name, len(fores), len(backs))
		}
		for fore, a := range fores {
			for back, b := range backs {
				x, y := luminance(t, a), luminance(t, b)
				if ratio := (max(x, y) + 0.05) / (min(x, y) + 0.05); ratio < 4.5 {
					t.Errorf("%s: %s on %s has a contrast of %.2f", name, fore, back, ratio)
				}
			}
		}
		if x, y := luminance(t, shared["text"]), luminance(t, own["t-hit"]); (max(x, y)+0.05)/(min(x, y)+0.05) < 4.5 {
			t.Errorf("%s: what was found cannot be read", name)
		}
	}
}
