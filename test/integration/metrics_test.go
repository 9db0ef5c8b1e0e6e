// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/carillon-dev/carillon/internal/manager"
)

// reader makes a service account and returns a token of it; bound, it may read metrics by the shipped role.
func (w *world) reader(name string, bound bool) (token string) {
	w.Helper()
	ctx := w.Context()
	accounts := w.client.CoreV1().ServiceAccounts(w.namespace)
	if _, err := accounts.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		w.Fatal(err)
	}
	if bound {
		_, err := w.client.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: w.namespace + "-" + name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "carillon-metrics-reader"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: w.namespace, Name: name}},
		}, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			w.Fatal(err)
		}
	}
	review, err := accounts.CreateToken(ctx, name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		w.Fatal(err)
	}
	return review.Status.Token
}

// scrape gets the metrics with a token, "" for none.
func scrape(addr, token string) (status int, body string, err error) {
	client := http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // the certificate is self-signed
		DisableKeepAlives: true,
	}}
	req, err := http.NewRequest(http.MethodGet, "https://"+addr+"/metrics", nil)
	if err != nil {
		return 0, "", err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(data), err
}

// Metrics are served over TLS, and only to those whom the API server knows and allows to get them.
func TestMetricsAreForThoseWhoMay(t *testing.T) {
	addr := freeAddr(t)
	w := newWorld(t, manager.Options{Controllers: []string{manager.CronJob}, MetricsAddr: addr})
	applyRBAC(t, w.plane, "rbac.yaml")
	stranger, prometheus := w.reader("stranger", false), w.reader("prometheus", true)
	expect := func(who, token string, want int) (body string) {
		t.Helper()
		w.eventually(who, func(context.Context) error {
			var status int
			var err error
			if status, body, err = scrape(addr, token); err == nil && status != want {
				err = fmt.Errorf("status %d, want %d: %.200s", status, want, body)
			}
			if err == nil && want != http.StatusOK && strings.Contains(body, "carillon_") {
				t.Errorf("%s reads metrics", who)
			}
			return err
		})
		return body
	}
	if status, body, err := get("http://" + addr + "/metrics"); err == nil && status == http.StatusOK {
		t.Errorf("served in clear text:\n%.200s", body)
	}
	expect("nobody", "", http.StatusUnauthorized)
	expect("a forged token", "forged", http.StatusUnauthorized)
	expect("a stranger", stranger, http.StatusForbidden)
	if body := expect("a reader", prometheus, http.StatusOK); !strings.Contains(body, "carillon_cronjob_runs_total") {
		t.Errorf("no metrics of ours in:\n%.500s", body)
	}
}
