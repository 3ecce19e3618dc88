package main

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// rowText is a row as one line: key family:qualifier@timestamp=value[label] ...
// Families are sorted; the order of columns and versions is the server's, and part of the promise.
func rowText(row bigtable.Row) string {
	if len(row) == 0 {
		return "none"
	}
	families := make([]string, 0, len(row))
	for family := range row {
		families = append(families, family)
	}
	sort.Strings(families)
	words := []string{row.Key()}
	for _, family := range families {
		for _, cell := range row[family] {
			words = append(words, fmt.Sprintf("%s@%d=%s%s", cell.Column, cell.Timestamp, cell.Value,
				labelText(cell.Labels)))
		}
	}
	return strings.Join(words, " ")
}

func labelText(labels []string) string {
	if len(labels) == 0 {
		return ""
	}
	return "[" + strings.Join(labels, ",") + "]"
}

func equal[T comparable](what string, got, want T) error {
	if got != want {
		return fmt.Errorf("%s: %s, expected %s", what, shown(got), shown(want))
	}
	return nil
}

func shown(value any) string {
	if text, ok := value.(string); ok {
		return fmt.Sprintf("%.600q", text)
	}
	return fmt.Sprint(value)
}

// expectRow reads a row whole.
func expectRow(ctx context.Context, table bigtable.TableAPI, key, want string,
	options ...bigtable.ReadOption) error {
	row, err := table.ReadRow(ctx, key, options...)
	if err != nil {
		return fmt.Errorf("read %s: %w", key, err)
	}
	return equal("row "+key, rowText(row), want)
}

// scanText is all rows of a read, one to a line.
func scanText(ctx context.Context, table bigtable.TableAPI, rows bigtable.RowSet,
	options ...bigtable.ReadOption) (string, error) {
	var lines []string
	err := table.ReadRows(ctx, rows, func(row bigtable.Row) bool {
		lines = append(lines, rowText(row))
		return true
	}, options...)
	return strings.Join(lines, "\n"), err
}

// scanKeys is the keys of a read, with commas.
func scanKeys(ctx context.Context, table bigtable.TableAPI, rows bigtable.RowSet,
	options ...bigtable.ReadOption) (string, error) {
	var keys []string
	err := table.ReadRows(ctx, rows, func(row bigtable.Row) bool {
		keys = append(keys, row.Key())
		return true
	}, options...)
	return strings.Join(keys, ","), err
}

func expectKeys(ctx context.Context, table bigtable.TableAPI, what string, rows bigtable.RowSet,
	want string, options ...bigtable.ReadOption) error {
	got, err := scanKeys(ctx, table, rows, options...)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return equal(what, got, want)
}

// expectCode says whether an error is the one expected.
func expectCode(what string, err error, want codes.Code) error {
	if err == nil {
		return fmt.Errorf("%s: done, expected %s", what, want)
	}
	if got := status.Code(err); got != want {
		return fmt.Errorf("%s: %s (%w), expected %s", what, got, err, want)
	}
	return nil
}

func isGone(err error) bool { return status.Code(err) == codes.NotFound }

// all runs steps in order up to the first that fails.
func all(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// putRows writes one cell f:q@1000 = the key in each row.
func putRows(ctx context.Context, table bigtable.TableAPI, keys ...string) error {
	mutations := make([]*bigtable.Mutation, len(keys))
	for i, key := range keys {
		mutations[i] = bigtable.NewMutation()
		mutations[i].Set("f", "q", 1000, []byte(key))
	}
	return bulk(ctx, table, keys, mutations)
}

// bulk applies all or says which failed first.
func bulk(ctx context.Context, table bigtable.TableAPI, keys []string,
	mutations []*bigtable.Mutation) error {
	errs, err := table.ApplyBulk(ctx, keys, mutations)
	return errors.Join(append(errs, err)...)
}
