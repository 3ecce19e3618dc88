package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc/codes"
)

var writeChecks = []check{
	{"write_apply_cells_and_versions", applyCells},
	{"write_same_timestamp_overwrites", sameTimestamp},
	{"write_server_time", serverTime},
	{"write_deletes_of_every_kind", deletes},
	{"write_mutations_in_order", mutationsInOrder},
	{"write_any_bytes", anyBytes},
	{"write_bulk", bulkWrite},
	{"write_bulk_reports_each_entry", bulkReports},
	{"write_row_all_or_nothing", rowAllOrNothing},
	{"write_add_to_cell", addToCell},
	{"write_conditional", conditional},
	{"write_conditional_create_if_absent", createIfAbsent},
	{"write_read_modify_write", readModifyWrite},
	{"write_increment_refused", incrementRefused},
}

func set(family, column string, ts bigtable.Timestamp, value string) *bigtable.Mutation {
	m := bigtable.NewMutation()
	m.Set(family, column, ts, []byte(value))
	return m
}

func applyCells(ctx context.Context, w *world) error {
	_, table, err := w.table(ctx, "cells", "f", "g")
	if err != nil {
		return err
	}
	m := bigtable.NewMutation()
	m.Set("f", "b", 1000, []byte("1"))
	m.Set("f", "a", 2000, []byte("2"))
	m.Set("f", "a", 3000, []byte("3"))
	m.Set("g", "", 1000, []byte(""))
	if err := table.Apply(ctx, "r", m); err != nil {
		return err
	}
	if err := expectRow(ctx, table, "r", "r f:a@3000=3 f:a@2000=2 f:b@1000=1 g:@1000="); err != nil {
		return err
	}
	return expectRow(ctx, table, "absent", "none")
}

func sameTimestamp(ctx context.Context, w *world) error {
	_, table, err := w.table(ctx, "same", "f")
	if err != nil {
		return err
	}
	return all(
		func() error { return table.Apply(ctx, "r", set("f", "q", 5000, "old")) },
		func() error { return table.Apply(ctx, "r", set("f", "q", 5000, "new")) },
		func() error { return expectRow(ctx, table, "r", "r f:q@5000=new") },
	)
}

func serverTime(ctx context.Context, w *world) error {
	_, table, err := w.table(ctx, "clock", "f")
	if err != nil {
		return err
	}
	// The two clocks may differ, so a minute is allowed on both sides.
	before := bigtable.Now() - 60_000_000
	if err := table.Apply(ctx, "r", set("f", "q", bigtable.ServerTime, "v")); err != nil {
		return err
	}
	row, err := table.ReadRow(ctx, "r")
	if err != nil {
		return err
	}
	if len(row["f"]) != 1 {
		return fmt.Errorf("%s, expected one cell", rowText(row))
	}
	ts := row["f"][0].Timestamp
	if ts < before || ts > bigtable.Now()+60_000_000 || ts%1000 != 0 {
		return fmt.Errorf("the server's time is %d, this machine's %d", ts, bigtable.Now())
	}
	return nil
}

func deletes(ctx context.Context, w *world) error {
	_, table, err := w.table(ctx, "deletes", "f", "g")
	if err != nil {
		return err
	}
	fill := bigtable.NewMutation()
	for ts := bigtable.Timestamp(1000); ts <= 4000; ts += 1000 {
		fill.Set("f", "a", ts, []byte("v"))
	}
	fill.Set("f", "b", 1000, []byte("v"))
	fill.Set("g", "a", 1000, []byte("v"))
	change := func(f func(*bigtable.Mutation)) func() error {
		return func() error {
			m := bigtable.NewMutation()
			f(m)
			return table.Apply(ctx, "r", m)
		}
	}
	read := func(want string) func() error {
		return func() error { return expectRow(ctx, table, "r", want) }
	}
	return all(
		func() error { return table.Apply(ctx, "r", fill) },
		change(func(m *bigtable.Mutation) { m.DeleteTimestampRange("f", "a", 2000, 4000) }),
		read("r f:a@4000=v f:a@1000=v f:b@1000=v g:a@1000=v"),
		change(func(m *bigtable.Mutation) { m.DeleteTimestampRange("f", "a", 2000, 0) }),
		read("r f:a@1000=v f:b@1000=v g:a@1000=v"),
		change(func(m *bigtable.Mutation) { m.DeleteCellsInColumn("f", "a") }),
		read("r f:b@1000=v g:a@1000=v"),
		change(func(m *bigtable.Mutation) { m.DeleteCellsInFamily("f") }),
		read("r g:a@1000=v"),
		change(func(m *bigtable.Mutation) { m.DeleteRow() }),
		read("none"),
	)
}

