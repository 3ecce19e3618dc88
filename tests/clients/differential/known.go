package main

import (
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A knownDifference is where the emulator is not followed, and why. Bigtent follows the production
// service as its documentation and client libraries describe it.
type knownDifference struct {
	name   string
	what   string
	reason string
	// code, if set, gives the code the emulator should have answered with; false is none of this.
	code func(emulated *status.Status) (codes.Code, bool)
}

func textTells(code codes.Code, words string) func(*status.Status) (codes.Code, bool) {
	return func(emulated *status.Status) (codes.Code, bool) {
		wrong := emulated.Code() == codes.Unknown || emulated.Code() == codes.Internal
		return code, wrong && strings.Contains(emulated.Message(), words)
	}
}

// knownDifferences is the whole list. Those with a code are translated before answers are compared;
// what the others name is not drawn by draw.go and filter.go.
var knownDifferences = []knownDifference{
	{name: "unknown family", what: "NOT_FOUND; the emulator answers UNKNOWN, or INTERNAL for an entry",
		reason: "clients tell a wrong name from a broken server by the code",
		code:   textTells(codes.NotFound, "unknown family")},
	{name: "increment of a value that is not 8 bytes",
		what:   "FAILED_PRECONDITION; the emulator answers UNKNOWN",
		reason: "the request is right, the cell is not; UNKNOWN says nothing",
		code:   textTells(codes.FailedPrecondition, "increment on non-64-bit value")},
	{name: "refused entry of MutateRows",
		what:   "the entry has the code MutateRow would give; the emulator answers INTERNAL",
		reason: "INTERNAL would be retried by some clients",
		code:   textTells(codes.InvalidArgument, "code = InvalidArgument")},
	{name: "aggregate mutation of a plain family",
		what:   "INVALID_ARGUMENT; the emulator answers UNKNOWN",
		reason: "documented: the mutation is rejected",
		code:   textTells(codes.InvalidArgument, "on non-aggregate cell")},
	{name: "order of families",
		what:   "as created; the emulator gives those made with the table in random order",
		reason: "the order of a map in memory; answers are compared with families sorted"},
	{name: "mutations before an invalid one",
		what:   "none is applied; the emulator keeps those before",
		reason: "a row changes whole or not at all"},
	{name: "delete of an unknown family", what: "NOT_FOUND; the emulator ignores it",
		reason: "one rule for all mutations"},
	{name: "CheckAndMutateRow without mutations", what: "INVALID_ARGUMENT; the emulator accepts it",
		reason: "documented"},
	{name: "empty row key to read", what: "INVALID_ARGUMENT; the emulator finds nothing",
		reason: "documented: row keys are never empty"},
	{name: "range that ends where it begins",
		what:   "INVALID_ARGUMENT unless both bounds are closed; the emulator reads nothing",
		reason: "documented: the start must be less than the end"},
	{name: "cells_per_row filters over several families",
		what:   "cells in their order; the emulator counts families in random order",
		reason: "the order of a map in memory; drawn only behind a filter of one family"},
	{name: "duplicates that differ by label or value",
		what: "in the order of the branches; the emulator's order is arbitrary",
		reason: "its sort is not stable; compared sorted, and counting filters are not drawn behind " +
			"them"},
	{name: "strip behind a label", what: "the label stays; the emulator drops it",
		reason: "strip_value_transformer is about values"},
	{name: "row_sample_filter", what: "random rows", reason: "two coins, two answers"},
	{name: "sink", what: "as documented; the emulator lacks it",
		reason: "the emulator logs a filter it does not know and lets every cell through"},
	{name: "value_bitmask_filter", what: "as documented; the emulator lacks it",
		reason: "like sink"},
	{name: `\C in a regular expression`, what: "any byte; the emulator refuses it",
		reason: "Go's expressions have no such thing, RE2 has"},
	{name: "invalid filter without rows to filter",
		what:   "INVALID_ARGUMENT; the emulator looks at a filter when it meets a cell",
		reason: "an answer must not depend on the data"},
	{name: "limits of keys, qualifiers, filters, labels",
		what: "INVALID_ARGUMENT; the emulator has no limits", reason: "documented"},
	{name: "family of type min, max, hll",
		what:   "aggregated; the emulator overwrites, and adds only int64 to sums",
		reason: "it implements sum alone"},
	{name: "SetCell and ReadModifyWriteRow in an aggregate family",
		what: "INVALID_ARGUMENT; the emulator applies them", reason: "documented"},
	{name: "timestamp of now", what: "-1 and ReadModifyWriteRow take the server's clock",
		reason: "two clocks; compared as @now, with steps between requests that need one"},
	{name: "two cells of now in one request", what: "both at one time; the emulator's may differ",
		reason: "it asks its clock for each mutation"},
	{name: "SampleRowKeys", what: "split points by size, and the end; the emulator's are random",
		reason: "it gives any row with a probability, and no end"},
	{name: "empty prefix to drop", what: "INVALID_ARGUMENT; the emulator drops everything",
		reason: "delete_all_data_from_table is there for it"},
	{name: "garbage collection", what: "garbage is never shown; the emulator's loop takes time",
		reason: "time; tables here keep everything"},
}

// expectedCode is the code that the emulator's answer stands for.
func expectedCode(answer *status.Status) codes.Code {
	for _, known := range knownDifferences {
		if known.code == nil {
			continue
		}
		if code, applies := known.code(answer); applies {
			return code
		}
	}
	return answer.Code()
}

// listKnown prints the list as rows of a Markdown table.
func listKnown() {
	fmt.Println("| where | what Bigtent does, and the emulator | why |")
	fmt.Println("|---|---|---|")
	for _, known := range knownDifferences {
		fmt.Printf("| %s | %s | %s |\n", known.name, known.what, known.reason)
	}
}
