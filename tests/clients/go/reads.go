package main

import (
	"context"
	"fmt"

	"cloud.google.com/go/bigtable"
)

var readChecks = []check{
	{"read_ranges_with_every_bound", readRanges},
	{"read_prefixes", readPrefixes},
	{"read_row_lists_and_many_ranges", readSets},
	{"read_reversed", readReversed},
	{"read_limited", readLimited},
	{"read_stopped_by_the_caller", readStopped},
	{"read_statistics", readStatistics},
}

func readRanges(ctx context.Context, w *world) error {
	_, table, err := w.table(ctx, "ranges", "f")
	if err != nil {
		return err
	}
	if err := putRows(ctx, table, "a", "b", "b\x00", "c", "d"); err != nil {
		return err
	}
	ranges := []struct {
		what string
		rows bigtable.RowSet
		want string
	}{
		{"[b, c)", bigtable.NewClosedOpenRange("b", "c"), "b,b\x00"},
		{"[b, c]", bigtable.NewClosedRange("b", "c"), "b,b\x00,c"},
		{"(b, c)", bigtable.NewOpenRange("b", "c"), "b\x00"},
		{"(b, c]", bigtable.NewOpenClosedRange("b", "c"), "b\x00,c"},
		{"[b, b]", bigtable.NewClosedRange("b", "b"), "b"},
		{"[c, oo)", bigtable.InfiniteRange("c"), "c,d"},
		{"(-oo, b]", bigtable.InfiniteReverseRange("b"), "a,b"},
		{"[bb, bz]", bigtable.NewClosedRange("bb", "bz"), ""},
		{"everything", bigtable.InfiniteRange(""), "a,b,b\x00,c,d"},
	}
	for _, r := range ranges {
		if err := expectKeys(ctx, table, r.what, r.rows, r.want); err != nil {
			return err
		}
	}
	return nil
}

func readPrefixes(ctx context.Context, w *world) error {
	_, table, err := w.table(ctx, "prefixes", "f")
	if err != nil {
		return err
	}
	if err := putRows(ctx, table, "a", "a#1", "a#2", "a\xff", "a\xff\xff1", "b"); err != nil {
		return err
	}
	return all(
		func() error {
			return expectKeys(ctx, table, "a#", bigtable.PrefixRange("a#"), "a#1,a#2")
		},
		func() error {
			return expectKeys(ctx, table, "a", bigtable.PrefixRange("a"),
				"a,a#1,a#2,a\xff,a\xff\xff1")
		},
		func() error {
			return expectKeys(ctx, table, "a ff", bigtable.PrefixRange("a\xff"), "a\xff,a\xff\xff1")
		},
		func() error { return expectKeys(ctx, table, "x", bigtable.PrefixRange("x"), "") },
	)
}

func readSets(ctx context.Context, w *world) error {
	_, table, err := w.table(ctx, "sets", "f")
	if err != nil {
		return err
	}
	if err := putRows(ctx, table, "a", "b", "c", "d", "e", "f"); err != nil {
		return err
	}
	overlapping := bigtable.RowRangeList{bigtable.NewClosedOpenRange("d", "f"),
		bigtable.NewClosedOpenRange("a", "c"), bigtable.NewClosedRange("b", "d")}
	return all(
		func() error {
			return expectKeys(ctx, table, "keys in any order, twice, absent",
				bigtable.RowList{"e", "b", "zz", "b"}, "b,e")
		},
		func() error {
			return expectKeys(ctx, table, "overlapping ranges", overlapping, "a,b,c,d,e")
		},
		func() error {
			return expectKeys(ctx, table, "one row", bigtable.SingleRow("c"), "c")
		},
	)
}

func readReversed(ctx context.Context, w *world) error {
	_, table, err := w.table(ctx, "reversed", "f")
	if err != nil {
		return err
	}
	if err := putRows(ctx, table, "a", "b", "b\x00", "c", "d"); err != nil {
		return err
	}
	m := set("f", "q", 2000, "newer")
	if err := table.Apply(ctx, "b", m); err != nil {
		return err
	}
	reversed := bigtable.ReverseScan()
	return all(
		func() error {
			return expectKeys(ctx, table, "everything", bigtable.InfiniteRange(""), "d,c,b\x00,b,a",
				reversed)
		},
		func() error {
			return expectKeys(ctx, table, "[b, d) two", bigtable.NewClosedOpenRange("b", "d"),
				"c,b\x00", reversed, bigtable.LimitRows(2))
		},
		func() error {
			return expectKeys(ctx, table, "keys", bigtable.RowList{"a", "d", "b"}, "d,b,a", reversed)
		},
		func() error {
			got, err := scanText(ctx, table, bigtable.SingleRow("b"), reversed)
			if err != nil {
				return err
			}
			return equal("cells stay newest first", got, "b f:q@2000=newer f:q@1000=b")
		},
	)
}

func readLimited(ctx context.Context, w *world) error {
	_, table, err := w.table(ctx, "limited", "f")
	if err != nil {
		return err
	}
	if err := putRows(ctx, table, "a", "b", "c", "d"); err != nil {
		return err
	}
	odd := bigtable.RowFilter(bigtable.ValueFilter("[bd]"))
	return all(
		func() error {
			return expectKeys(ctx, table, "two", bigtable.InfiniteRange(""), "a,b",
				bigtable.LimitRows(2))
		},
		func() error {
			return expectKeys(ctx, table, "two of a filter", bigtable.InfiniteRange(""), "b,d", odd,
				bigtable.LimitRows(2))
		},
		func() error {
			return expectKeys(ctx, table, "more than there are", bigtable.InfiniteRange(""),
				"a,b,c,d", bigtable.LimitRows(100))
		},
	)
}

func readStopped(ctx context.Context, w *world) error {
	_, table, err := w.table(ctx, "stopped", "f")
	if err != nil {
		return err
	}
	if err := putRows(ctx, table, "a", "b", "c", "d"); err != nil {
		return err
	}
	seen := 0
	err = table.ReadRows(ctx, bigtable.InfiniteRange(""), func(bigtable.Row) bool {
		seen++
		return seen < 2
	})
	if err != nil {
		return err
	}
	return equal("rows seen", seen, 2)
}

func readStatistics(ctx context.Context, w *world) error {
	_, table, err := w.table(ctx, "statistics", "f")
	if err != nil {
		return err
	}
	if err := putRows(ctx, table, "a", "b", "c"); err != nil {
		return err
	}
	read := func(pattern string, want int64) error {
		var stats *bigtable.FullReadStats
		_, err := scanKeys(ctx, table, bigtable.InfiniteRange(""),
			bigtable.RowFilter(bigtable.ValueFilter(pattern)),
			bigtable.WithFullReadStats(func(s *bigtable.FullReadStats) { stats = s }))
		if err != nil {
			return err
		}
		if stats == nil {
			return fmt.Errorf("no statistics for %s", pattern)
		}
		rows := stats.ReadIterationStats
		if rows.RowsReturnedCount != want || rows.RowsSeenCount < want || rows.RowsSeenCount > 3 ||
			rows.CellsReturnedCount != want || rows.CellsSeenCount < want || rows.CellsSeenCount > 3 {
			return fmt.Errorf("%s: %+v", pattern, rows)
		}
		return nil
	}
	return all(func() error { return read("[ab]", 2) }, func() error { return read("none", 0) })
}
