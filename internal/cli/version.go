// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/carillon-dev/carillon/internal/version"
)

func newVersion(streams Streams) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Say which Carillon and which Kubernetes this is",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := struct {
				Carillon   string `json:"carillon"`
				Kubernetes string `json:"kubernetes"`
				Go         string `json:"go"`
				Platform   string `json:"platform"`
			}{version.String(), version.Kubernetes, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
			switch output {
			case "json":
				return json.NewEncoder(streams.Out).Encode(v)
			case "text":
				fmt.Fprintf(streams.Out, "carillon %s\nkubernetes %s\n%s %s\n", v.Carillon, v.Kubernetes, v.Go, v.Platform)
				return nil
			}
			return usage("unknown output %q: it is text or json", output)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "text", "text or json")
	return cmd
}
