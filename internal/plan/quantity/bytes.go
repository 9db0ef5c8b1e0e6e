// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package quantity

import "fmt"

// Bytes writes a number of bytes with two or three digits: "512 B", "4.3 MiB", "113 MiB", "1.2 GiB". A negative one
// counts as none.
func Bytes(n int64) string {
	if n < 1<<10 {
		return fmt.Sprintf("%d B", max(n, 0))
	}
	size := float64(n)
	for _, unit := range []string{"KiB", "MiB", "GiB", "TiB"} {
		size /= 1 << 10
		switch {
		case size < 9.95:
			return fmt.Sprintf("%.1f %s", size, unit)
		case size < 1023.5 || unit == "TiB":
			return fmt.Sprintf("%.0f %s", size, unit)
		}
	}
	return "" // the last unit took it
}