func mutationsInOrder(ctx context.Context, w *world) error {
	_, table, err := w.table(ctx, "order", "f")
	if err != nil {
		return err
	}
	m := bigtable.NewMutation()
	m.Set("f", "a", 1000, []byte("gone"))
	m.DeleteRow()
	m.Set("f", "b", 1000, []byte("gone"))
	m.DeleteCellsInColumn("f", "b")
	m.Set("f", "b", 2000, []byte("kept"))
	if err := table.Apply(ctx, "r", m); err != nil {
		return err
	}
	return expectRow(ctx, table, "r", "r f:b@2000=kept")
}

func anyBytes(ctx context.Context, w *world) error {
	_, table, err := w.table(ctx, "bytes", "f")
	if err != nil {
		return err
	}
	var every [256]byte
	for i := range every {
		every[i] = byte(i)
	}
	raw := string(every[:])
	keys := []string{"\x00", "\x00\x01", "\x01", raw, "\xff\xff"}
	m := bigtable.NewMutation()
	m.Set("f", raw, 1000, every[:])
	mutations := []*bigtable.Mutation{m, m, m, m, m}
	if err := bulk(ctx, table, keys, mutations); err != nil {
		return err
	}
	got, err := scanText(ctx, table, bigtable.InfiniteRange(""))
	if err != nil {
		return err
	}
	want := ""
	for i, key := range []string{"\x00", raw, "\x00\x01", "\x01", "\xff\xff"} {
		// raw begins 00 01 02, so it sorts behind 00 01.
		if i == 1 {
			key = "\x00\x01"
		} else if i == 2 {
			key = raw
		}
		want += key + " f:" + raw + "@1000=" + raw
		if i < 4 {
			want += "\n"
		}
	}
	return equal("scan", got, want)
}

func bulkWrite(ctx context.Context, w *world) error {
	_, table, err := w.table(ctx, "bulk", "f")
	if err != nil {
		return err
	}
	const rows = 5000
	keys := make([]string, rows)
	mutations := make([]*bigtable.Mutation, rows)
	for i := range rows {
		keys[i] = fmt.Sprintf("row-%05d", (i*7919)%rows)
		mutations[i] = set("f", "q", 1000, keys[i])
	}
	if err := bulk(ctx, table, keys, mutations); err != nil {
		return err
	}
	next := 0
	err = table.ReadRows(ctx, bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
		key := fmt.Sprintf("row-%05d", next)
		if rowText(row) != key+" f:q@1000="+key {
			return false
		}
		next++
		return true
	})
	if err != nil {
		return err
	}
	return equal("rows as written", next, rows)
}

func bulkReports(ctx context.Context, w *world) error {
	_, table, err := w.table(ctx, "entries", "f")
	if err != nil {
		return err
	}
	errs, err := table.ApplyBulk(ctx, []string{"a", "b", "c", "d"}, []*bigtable.Mutation{
		set("f", "q", 1000, "1"), set("nobody", "q", 1000, "2"),
		set("f", strings.Repeat("q", 16385), 1000, "3"), set("f", "q", 1000, "4")})
	if err != nil {
		return fmt.Errorf("the whole request: %w", err)
	}
	if len(errs) != 4 || errs[0] != nil || errs[3] != nil {
		return fmt.Errorf("entries: %v, expected the second and third to fail alone", errs)
	}
	if err := expectCode("unknown family", errs[1], codes.NotFound); err != nil {
		return err
	}
	if err := expectCode("a qualifier of 16385", errs[2], codes.InvalidArgument); err != nil {
		return err
	}
	return expectKeys(ctx, table, "rows", bigtable.InfiniteRange(""), "a,d")
}

func rowAllOrNothing(ctx context.Context, w *world) error {
	_, table, err := w.table(ctx, "atomic", "f")
	if err != nil {
		return err
	}
	m := set("f", "q", 1000, "no")
	m.Set("nobody", "q", 1000, []byte("no"))
	if err := expectCode("unknown family", table.Apply(ctx, "r", m), codes.NotFound); err != nil {
		return err
	}
	return expectRow(ctx, table, "r", "none")
}

