// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package expand replaces the variables of a Timetable's template by the values of one run (timetable.md 3.9):
// $(carillon.scheduledTime) and its like, in string values of JSON, never in keys.
//
// A template is read once, by [Compile], which finds and checks its variables without running it, and then expanded
// for each run. What a value holds is not looked at again, and it is written as part of a JSON string: no value can
// add structure. Everything that is not a variable stays as it is, byte by byte; a template without variables is
// given back as it came.
//
//	variable.go    which variables there are, and what they are called
//	template.go    Compile and Expand: where the variables of a JSON value stand
//	scan.go        the strings of a JSON value, with their paths
//	values.go      what the variables of one run stand for
//	parameters.go  parameters: defaults and patterns
package expand
