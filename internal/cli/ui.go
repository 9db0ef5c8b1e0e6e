// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/client/cluster"
	"github.com/carillon-dev/carillon/internal/client/lookup"
	"github.com/carillon-dev/carillon/internal/ui"
)

type uiOptions struct {
	streams  Streams
	target   lookup.Target
	listen   string
	hosts    []string
	certFile string
	keyFile  string
	readOnly bool
	open     bool
	format   console.Format

	// asked: the user gave --listen. own: he gave something that a page which runs already may not do.
	asked, own bool
}

func newUI(streams Streams) *cobra.Command {
	o := &uiOptions{streams: streams, format: console.Text}
	cmd := &cobra.Command{
		Use:   "ui",
		Short: "Serve a page that shows what runs, what failed, and what is next",
		Long: `Serves a page for a browser: what goes on now, a timeline, the whole fleet, each schedule and each run
with its output, live; and what can be done about them, with the rights of the credentials that the
command was started with. It looks at the Carillon of this machine, also while that is stopped, at a
cluster (--context, --kubeconfig), or at a journal alone (--journal).

It prints the address to open. The token in it is what lets a browser in, and is new at each start: who
has the address may do what you may. Only this machine is let in, unless --listen names another address,
which takes TLS. Ctrl-C ends it; nothing else ends with it.

Where carillon up --ui runs, its page is there already: its address is printed, and nothing is started.`,
		Example: `  carillon ui                            # the Carillon of this machine
  carillon ui --open                     # and open the browser
  carillon ui --context production       # a cluster, with the rights of that context
  carillon ui --read-only                # look, and change nothing
  carillon ui --journal /mnt/backup/journal
  carillon ui --listen 0.0.0.0:7311 --tls-cert-file cert.pem --tls-private-key-file key.pem
  curl -H "Authorization: Bearer $TOKEN" http://127.0.0.1:7311/schedules`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			flags := cmd.Flags()
			o.asked = flags.Changed("listen")
			for _, name := range []string{"listen", "host", "tls-cert-file", "tls-private-key-file", "read-only", "journal", "namespace"} {
				o.own = o.own || flags.Changed(name)
			}
			return o.run(cmd.Context())
		},
	}
	o.target.AddFlags(cmd, false)
	flags := cmd.Flags()
	if f := flags.Lookup("namespace"); f != nil {
		f.Usage = "show this namespace only"
	}
	flags.StringVar(&o.listen, "listen", ui.DefaultListen, "address of the page; if it is taken, and not asked for, the next free port; port 0 takes a free one")
	flags.StringSliceVar(&o.hosts, "host", nil, "a further NAME or NAME:PORT by which browsers reach the page, through a proxy or a tunnel; may be repeated")
	flags.StringVar(&o.certFile, "tls-cert-file", "", "certificate of the page (PEM, with those between it and the root); read again when it changes")
	flags.StringVar(&o.keyFile, "tls-private-key-file", "", "private key of the certificate")
	flags.BoolVar(&o.readOnly, "read-only", false, "show everything and change nothing")
	flags.BoolVar(&o.open, "open", false, "open the page in the browser")
	flags.VarP(console.FormatFlag{Format: &o.format}, "output", "o", "how the address is printed: text, or json ({\"url\": …})")
	return cmd
}

func (o *uiOptions) run(ctx context.Context) error {
	if url := o.running(); url != "" {
		fmt.Fprintln(o.streams.Err, "carillon: this page is that of carillon up --ui, and ends with it")
		return o.tell(url, func() (string, error) { return ui.AskTicket(ctx, url) })
	}
	klog.SetLogger(logr.Discard()) // what clients say of each failed try, the page says where it matters
	log := slog.New(slog.NewTextHandler(o.streams.Err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	certificate, err := ui.LoadCertificate(o.certFile, o.keyFile, log)
	if err != nil {
		return err
	}
	if err := checkHosts(o.hosts); err != nil {
		return err
	}
	opener := &ui.Opener{Target: o.target, ReadOnly: o.readOnly, Clock: time.Now, Log: log}
	if err := opener.Open(ctx); err != nil {
		return interrupted(ctx, err)
	}
	listener, err := ui.Listen(o.listen, "--listen", o.asked, certificate != nil)
	if err != nil {
		return err
	}
	server := ui.NewServer(ui.ServerOptions{Listener: listener, Certificate: certificate, Hosts: o.hosts, Opener: opener, Log: log})
	if !o.asked && listener.Addr().String() != ui.DefaultListen {
		fmt.Fprintf(o.streams.Err, "carillon: another program listens at %s, so this is %s\n", ui.DefaultListen, listener.Addr())
	}
	fmt.Fprintln(o.streams.Err, "carillon: who has this address may do what you may; Ctrl-C ends it")
	go opener.Run(ctx)
	// The browser asks at once: the listener waits for it until it is served.
	if err := o.tell(server.URL(), func() (string, error) { return server.TicketURL(), nil }); err != nil {
		_ = listener.Close() // the error before it matters
		return err
	}
	return server.Serve(ctx)
}

// running is the address of the page that the Carillon on the data directory serves by itself, if that is what the
// flags ask for; "" otherwise.
func (o *uiOptions) running() string {
	flags := o.target.Cluster.OrLocal()
	if o.own || flags.DataDir == "" || flags.Kubeconfig != "" || flags.Context != "" {
		return ""
	}
	dir, err := cluster.Absolute(flags.DataDir)
	if err != nil {
		return ""
	}
	return ui.Announced(dir)
}

// tell prints the address, and opens it if it is to be. ticket gives one that a browser can be started with: the
// arguments of a program are no secret.
func (o *uiOptions) tell(url string, ticket func() (string, error)) error {
	if err := writeAddress(o.streams.Out, o.format, url); err != nil {
		return err
	}
	if !o.open {
		return nil
	}
	once, err := ticket()
	if err == nil {
		err = ui.OpenBrowser(once)
	}
	if err != nil {
		fmt.Fprintf(o.streams.Err, "carillon: the browser cannot be opened: %v; open the address by hand\n", err)
	}
	return nil
}

func writeAddress(w io.Writer, format console.Format, url string) error {
	if format != console.JSON {
		_, err := fmt.Fprintln(w, url)
		return err
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(struct {
		URL string `json:"url"`
	}{url})
}

// checkHosts refuses what no Host header can be.
func checkHosts(hosts []string) error {
	for _, h := range hosts {
		name := h
		if n, _, err := net.SplitHostPort(h); err == nil {
			name = n
		}
		if name == "" || strings.ContainsAny(name, "/*@?# \\") {
			return usage("--host %s: it is NAME or NAME:PORT, as browsers show it, without https://", h)
		}
	}
	return nil
}
