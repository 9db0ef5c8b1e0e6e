// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package images

import "fmt"

// formatSize writes a number of bytes with two or three digits: "512 B", "4.3 MiB", "113 MiB", "1.2 GiB".
func formatSize(n int64) string {
	if n < 1<<10 {
		return fmt.Sprintf("%d B", max(n, 0))
	}
	size := float64(n)
	for _, unit := range []string{"KiB", "MiB", "GiB"} {
		size /= 1 << 10
		switch {
		case size < 9.95:
			return fmt.Sprintf("%.1f %s", size, unit)
		case size < 1023.5 || unit == "GiB":
			return fmt.Sprintf("%.0f %s", size, unit)
		}
	}
	return "" // the last unit took it
}
