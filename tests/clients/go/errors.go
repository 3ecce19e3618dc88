package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"cloud.google.com/go/bigtable"
	pb "cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

var errorChecks = []check{
	{"error_unknown_table_and_family", unknownNames},
	{"error_limits", limits},
	{"error_deadline_in_a_scan", deadlineInScan},
	{"error_deadline_of_a_write", deadlineOfWrite},
	{"error_cancel_in_a_scan", cancelInScan},
}

// keyChecks are not run in plaintext, where there are no keys.
var keyChecks = []check{
	{"error_bad_key_and_foreign_project", notAllowed},
}

func unknownNames(ctx context.Context, w *world) error {
	_, table, err := w.table(ctx, "known", "f")
	if err != nil {
		return err
	}
	nobody := w.client.Open("nobody-" + w.unique)
	increment := bigtable.NewReadModifyWrite()
	increment.Increment("nobody", "q", 1)
	_, readErr := nobody.ReadRow(ctx, "r")
	_, sampleErr := nobody.SampleRowKeys(ctx)
	_, modifyErr := table.ApplyReadModifyWrite(ctx, "r", increment)
	condition := bigtable.NewCondMutation(bigtable.PassAllFilter(), nil,
		set("nobody", "q", 1000, "v"))
	return all(
		func() error { return expectCode("read", readErr, codes.NotFound) },
		func() error { return expectCode("sample", sampleErr, codes.NotFound) },
		func() error {
			return expectCode("apply", nobody.Apply(ctx, "r", set("f", "q", 1000, "v")),
				codes.NotFound)
		},
		func() error {
			return expectCode("family", table.Apply(ctx, "r", set("nobody", "q", 1000, "v")),
				codes.NotFound)
		},
		func() error { return expectCode("family to increment", modifyErr, codes.NotFound) },
		func() error {
			return expectCode("family on condition", table.Apply(ctx, "r", condition), codes.NotFound)
		},
	)
}

// microseconds are refused. The library truncates a timestamp before it sends one, so this is said
// by the stub it is made of.
func microseconds(ctx context.Context, w *world, table string) error {
	cell := &pb.Mutation_SetCell{FamilyName: "f", ColumnQualifier: []byte("q"), TimestampMicros: 1001}
	request := &pb.MutateRowRequest{TableName: w.target.TableName(table), RowKey: []byte("r"),
		Mutations: []*pb.Mutation{{Mutation: &pb.Mutation_SetCell_{SetCell: cell}}}}
	return withStub(w, func(stub pb.BigtableClient) error {
		_, err := stub.MutateRow(ctx, request)
		return expectCode("a timestamp of microseconds", err, codes.InvalidArgument)
	})
}

func limits(ctx context.Context, w *world) error {
	name, table, err := w.table(ctx, "limits", "f")
	if err != nil {
		return err
	}
	many := bigtable.NewMutation()
	for range 100_001 {
		many.Set("f", "q", 1000, nil)
	}
	ok := set("f", "q", 1000, "v")
	refused := func(what, key string, m *bigtable.Mutation) func() error {
		return func() error {
			return expectCode(what, table.Apply(ctx, key, m), codes.InvalidArgument)
		}
	}
	return all(
		func() error { return table.Apply(ctx, strings.Repeat("k", 4096), ok) },
		refused("a key of 4097", strings.Repeat("k", 4097), ok),
		refused("an empty key", "", ok),
		func() error {
			return table.Apply(ctx, "r", set("f", strings.Repeat("q", 16384), 1000, "v"))
		},
		refused("a qualifier of 16385", "r", set("f", strings.Repeat("q", 16385), 1000, "v")),
		func() error { return microseconds(ctx, w, name) },
		refused("a timestamp below -1", "r", set("f", "q", -2000, "v")),
		refused("no mutation", "r", bigtable.NewMutation()),
		refused("100001 mutations", "r", many),
		func() error {
			_, err := scanKeys(ctx, table, bigtable.NewClosedOpenRange("b", "a"))
			// The client may know by itself that nothing can be in such a range.
			if err != nil && status.Code(err) != codes.InvalidArgument {
				return fmt.Errorf("range upside down: %w", err)
			}
			return nil
		},
	)
}

func notAllowed(ctx context.Context, w *world) error {
	name, _, err := w.table(ctx, "guarded", "f")
	if err != nil {
		return err
	}
	try := func(client *bigtable.Client, err error) error {
		if err != nil {
			return err
		}
		_, err = client.Open(name).ReadRow(ctx, "r")
		if closeErr := client.Close(); closeErr != nil {
			return closeErr
		}
		return err
	}
	return all(
		func() error {
			return expectCode("a wrong key", try(newClient(ctx, w.target.WithKey("bt_nobody"))),
				codes.Unauthenticated)
		},
		func() error {
			return expectCode("another's project",
				try(newClient(ctx, w.target.WithProject("nobody-"+w.unique))), codes.PermissionDenied)
		},
	)
}

// longScan reads until an error ends it.
func longScan(ctx context.Context, table *bigtable.Table, each func(rows int)) (int, error) {
	rows := 0
	err := table.ReadRows(ctx, bigtable.InfiniteRange(""), func(bigtable.Row) bool {
		rows++
		each(rows)
		return true
	})
	return rows, err
}

func deadlineInScan(ctx context.Context, w *world) error {
	table, err := w.long(ctx)
	if err != nil {
		return err
	}
	// On a slow machine, no row may be there within the first deadline.
	rows := 0
	for deadline := 3 * time.Second; rows == 0 && deadline <= time.Minute; deadline *= 4 {
		short, cancel := context.WithTimeout(ctx, deadline)
		// Rows the library has are given even after the deadline; it has not nearly all.
		rows, err = longScan(short, table, func(int) { <-short.Done() })
		cancel()
	}
	if rows == 0 || rows == longRows {
		return fmt.Errorf("%d rows, expected some: %w", rows, err)
	}
	if err := expectCode("scan", err, codes.DeadlineExceeded); err != nil {
		return err
	}
	return expectKeys(ctx, table, "afterwards", bigtable.SingleRow("row-000001"), "row-000001")
}

func deadlineOfWrite(ctx context.Context, w *world) error {
	_, table, err := w.table(ctx, "late", "f")
	if err != nil {
		return err
	}
	past, cancel := context.WithDeadline(ctx, time.Now().Add(-time.Second))
	defer cancel()
	err = table.Apply(past, "r", set("f", "q", 1000, "v"))
	if err := expectCode("write", err, codes.DeadlineExceeded); err != nil {
		return err
	}
	return expectRow(ctx, table, "r", "none")
}

func cancelInScan(ctx context.Context, w *world) error {
	table, err := w.long(ctx)
	if err != nil {
		return err
	}
	// More scans than a server would have places, were a cancelled one to keep its own. The library
	// still gives the rows of the message it has, thousands of them, so none is slept over.
	for range 50 {
		cancelled, cancel := context.WithCancel(ctx)
		rows, err := longScan(cancelled, table, func(rows int) {
			if rows == 5 {
				cancel()
			}
		})
		cancel()
		if rows == longRows {
			return fmt.Errorf("a cancelled scan went to its end: %w", err)
		}
		if err := expectCode("scan", err, codes.Canceled); err != nil {
			return err
		}
	}
	return expectKeys(ctx, table, "afterwards", bigtable.SingleRow("row-000001"), "row-000001")
}
