package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc/codes"
)

var filterChecks = []check{
	{"filter_every_kind", everyFilter},
	{"filter_row_sample", rowSample},
	{"filter_refused", filtersRefused},
	{"filter_without_rows_is_checked_too", filterOfNoRows},
}

// filterRows is what the filters below meet: two families, columns, versions, binary.
func filterRows(ctx context.Context, w *world, name string) (*bigtable.Table, error) {
	_, table, err := w.table(ctx, name, "f", "g")
	if err != nil {
		return nil, err
	}
	one := bigtable.NewMutation()
	one.Set("f", "a", 1000, []byte("x1"))
	one.Set("f", "a", 2000, []byte("x2"))
	one.Set("f", "a", 3000, []byte("x3"))
	one.Set("f", "b", 1000, []byte("y"))
	one.Set("g", "a", 2000, []byte("z"))
	two := bigtable.NewMutation()
	two.Set("f", "b", 1000, []byte("y2"))
	two.Set("g", "bin\xff\n", 1000, []byte("\xff\n\x00"))
	return table, bulk(ctx, table, []string{"r1", "r2"}, []*bigtable.Mutation{one, two})
}

type filterCase struct {
	name   string
	filter bigtable.Filter
	want   string
}

func everyFilter(ctx context.Context, w *world) error {
	table, err := filterRows(ctx, w, "filters")
	if err != nil {
		return err
	}
	var failed []error
	for _, cases := range [][]filterCase{cellFilters(), countFilters(), composedFilters()} {
		for _, c := range cases {
			got, err := scanText(ctx, table, bigtable.InfiniteRange(""), bigtable.RowFilter(c.filter))
			if err != nil {
				failed = append(failed, fmt.Errorf("%s: %w", c.name, err))
				continue
			}
			failed = append(failed, equal(c.name, got, c.want))
		}
	}
	return errors.Join(failed...)
}

const (
	whole1 = "r1 f:a@3000=x3 f:a@2000=x2 f:a@1000=x1 f:b@1000=y g:a@2000=z"
	whole2 = "r2 f:b@1000=y2 g:bin\xff\n@1000=\xff\n\x00"
)

func cellFilters() []filterCase {
	return []filterCase{
		{"pass all", bigtable.PassAllFilter(), whole1 + "\n" + whole2},
		{"block all", bigtable.BlockAllFilter(), ""},
		{"row key", bigtable.RowKeyFilter("r[13]"), whole1},
		{"row key, not anchored", bigtable.RowKeyFilter("r"), ""},
		{"family", bigtable.FamilyFilter("g|h"), "r1 g:a@2000=z\nr2 g:bin\xff\n@1000=\xff\n\x00"},
		{"column", bigtable.ColumnFilter("b"), "r1 f:b@1000=y\nr2 f:b@1000=y2"},
		{"column, any byte", bigtable.ColumnFilter(`bin\C*`), "r2 g:bin\xff\n@1000=\xff\n\x00"},
		{"column, a dot is no line end", bigtable.ColumnFilter("bin.*"), ""},
		{"value", bigtable.ValueFilter("[xy].?"),
			"r1 f:a@3000=x3 f:a@2000=x2 f:a@1000=x1 f:b@1000=y\nr2 f:b@1000=y2"},
		{"value, a byte of 255", bigtable.ValueFilter(`\xff\n\x00`),
			"r2 g:bin\xff\n@1000=\xff\n\x00"},
		{"column range", bigtable.ColumnRangeFilter("f", "a", "b"),
			"r1 f:a@3000=x3 f:a@2000=x2 f:a@1000=x1"},
		{"column range, open end", bigtable.ColumnRangeFilter("g", "b", ""),
			"r2 g:bin\xff\n@1000=\xff\n\x00"},
		{"value range", bigtable.ValueRangeFilter([]byte("x2"), []byte("y2")),
			"r1 f:a@3000=x3 f:a@2000=x2 f:b@1000=y"},
		{"value range, open end", bigtable.ValueRangeFilter([]byte("z"), nil),
			"r1 g:a@2000=z\nr2 g:bin\xff\n@1000=\xff\n\x00"},
		{"timestamps", bigtable.TimestampRangeFilterMicros(2000, 3000), "r1 f:a@2000=x2 g:a@2000=z"},
		{"timestamps, open end", bigtable.TimestampRangeFilter(time.UnixMicro(2000), time.Time{}),
			"r1 f:a@3000=x3 f:a@2000=x2 g:a@2000=z"},
		{"strip", bigtable.ChainFilters(bigtable.ColumnFilter("b"), bigtable.StripValueFilter()),
			"r1 f:b@1000=\nr2 f:b@1000="},
		{"label", bigtable.ChainFilters(bigtable.FamilyFilter("f"), bigtable.ColumnFilter("b"),
			bigtable.LabelFilter("mark-1")), "r1 f:b@1000=y[mark-1]\nr2 f:b@1000=y2[mark-1]"},
	}
}

