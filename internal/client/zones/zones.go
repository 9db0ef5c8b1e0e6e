// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package zones reads and completes the names of time zones that flags take.
package zones

import (
	"bufio"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/carillon-dev/carillon/internal/client/exitcode"
	"github.com/carillon-dev/carillon/schedule"
)

// zoneTables are where systems list the names of the tz database.
var zoneTables = []string{"/usr/share/zoneinfo/zone1970.tab", "/usr/share/zoneinfo/zone.tab", "/usr/share/zoneinfo/tzdata.zi"}

// usualZones are offered where there is no list.
var usualZones = []string{
	"UTC", "Africa/Cairo", "Africa/Johannesburg", "Africa/Lagos", "Africa/Nairobi", "America/Argentina/Buenos_Aires", "America/Chicago",
	"America/Denver", "America/Los_Angeles", "America/Mexico_City", "America/New_York", "America/Sao_Paulo", "America/Toronto",
	"Asia/Dubai", "Asia/Hong_Kong", "Asia/Jakarta", "Asia/Jerusalem", "Asia/Karachi", "Asia/Kolkata", "Asia/Seoul", "Asia/Shanghai",
	"Asia/Singapore", "Asia/Tokyo", "Australia/Melbourne", "Australia/Sydney", "Europe/Amsterdam", "Europe/Berlin", "Europe/Istanbul",
	"Europe/London", "Europe/Madrid", "Europe/Paris", "Europe/Rome", "Europe/Stockholm", "Europe/Warsaw", "Europe/Zurich", "Pacific/Auckland",
}

// Read reads --zone; nil if it is "". The zone of the machine is none: answers would differ from one to the other.
func Read(name string) (*time.Location, error) {
	if name == "" {
		return nil, nil //nolint:nilnil // documented: no zone was asked for
	}
	zone, err := schedule.LoadZone(name)
	if err != nil || strings.EqualFold(name, "local") {
		return nil, exitcode.UsageError("--zone %s: it is not in the time zone database; use a name such as Europe/Berlin or Etc/UTC", name)
	}
	return zone, nil
}

// Known are the names that the system knows, or else usual ones, in their order; nobody may modify them.
func Known() []string { return known() }

var known = sync.OnceValue(func() []string {
	for _, path := range zoneTables {
		if read := readZoneTable(path); len(read) > 0 {
			return read
		}
	}
	return usualZones
})

// Complete offers the names that the system knows, or else usual ones.
func Complete(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	var fitting []string
	for _, zone := range Known() {
		if strings.HasPrefix(zone, begun) {
			fitting = append(fitting, zone)
		}
	}
	return fitting, cobra.ShellCompDirectiveNoFileComp
}

// readZoneTable gives the names in a list of the tz database, UTC among them; nil if it cannot be read. A table has
// them in its third column; the compact source (tzdata.zi) in lines "Z name …" and "L target name".
func readZoneTable(path string) []string {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	var zones []string
	for lines := bufio.NewScanner(file); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		switch {
		case len(fields) < 3 || strings.HasPrefix(fields[0], "#"):
		case fields[0] == "Z":
			zones = append(zones, fields[1])
		case fields[0] == "L" || strings.HasSuffix(path, ".tab"):
			zones = append(zones, fields[2])
		}
	}
	if zones == nil {
		return nil
	}
	zones = append(zones, "UTC")
	slices.Sort(zones)
	return slices.Compact(zones)
}
