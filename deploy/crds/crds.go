// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package crds holds the CustomResourceDefinitions that Carillon ships, for the commands that need one where it is not
// installed.
package crds

import _ "embed" // the definitions are files beside this one

// Tutorial is the definition of the kubebuilder book's CronJob, as YAML.
//
//go:embed batch.tutorial.kubebuilder.io_cronjobs.yaml
var Tutorial []byte
