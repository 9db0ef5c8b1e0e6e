// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/carillon-dev/carillon/internal/manager"
)

// A manager that may not list Calendars, under leader election too, serves the Timetables that name none, and the
// others say what is missing. They are served as soon as it is granted (TT-263).
func TestCalendarsThatMayNotBeListed(t *testing.T) {
	for name, elect := range map[string]bool{"alone": false, "elected": true} {
		t.Run(name, func(t *testing.T) {
			w := newTimetableAPI(t)
			w.clock = clocktesting.NewFakeClock(time.Now())
			w.deleteAllTimetables()
			account := "no-calendars-" + w.namespace
			role := func(suffix string, rules ...rbacv1.PolicyRule) string {
				r := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: suffix + "-" + w.namespace}, Rules: rules}
				if _, err := w.client.RbacV1().ClusterRoles().Create(t.Context(), r, metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
				return r.Name
			}
			all := []string{"*"}
			w.bindCluster(account, role("serve",
				rbacv1.PolicyRule{APIGroups: []string{"batch.carillon.dev"}, Resources: []string{"timetables", "timetables/status", "timetables/finalizers"}, Verbs: all},
				rbacv1.PolicyRule{APIGroups: []string{"batch"}, Resources: []string{"jobs"}, Verbs: all},
				rbacv1.PolicyRule{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: all}))
			config := w.plane.ConfigFor(account, "system:authenticated")
			served(t, config)
			w.run(manager.Options{Config: config, Clock: w.clock, Zone: time.UTC, Controllers: []string{manager.Timetable}, LeaderElect: elect, LeaderElectionNamespace: w.namespace})

			w.createTimetable("plain", "{}")
			w.createTimetable("careful", "{exclude: [{calendar: holidays}]}")
			w.eventually("it is told", func(ctx context.Context) error {
				return w.readyIs(ctx, "careful", "CalendarNotFound", "the controller may not list and watch it in all namespaces: ask an administrator to grant get, list and watch of calendars.batch.carillon.dev")
			})
			w.step("the other one starts", func(ctx context.Context) error {
				if jobs, err := w.jobsLabelled(ctx, "plain"); err != nil || len(jobs) == 0 {
					return fmt.Errorf("%d Jobs: %w", len(jobs), err)
				}
				return nil
			})
			granted := role("calendars", rbacv1.PolicyRule{APIGroups: []string{"batch.carillon.dev"}, Resources: []string{"calendars"}, Verbs: all})
			binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: granted}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: granted},
				Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: account}}}
			if _, err := w.client.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			w.eventually("it is looked for", func(ctx context.Context) error {
				return w.readyIs(ctx, "careful", "CalendarNotFound", "calendar holidays does not exist in this namespace")
			})
		})
	}
}

// deleteAllTimetables deletes those that other tests have left: without a lease a manager stands back where another one
// has just written a status.
func (w *world) deleteAllTimetables() {
	w.Helper()
	all := dynamic.NewForConfigOrDie(w.plane.Config()).Resource(timetables)
	w.eventually("Timetables of other tests are gone", func(ctx context.Context) error {
		list, err := all.List(ctx, metav1.ListOptions{})
		if err != nil || len(list.Items) == 0 {
			return err
		}
		for _, tt := range list.Items {
			if err := all.Namespace(tt.GetNamespace()).Delete(ctx, tt.GetName(), metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
				return err
			}
		}
		return fmt.Errorf("%d are there", len(list.Items))
	})
}
