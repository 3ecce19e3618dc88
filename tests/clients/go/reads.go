package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sort"
	"time"

	"cloud.google.com/go/bigtable"
	pb "cloud.google.com/go/bigtable/apiv2/bigtablepb"
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

var rowChecks = []check{
	{"read_large_cell", bigCell},
	{"read_row_of_many_large_cells", bigRow},
	{"read_30000_rows_slowly", slowScan},
	{"read_sample_keys", sampleKeys},
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

// noise is bytes that do not compress and are the same in every run.
func noise(seed uint64, size int) []byte {
	random := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
	value := make([]byte, size)
	_, _ = random.Read(value) // ChaCha8.Read never fails
	return value
}

// rowBytes is half of a large row. Rows come whole, each in one message, of which the library takes
// up to 256 MiB over TLS, but 4 MiB in plaintext.
func rowBytes(w *world) int {
	if w.target.Emulated {
		return 2_000_000
	}
	return 20 << 20
}

func bigCell(ctx context.Context, w *world) error {
	_, table, err := w.table(ctx, "big", "f")
	if err != nil {
		return err
	}
	value := noise(1, rowBytes(w))
	m := bigtable.NewMutation()
	m.Set("f", "big", 1000, value)
	m.Set("f", "small", 1000, []byte("behind it"))
	if err := table.Apply(ctx, "r", m); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	if err := putRows(ctx, table, "q", "s"); err != nil {
		return err
	}
	found := map[string]bigtable.Row{}
	err = table.ReadRows(ctx, bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
		found[row.Key()] = row
		return true
	})
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	cells := found["r"]["f"]
	if len(found) != 3 || len(cells) != 2 {
		return fmt.Errorf("%d rows, %d cells, expected 3 and 2", len(found), len(cells))
	}
	if !bytes.Equal(cells[0].Value, value) {
		return fmt.Errorf("%d bytes that differ from the %d written", len(cells[0].Value), len(value))
	}
	return equal("the cell behind it", string(cells[1].Value), "behind it")
}

func bigRow(ctx context.Context, w *world) error {
	_, table, err := w.table(ctx, "wide", "f")
	if err != nil {
		return err
	}
	const size = 700_001
	cells := 2 * rowBytes(w) / size
	for i := range cells {
		m := bigtable.NewMutation()
		m.Set("f", fmt.Sprintf("%03d", i), 1000, noise(uint64(i), size))
		if err := table.Apply(ctx, "r", m); err != nil {
			return err
		}
	}
	row, err := table.ReadRow(ctx, "r")
	if err != nil {
		return err
	}
	if err := equal("cells", len(row["f"]), cells); err != nil {
		return err
	}
	for i, cell := range row["f"] {
		if cell.Column != fmt.Sprintf("f:%03d", i) || !bytes.Equal(cell.Value, noise(uint64(i), size)) {
			return fmt.Errorf("cell %d, %s, differs", i, cell.Column)
		}
	}
	return nil
}

func fillRows(ctx context.Context, table *bigtable.Table, count, size int) error {
	const batch = 2000
	filler := bytes.Repeat([]byte("x"), size)
	for start := 0; start < count; start += batch {
		end := min(start+batch, count)
		keys := make([]string, 0, batch)
		mutations := make([]*bigtable.Mutation, 0, batch)
		for i := start; i < end; i++ {
			m := bigtable.NewMutation()
			m.Set("f", "q", 1000, filler)
			keys, mutations = append(keys, fmt.Sprintf("row-%06d", i)), append(mutations, m)
		}
		if err := bulk(ctx, table, keys, mutations); err != nil {
			return err
		}
	}
	return nil
}

func slowScan(ctx context.Context, w *world) error {
	_, table, err := w.table(ctx, "scan", "f")
	if err != nil {
		return err
	}
	const count = 30_000
	if err := fillRows(ctx, table, count, 100); err != nil {
		return err
	}
	next := 0
	err = table.ReadRows(ctx, bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
		if row.Key() != fmt.Sprintf("row-%06d", next) || len(row["f"]) != 1 ||
			len(row["f"][0].Value) != 100 {
			return false
		}
		next++
		if next == 1000 {
			time.Sleep(3 * time.Second)
		} else if next%1000 == 0 {
			time.Sleep(20 * time.Millisecond)
		}
		return true
	})
	if err != nil {
		return fmt.Errorf("after %d rows: %w", next, err)
	}
	return equal("rows in order", next, count)
}

// expectSamples reads the samples that are keys, at offsets that never fall, and the end.
func expectSamples(stream pb.Bigtable_SampleRowKeysClient, keys []string) error {
	offset := int64(0)
	for i := 0; ; i++ {
		sample, err := stream.Recv()
		if err == io.EOF {
			return equal("samples with the end", i, len(keys)+1)
		}
		if err != nil {
			return err
		}
		want := ""
		if i < len(keys) {
			want = keys[i]
		}
		if err := equal("sample", string(sample.RowKey), want); err != nil {
			return err
		}
		if sample.OffsetBytes < offset {
			return fmt.Errorf("offset %d behind %d", sample.OffsetBytes, offset)
		}
		offset = sample.OffsetBytes
	}
}

func sampleKeys(ctx context.Context, w *world) error {
	name, table, err := w.table(ctx, "samples", "f")
	if err != nil {
		return err
	}
	if err := fillRows(ctx, table, 2000, 100); err != nil {
		return err
	}
	keys, err := table.SampleRowKeys(ctx)
	if err != nil {
		return err
	}
	// The library leaves out the empty key, the end of the table, which the server gives last.
	if !sort.StringsAreSorted(keys) || len(slices.Compact(slices.Clone(keys))) != len(keys) {
		return fmt.Errorf("%q is not ascending", keys)
	}
	return withStub(w, func(stub pb.BigtableClient) error {
		stream, err := stub.SampleRowKeys(ctx,
			&pb.SampleRowKeysRequest{TableName: w.target.TableName(name)})
		if err != nil {
			return err
		}
		return expectSamples(stream, keys)
	})
}
