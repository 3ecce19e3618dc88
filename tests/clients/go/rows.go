package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sort"
	"time"

	"cloud.google.com/go/bigtable"
	pb "cloud.google.com/go/bigtable/apiv2/bigtablepb"
)

var rowChecks = []check{
	{"read_large_cell", bigCell},
	{"read_row_of_many_large_cells", bigRow},
	{"read_100000_rows_slowly", slowScan},
	{"read_sample_keys", sampleKeys},
}

// noise is bytes that do not compress and are the same in every run.
func noise(seed uint64, size int) []byte {
	random := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
	value := make([]byte, size)
	_, _ = random.Read(value) // ChaCha8.Read never fails
	return value
}

const bigBytes = 20 << 20

func bigCell(ctx context.Context, w *world) error {
	name, _, err := w.table(ctx, "big", "f")
	if err != nil {
		return err
	}
	client, err := newClientDialling(ctx, w.target)
	if err != nil {
		return err
	}
	return errors.Join(expectBigCell(ctx, client.Open(name)), client.Close())
}

func expectBigCell(ctx context.Context, table *bigtable.Table) error {
	value := noise(1, bigBytes)
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
	err := table.ReadRows(ctx, bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
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

// wideBytes is a large row. Rows come whole, each in one message, of which the library by itself
// takes up to 256 MiB over TLS, but 4 MiB in plaintext.
func wideBytes(w *world) int {
	if w.target.Emulated {
		return 4_000_000
	}
	return 2 * bigBytes
}

func bigRow(ctx context.Context, w *world) error {
	_, table, err := w.table(ctx, "wide", "f")
	if err != nil {
		return err
	}
	const size = 700_001
	cells := wideBytes(w) / size
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

// longRows of longBytes are together far more than the library takes in ahead of a slow reader.
const (
	longRows  = 100_000
	longBytes = 300
)

// long is the table of long scans.
func (w *world) long(ctx context.Context) (*bigtable.Table, error) {
	if w.longTable != nil {
		return w.longTable, nil
	}
	_, table, err := w.table(ctx, "long", "f")
	if err != nil {
		return nil, err
	}
	if err := fillRows(ctx, table, longRows, longBytes); err != nil {
		return nil, err
	}
	w.longTable = table
	return table, nil
}

func slowScan(ctx context.Context, w *world) error {
	table, err := w.long(ctx)
	if err != nil {
		return err
	}
	next := 0
	err = table.ReadRows(ctx, bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
		if row.Key() != fmt.Sprintf("row-%06d", next) || len(row["f"]) != 1 ||
			len(row["f"][0].Value) != longBytes {
			return false
		}
		next++
		if next == 1000 {
			time.Sleep(3 * time.Second)
		} else if next%500 == 0 {
			time.Sleep(20 * time.Millisecond)
		}
		return true
	})
	if err != nil {
		return fmt.Errorf("after %d rows: %w", next, err)
	}
	return equal("rows in order", next, longRows)
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
