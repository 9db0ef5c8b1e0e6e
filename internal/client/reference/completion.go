// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// completionTimeout bounds how long a completion may take.
const completionTimeout = 2 * time.Second

// Completion offers kinds, and then the names of the objects of a kind, which names gives; with an error, too, if it
// has some. It completes one argument.
func Completion(names func(ctx context.Context, kindWord string) ([]string, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		word, _, named := strings.Cut(typed, "/")
		if !named {
			return []string{"cronjob/", "timetable/", "job/"}, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		}
		ref, ok := Parse(word + "/x")
		if !ok {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
		defer cancel()
		found, _ := names(ctx, ref.Kind) // there is nobody to tell an error to
		for i := range found {
			found[i] = word + "/" + found[i]
		}
		return slices.DeleteFunc(found, func(name string) bool { return !strings.HasPrefix(name, typed) }), cobra.ShellCompDirectiveNoFileComp
	}
}
