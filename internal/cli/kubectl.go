// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/tools/clientcmd"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"

	"github.com/carillon-dev/carillon/internal/client/cluster"
	"github.com/carillon-dev/carillon/internal/datadir"
	"github.com/carillon-dev/carillon/internal/privatedir"
)

// newKubectl embeds the ordinary kubectl. Its flags and exit codes are its own.
func newKubectl(streams Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "kubectl [--data-dir DIR] COMMAND…",
		Short: "Use the ordinary kubectl on the Carillon of this machine",
		Long: `The ordinary kubectl. Without --kubeconfig, --context, --server or $KUBECONFIG it talks to the
Carillon that runs on --data-dir (default: the one that ` + "`carillon up`" + ` uses). CronJobs of
batch/v1beta1 in the files of apply, create, delete, diff and replace are read as batch/v1.`,
		Example: `  carillon kubectl get cronjobs,jobs,pods
  carillon kubectl logs -f job/report
  carillon kubectl create job now --from=cronjob/nightly-backup`,
		DisableFlagParsing: true,
		ValidArgsFunction:  cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			// kubectl has nothing to put in order, and expects that signals end it.
			signal.Reset(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
			args, dataDir, named := cutDataDir(args)
			if err := pointKubectlAt(args, dataDir, named); err != nil {
				return err
			}
			kubectlutil.BehaviorOnFatal(func(message string, code int) {
				fmt.Fprint(streams.Err, withHint(message, dataDir))
				os.Exit(code)
			})
			errOut := streams.Err
			if slices.Contains(args, "edit") { // which advises a command that is none of ours
				errOut = adviceOfEdit{to: streams.Err, self: filepath.Base(os.Args[0])}
			}
			root := kubectl.NewKubectlCommand(kubectl.KubectlOptions{
				IOStreams:   genericiooptions.IOStreams{In: streams.In, Out: streams.Out, ErrOut: errOut},
				Arguments:   append([]string{"kubectl"}, args...),
				ConfigFlags: genericclioptions.NewConfigFlags(true).WithDeprecatedPasswordFlag().WithDiscoveryBurst(300).WithDiscoveryQPS(50),
			})
			if verb, _, err := root.Find(args); err == nil && slices.Contains(manifestReaders, verb.Name()) {
				args, err = convertManifests(cmd.Context(), args, streams)
				if err != nil {
					return err
				}
			}
			root.SetArgs(args)
			return root.ExecuteContext(cmd.Context())
		},
	}
}

// adviceOfEdit passes on what kubectl edit says. After an edit that the server refuses it advises to replace the object
// from a file, and takes the name of this program for its own.
type adviceOfEdit struct {
	to   io.Writer
	self string
}

// Write implements io.Writer. kubectl writes the advice as a whole.
func (a adviceOfEdit) Write(text []byte) (int, error) {
	wrong := []byte("`" + a.self + " replace -f ")
	if _, err := a.to.Write(bytes.ReplaceAll(text, wrong, []byte("`"+a.self+" kubectl replace -f "))); err != nil {
		return 0, err
	}
	return len(text), nil
}

// withHint is what kubectl says last, with a line of ours when we know the cure: the Carillon of dataDir does not run,
// or a CronJob is of a version that is served no more.
func withHint(message, dataDir string) string {
	if message != "" && !strings.HasSuffix(message, "\n") {
		message += "\n"
	}
	if os.Getenv(clientcmd.RecommendedConfigPathEnvVar) == datadir.Kubeconfig(dataDir) && cluster.CheckListening(datadir.Kubeconfig(dataDir), dataDir) != nil {
		message += "carillon: " + cluster.NotRunning(dataDir).Error() + "\n"
	}
	if strings.Contains(message, `no matches for kind "CronJob" in version "batch/v1beta1"`) {
		message += "carillon: write apiVersion: batch/v1, which has the same fields\n"
	}
	return message
}

// cutDataDir takes our own flag out of kubectl's arguments, where it comes before "--".
func cutDataDir(args []string) (rest []string, dir string, named bool) {
	rest, dir = slices.Clone(args), datadir.Default()
	for i, a := range rest {
		if a == "--" {
			break
		}
		if v, ok := strings.CutPrefix(a, "--data-dir="); ok {
			return slices.Delete(rest, i, i+1), v, true
		}
		if a == "--data-dir" && i+1 < len(rest) {
			v := rest[i+1]
			return slices.Delete(rest, i, i+2), v, true
		}
	}
	return rest, dir, os.Getenv(datadir.Env) != ""
}

// pointKubectlAt makes kubectl use the kubeconfig of the local Carillon, unless the user named another
// cluster. A data directory that was named must exist; the default one need not.
func pointKubectlAt(args []string, dataDir string, named bool) error {
	for _, a := range args {
		if a == "--" {
			break
		}
		for _, own := range []string{"--kubeconfig", "--context", "--server", "-s", "--cluster"} {
			if a == own || strings.HasPrefix(a, own+"=") {
				return nil
			}
		}
	}
	if !named && os.Getenv(clientcmd.RecommendedConfigPathEnvVar) != "" {
		return nil
	}
	path, err := cluster.Kubeconfig(dataDir)
	if err != nil {
		if (named || errors.As(err, new(*privatedir.NotOursError))) && needsServer(args) {
			return err
		}
		return nil
	}
	return os.Setenv(clientcmd.RecommendedConfigPathEnvVar, path)
}

func needsServer(args []string) bool {
	return len(args) > 0 && !slices.Contains([]string{"help", "version", "completion", "options", "--help", "-h"}, args[0])
}
