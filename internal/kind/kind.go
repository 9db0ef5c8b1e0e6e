// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kind lists the kinds of CronJob that Carillon serves. To add one, write an adapter in a folder of its own,
// let it pass the suite in kindtest, and add it to All; nothing registers itself.
package kind

import (
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/kind/batchv1"
	"github.com/carillon-dev/carillon/internal/kind/tutorial"
	"github.com/carillon-dev/carillon/internal/kind/volcano"
)

// The words of the adapters, so that users need only this package.
type (
	Kind   = adapter.Kind
	Info   = adapter.Info
	Object = adapter.Object
	Patch  = adapter.Patch
)

// All are the kinds, in the order in which they are set up.
var All = []Kind{
	batchv1.Kind{},
	volcano.Kind{},
	tutorial.Kind{},
}
