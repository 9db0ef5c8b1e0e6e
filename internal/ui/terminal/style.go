// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package terminal

import "strconv"

// style is how characters look. The colours are 1 to 16; 0 is that of the text, or of the ground.
type style struct {
	fore, back                                     uint8
	bold, dim, italic, underline, struck, inverted bool
}

// classes gives the classes of a style. Of inverse colours each takes the place of the other.
func (s style) classes() string {
	if s == (style{}) {
		return ""
	}
	fore, back := s.fore, s.back
	plain := s.inverted && fore == 0 && back == 0
	if s.inverted {
		fore, back = back, fore
	}
	var b []byte
	add := func(on bool, class string) {
		if !on {
			return
		}
		if len(b) > 0 {
			b = append(b, ' ')
		}
		b = append(b, class...)
	}
	add(fore > 0, "t-f"+strconv.Itoa(int(fore)-1))
	add(back > 0, "t-g"+strconv.Itoa(int(back)-1))
	add(s.bold, "t-b")
	add(s.dim, "t-d")
	add(s.italic, "t-i")
	add(s.underline, "t-u")
	add(s.struck, "t-s")
	add(plain, "t-v")
	return string(b)
}

// apply applies the parameters of SGR, "select graphic rendition". Those that are not known change nothing; hidden text
// is shown.
func (s *style) apply(all [][]int) {
	for i := 0; i < len(all); i++ {
		switch n := all[i][0]; {
		case n == 0:
			*s = style{}
		case n == 1:
			s.bold = true
		case n == 2:
			s.dim = true
		case n == 3:
			s.italic = true
		case n == 4:
			s.underline = len(all[i]) < 2 || all[i][1] != 0
		case n == 7:
			s.inverted = true
		case n == 9:
			s.struck = true
		case n == 21:
			s.underline = true
		case n == 22:
			s.bold, s.dim = false, false
		case n == 23:
			s.italic = false
		case n == 24:
			s.underline = false
		case n == 27:
			s.inverted = false
		case n == 29:
			s.struck = false
		case 30 <= n && n <= 37:
			s.fore = uint8(n - 30 + 1)
		case n == 39:
			s.fore = 0
		case 40 <= n && n <= 47:
			s.back = uint8(n - 40 + 1)
		case n == 49:
			s.back = 0
		case 90 <= n && n <= 97:
			s.fore = uint8(n - 90 + 8 + 1)
		case 100 <= n && n <= 107:
			s.back = uint8(n - 100 + 8 + 1)
		case n == 38 || n == 48 || n == 58:
			c, used, ok := extended(all[i:])
			i += used
			switch {
			case ok && n == 38:
				s.fore = c
			case ok && n == 48:
				s.back = c
			}
		}
	}
}

// extended reads a colour of 256, or of 24 bits: 38;5;n or 38;2;r;g;b, with semicolons or colons, and tells how many
// further parameters it took.
func extended(all [][]int) (colour uint8, used int, ok bool) {
	args := all[0][1:]
	if len(args) == 0 { // with semicolons
		for _, p := range all[1:min(len(all), 5)] {
			args = append(args, p[0])
		}
		switch {
		case len(args) > 0 && args[0] == 5:
			used = min(2, len(args))
		case len(args) > 0 && args[0] == 2:
			used = min(4, len(args))
		default:
			used = min(1, len(args))
		}
		args = args[:used]
	} else if args[0] == 2 && len(args) == 5 { // 38:2:space:r:g:b
		args = append([]int{2}, args[2:]...)
	}
	switch {
	case len(args) == 2 && args[0] == 5 && args[1] <= 255:
		return ofPalette(args[1]), used, true
	case len(args) == 4 && args[0] == 2 && max(args[1], args[2], args[3]) <= 255:
		return nearest(args[1], args[2], args[3]), used, true
	}
	return 0, used, false
}

// ofPalette gives the colour of 16 for one of 256.
func ofPalette(n int) uint8 {
	switch {
	case n < 16:
		return uint8(n + 1) //nolint:gosec // at most 255
	case n >= 232:
		grey := 8 + (n-232)*10
		return nearest(grey, grey, grey)
	}
	level := func(n int) int {
		if n == 0 {
			return 0
		}
		return 55 + n*40
	}
	n -= 16
	return nearest(level(n/36), level(n/6%6), level(n%6))
}

// basic are the 16 colours as they are meant, so that others can be compared with them. What they look like says the
// style sheet.
var basic = [16][3]int{
	{0, 0, 0}, {205, 0, 0}, {0, 205, 0}, {205, 205, 0}, {0, 0, 238}, {205, 0, 205}, {0, 205, 205}, {229, 229, 229},
	{127, 127, 127}, {255, 0, 0}, {0, 255, 0}, {255, 255, 0}, {92, 92, 255}, {255, 0, 255}, {0, 255, 255}, {255, 255, 255},
}

// nearest gives the colour of 16 that looks most like one of 24 bits. A grey one becomes none that has a hue, and the
// other way round.
func nearest(r, g, b int) uint8 {
	grey := max(r, g, b)-min(r, g, b) < 24
	best, distance := 0, -1
	for i, c := range basic {
		if isGrey := c[0] == c[1] && c[1] == c[2]; isGrey != grey {
			continue
		}
		mean := (r + c[0]) / 2
		dr, dg, db := r-c[0], g-c[1], b-c[2]
		// The eye sees differences of green best, and of red and blue by how red the colour is.
		d := (512+mean)*dr*dr>>8 + 4*dg*dg + (767-mean)*db*db>>8
		if distance < 0 || d < distance {
			best, distance = i, d
		}
	}
	return uint8(best + 1) //nolint:gosec // at most 16
}