func addToCell(ctx context.Context, w *world) error {
	sum := bigtable.AggregateType{Input: bigtable.Int64Type{}, Aggregator: bigtable.SumAggregator{}}
	high := bigtable.AggregateType{Input: bigtable.Int64Type{}, Aggregator: bigtable.MaxAggregator{}}
	conf := &bigtable.TableConf{TableID: w.tableName("sums"),
		ColumnFamilies: map[string]bigtable.Family{"sum": {ValueType: sum}, "high": {ValueType: high}}}
	if err := w.admin.CreateTableFromConf(ctx, conf); err != nil {
		return err
	}
	table := w.client.Open(conf.TableID)
	for _, value := range []int64{5, 40, -2} {
		m := bigtable.NewMutation()
		m.AddIntToCell("sum", "q", 1000, value)
		m.AddIntToCell("high", "q", 1000, value)
		if err := table.Apply(ctx, "r", m); err != nil {
			return err
		}
	}
	merge := bigtable.NewMutation()
	merge.MergeBytesToCell("sum", "q", 1000, binary.BigEndian.AppendUint64(nil, 100))
	if err := table.Apply(ctx, "r", merge); err != nil {
		return fmt.Errorf("merge: %w", err)
	}
	return expectRow(ctx, table, "r", "r high:q@1000="+string(binary.BigEndian.AppendUint64(nil, 40))+
		" sum:q@1000="+string(binary.BigEndian.AppendUint64(nil, 143)))
}

func conditional(ctx context.Context, w *world) error {
	_, table, err := w.table(ctx, "condition", "f")
	if err != nil {
		return err
	}
	if err := table.Apply(ctx, "r", set("f", "state", 1000, "open")); err != nil {
		return err
	}
	is := func(value string) bigtable.Filter {
		return bigtable.ChainFilters(bigtable.ColumnFilter("state"), bigtable.ValueFilter(value))
	}
	try := func(value string, want bool) error {
		var matched bool
		m := bigtable.NewCondMutation(is(value), set("f", "state", 2000, "closed"),
			set("f", "missed", 1000, value))
		if err := table.Apply(ctx, "r", m, bigtable.GetCondMutationResult(&matched)); err != nil {
			return err
		}
		return equal("matched "+value, matched, want)
	}
	return all(
		func() error { return try("ajar", false) },
		func() error { return try("open", true) },
		func() error {
			return expectRow(ctx, table, "r", "r f:missed@1000=ajar f:state@2000=closed f:state@1000=open")
		},
	)
}

func createIfAbsent(ctx context.Context, w *world) error {
	_, table, err := w.table(ctx, "create", "f")
	if err != nil {
		return err
	}
	create := func(want bool) error {
		var exists bool
		m := bigtable.NewCondMutation(bigtable.PassAllFilter(), nil, set("f", "q", 1000, "made"))
		if err := table.Apply(ctx, "r", m, bigtable.GetCondMutationResult(&exists)); err != nil {
			return err
		}
		return equal("exists", exists, want)
	}
	return all(
		func() error { return create(false) },
		func() error { return create(true) },
		func() error { return expectRow(ctx, table, "r", "r f:q@1000=made") },
	)
}

func readModifyWrite(ctx context.Context, w *world) error {
	_, table, err := w.table(ctx, "modify", "f", "g")
	if err != nil {
		return err
	}
	// Cells of the future keep their timestamp, which makes the answer exact.
	const future = 4_000_000_000_000_000
	m := set("f", "text", future, "a")
	m.Set("f", "other", future, []byte("unchanged"))
	m.Set("g", "count", future, binary.BigEndian.AppendUint64(nil, 40))
	if err := table.Apply(ctx, "r", m); err != nil {
		return err
	}
	rmw := bigtable.NewReadModifyWrite()
	rmw.AppendValue("f", "text", []byte("b"))
	rmw.AppendValue("f", "text", []byte("c"))
	rmw.Increment("g", "count", 3)
	rmw.Increment("g", "count", -1)
	row, err := table.ApplyReadModifyWrite(ctx, "r", rmw)
	if err != nil {
		return err
	}
	count := string(binary.BigEndian.AppendUint64(nil, 42))
	at := fmt.Sprintf("@%d=", future)
	want := "r f:text" + at + "abc g:count" + at + count
	if err := equal("modified cells", rowText(row), want); err != nil {
		return err
	}
	return expectRow(ctx, table, "r", "r f:other"+at+"unchanged f:text"+at+"abc g:count"+at+count)
}

func incrementRefused(ctx context.Context, w *world) error {
	_, table, err := w.table(ctx, "seven", "f")
	if err != nil {
		return err
	}
	if err := table.Apply(ctx, "r", set("f", "q", 1000, "7 bytes")); err != nil {
		return err
	}
	rmw := bigtable.NewReadModifyWrite()
	rmw.AppendValue("f", "log", []byte("line"))
	rmw.Increment("f", "q", 1)
	_, err = table.ApplyReadModifyWrite(ctx, "r", rmw)
	if err := expectCode("increment of 7 bytes", err, codes.FailedPrecondition); err != nil {
		return err
	}
	return expectRow(ctx, table, "r", "r f:q@1000=7 bytes")
}