func countFilters() []filterCase {
	return []filterCase{
		{"newest of a column", bigtable.LatestNFilter(1),
			"r1 f:a@3000=x3 f:b@1000=y g:a@2000=z\n" + whole2},
		{"newest two of a column", bigtable.LatestNFilter(2),
			"r1 f:a@3000=x3 f:a@2000=x2 f:b@1000=y g:a@2000=z\n" + whole2},
		{"first of a row", bigtable.CellsPerRowLimitFilter(1), "r1 f:a@3000=x3\nr2 f:b@1000=y2"},
		{"first four of a row", bigtable.CellsPerRowLimitFilter(4),
			"r1 f:a@3000=x3 f:a@2000=x2 f:a@1000=x1 f:b@1000=y\n" + whole2},
		{"behind the first of a row", bigtable.CellsPerRowOffsetFilter(1),
			"r1 f:a@2000=x2 f:a@1000=x1 f:b@1000=y g:a@2000=z\nr2 g:bin\xff\n@1000=\xff\n\x00"},
		{"behind all of a row", bigtable.CellsPerRowOffsetFilter(5), ""},
		{"a page of a row", bigtable.ChainFilters(bigtable.CellsPerRowOffsetFilter(1),
			bigtable.CellsPerRowLimitFilter(2)),
			"r1 f:a@2000=x2 f:a@1000=x1\nr2 g:bin\xff\n@1000=\xff\n\x00"},
	}
}

func composedFilters() []filterCase {
	hasA := bigtable.ColumnFilter("a")
	y := bigtable.ValueFilter("y.*")
	return []filterCase{
		{"chain", bigtable.ChainFilters(hasA, bigtable.FamilyFilter("f"), bigtable.LatestNFilter(1)),
			"r1 f:a@3000=x3"},
		{"interleave", bigtable.InterleaveFilters(y, bigtable.FamilyFilter("g")),
			"r1 f:b@1000=y g:a@2000=z\nr2 f:b@1000=y2 g:bin\xff\n@1000=\xff\n\x00"},
		{"interleave keeps duplicates", bigtable.InterleaveFilters(y, y),
			"r1 f:b@1000=y f:b@1000=y\nr2 f:b@1000=y2 f:b@1000=y2"},
		{"duplicates count", bigtable.ChainFilters(bigtable.InterleaveFilters(y, y),
			bigtable.LatestNFilter(1)), "r1 f:b@1000=y\nr2 f:b@1000=y2"},
		{"condition", bigtable.ConditionFilter(hasA, y, bigtable.StripValueFilter()),
			"r1 f:b@1000=y\nr2 f:b@1000= g:bin\xff\n@1000="},
		{"condition, then only", bigtable.ConditionFilter(hasA, y, nil), "r1 f:b@1000=y"},
		{"condition, else only", bigtable.ConditionFilter(hasA, nil, y), "r2 f:b@1000=y2"},
		{"labels of branches", bigtable.ChainFilters(bigtable.FamilyFilter("f"),
			bigtable.InterleaveFilters(
				bigtable.ChainFilters(bigtable.ValueFilter("x3"), bigtable.LabelFilter("three")),
				bigtable.ChainFilters(bigtable.ValueFilter("y"), bigtable.LabelFilter("why")))),
			"r1 f:a@3000=x3[three] f:b@1000=y[why]"},
	}
}

func rowSample(ctx context.Context, w *world) error {
	_, table, err := w.table(ctx, "sampled", "f")
	if err != nil {
		return err
	}
	const rows = 400
	if err := fillRows(ctx, table, rows, 100); err != nil {
		return err
	}
	keys, err := scanKeys(ctx, table, bigtable.InfiniteRange(""),
		bigtable.RowFilter(bigtable.RowSampleFilter(0.5)))
	if err != nil {
		return err
	}
	// A fair coin leaves this range once in 10^22 runs.
	seen := strings.Count(keys, "row-")
	if seen <= rows/4 || seen >= rows*3/4 {
		return fmt.Errorf("%d of %d rows", seen, rows)
	}
	return nil
}

func invalidFilters() []filterCase {
	deep := bigtable.PassAllFilter()
	for range 30 {
		deep = bigtable.ChainFilters(deep, bigtable.PassAllFilter())
	}
	return []filterCase{
		{"a chain of one", bigtable.ChainFilters(bigtable.PassAllFilter()), ""},
		{"an interleave of none", bigtable.InterleaveFilters(), ""},
		{"a broken expression", bigtable.ValueFilter("("), ""},
		{"no cell of a column", bigtable.LatestNFilter(0), ""},
		{"a negative limit", bigtable.CellsPerRowLimitFilter(-1), ""},
		{"a label in capitals", bigtable.LabelFilter("LOUD"), ""},
		{"a label of 16", bigtable.LabelFilter("abcdefghijklmnop"), ""},
		{"a sample of all", bigtable.RowSampleFilter(1), ""},
		{"20 kilobytes", bigtable.ValueFilter(strings.Repeat("a", 20_480)), ""},
		{"nested too deeply", deep, ""},
	}
}

func expectRefused(ctx context.Context, table *bigtable.Table, rows bigtable.RowSet) error {
	var failed []error
	for _, c := range invalidFilters() {
		_, err := scanKeys(ctx, table, rows, bigtable.RowFilter(c.filter))
		failed = append(failed, expectCode(c.name, err, codes.InvalidArgument))
	}
	return errors.Join(failed...)
}

func filtersRefused(ctx context.Context, w *world) error {
	table, err := filterRows(ctx, w, "invalid")
	if err != nil {
		return err
	}
	return expectRefused(ctx, table, bigtable.InfiniteRange(""))
}

func filterOfNoRows(ctx context.Context, w *world) error {
	_, table, err := w.table(ctx, "norows", "f")
	if err != nil {
		return err
	}
	return expectRefused(ctx, table, bigtable.SingleRow("absent"))
}
