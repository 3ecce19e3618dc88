package main

// The Go library opens and closes change streams, but reads none; here the stubs it is made of do.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"cloud.google.com/go/bigtable"
	pb "cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

var changeStreamChecks = []check{
	{"changes_enable_change_disable_retention", streamRetention},
	{"changes_partitions_cover_the_table", streamPartitions},
	{"changes_of_every_kind_in_order", streamChanges},
	{"changes_go_on_behind_a_token", streamResume},
	{"changes_heartbeat_and_end", streamHeartbeat},
	{"changes_of_a_large_value", streamLargeValue},
	{"changes_refused_without_a_stream", streamRefused},
}

func streamed(ctx context.Context, w *world, name string) (string, *bigtable.Table, error) {
	conf := &bigtable.TableConf{TableID: w.tableName(name),
		ColumnFamilies:        map[string]bigtable.Family{"f": {}, "g": {}},
		ChangeStreamRetention: 24 * time.Hour}
	if err := w.admin.CreateTableFromConf(ctx, conf); err != nil {
		return "", nil, err
	}
	return conf.TableID, w.client.Open(conf.TableID), nil
}

// endStream takes the stream away, without which a table may be refused to be deleted.
func endStream(ctx context.Context, w *world, table string) error {
	return w.admin.UpdateTableDisableChangeStream(ctx, table)
}

func streamRetention(ctx context.Context, w *world) error {
	name, _, err := streamed(ctx, w, "retention")
	if err != nil {
		return err
	}
	expect := func(want any) func() error {
		return func() error {
			info, err := w.admin.TableInfo(ctx, name)
			if err != nil {
				return err
			}
			return equal("retention", fmt.Sprint(info.ChangeStreamRetention), fmt.Sprint(want))
		}
	}
	return all(
		expect(24*time.Hour),
		func() error { return w.admin.UpdateTableWithChangeStream(ctx, name, 168*time.Hour) },
		expect(168*time.Hour),
		func() error {
			return expectCode("eight days", w.admin.UpdateTableWithChangeStream(ctx, name,
				192*time.Hour), codes.InvalidArgument)
		},
		func() error {
			return expectCode("an hour", w.admin.UpdateTableWithChangeStream(ctx, name, time.Hour),
				codes.InvalidArgument)
		},
		func() error { return endStream(ctx, w, name) },
		expect(nil),
	)
}

func partitionsOf(ctx context.Context, w *world, stub pb.BigtableClient,
	table string) ([]*pb.StreamPartition, error) {
	stream, err := stub.GenerateInitialChangeStreamPartitions(ctx,
		&pb.GenerateInitialChangeStreamPartitionsRequest{TableName: w.target.TableName(table)})
	if err != nil {
		return nil, err
	}
	var partitions []*pb.StreamPartition
	for {
		response, err := stream.Recv()
		if err == io.EOF {
			return partitions, nil
		}
		if err != nil {
			return nil, err
		}
		partitions = append(partitions, response.Partition)
	}
}

func streamPartitions(ctx context.Context, w *world) error {
	name, table, err := streamed(ctx, w, "partitions")
	if err != nil {
		return err
	}
	if err := fillRows(ctx, table, 2000, 100); err != nil {
		return err
	}
	return withStub(w, func(stub pb.BigtableClient) error {
		partitions, err := partitionsOf(ctx, w, stub, name)
		if err != nil {
			return err
		}
		var end []byte
		for i, p := range partitions {
			if !bytes.Equal(p.RowRange.GetStartKeyClosed(), end) || (i > 0 && len(end) == 0) {
				return fmt.Errorf("partition %d is %v, expected to begin at %q", i, p, end)
			}
			end = p.RowRange.GetEndKeyOpen()
		}
		if len(partitions) == 0 || len(end) != 0 {
			return fmt.Errorf("partitions %v do not end at the end of the table", partitions)
		}
		return endStream(ctx, w, name)
	})
}

// A change is one record, put together from its pieces.
type change struct {
	text      string
	token     string
	watermark time.Time
}

// A reader of one partition.
type changeReader struct {
	stream     pb.Bigtable_ReadChangeStreamClient
	partition  *pb.StreamPartition
	heartbeats []*pb.StreamContinuationToken
	close      *pb.ReadChangeStreamResponse_CloseStream
}

func mutationText(m *pb.Mutation) string {
	switch kind := m.Mutation.(type) {
	case *pb.Mutation_SetCell_:
		c := kind.SetCell
		return fmt.Sprintf("set %s:%s@%d=%s", c.FamilyName, c.ColumnQualifier, c.TimestampMicros,
			c.Value)
	case *pb.Mutation_DeleteFromColumn_:
		c := kind.DeleteFromColumn
		return fmt.Sprintf("delete %s:%s[%d,%d)", c.FamilyName, c.ColumnQualifier,
			c.TimeRange.GetStartTimestampMicros(), c.TimeRange.GetEndTimestampMicros())
	case *pb.Mutation_DeleteFromFamily_:
		return "delete " + kind.DeleteFromFamily.FamilyName
	}
	return fmt.Sprintf("%T", m.Mutation)
}

// next gives the next change; heartbeats before it are put aside. io.EOF is the end of the stream.
func (r *changeReader) next() (*change, error) {
	var words []string
	for {
		response, err := r.stream.Recv()
		if err != nil {
			return nil, err
		}
		switch record := response.StreamRecord.(type) {
		case *pb.ReadChangeStreamResponse_Heartbeat_:
			if words != nil {
				return nil, errors.New("a heartbeat inside of a change")
			}
			r.heartbeats = append(r.heartbeats, record.Heartbeat.ContinuationToken)
		case *pb.ReadChangeStreamResponse_CloseStream_:
			r.close = record.CloseStream
		case *pb.ReadChangeStreamResponse_DataChange_:
			if words, err = appendPiece(words, record.DataChange); err != nil {
				return nil, err
			}
			if record.DataChange.Done {
				return &change{text: strings.Join(words, " "), token: record.DataChange.Token,
					watermark: record.DataChange.EstimatedLowWatermark.AsTime()}, nil
			}
		}
	}
}

func appendPiece(words []string, data *pb.ReadChangeStreamResponse_DataChange) ([]string, error) {
	first := words == nil
	switch data.Type {
	case pb.ReadChangeStreamResponse_DataChange_USER:
		if !first {
			return nil, errors.New("a change begins before another ended")
		}
		words = []string{string(data.RowKey)}
	case pb.ReadChangeStreamResponse_DataChange_CONTINUATION:
		if first {
			return nil, errors.New("a change goes on that did not begin")
		}
	default:
		return nil, fmt.Errorf("a change of type %s", data.Type)
	}
	for _, chunk := range data.Chunks {
		if chunk.ChunkInfo.GetChunkedValueOffset() > 0 {
			words[len(words)-1] += string(chunk.Mutation.GetSetCell().GetValue())
			continue
		}
		words = append(words, mutationText(chunk.Mutation))
	}
	if data.Done && (data.Token == "" || data.EstimatedLowWatermark == nil) {
		return nil, errors.New("a change without token or low watermark")
	}
	return words, nil
}

func readChanges(ctx context.Context, w *world, stub pb.BigtableClient, table string,
	request *pb.ReadChangeStreamRequest) (*changeReader, error) {
	request.TableName = w.target.TableName(table)
	stream, err := stub.ReadChangeStream(ctx, request)
	return &changeReader{stream: stream, partition: request.Partition}, err
}

func from(t time.Time) *pb.ReadChangeStreamRequest_StartTime {
	return &pb.ReadChangeStreamRequest_StartTime{StartTime: timestamppb.New(t)}
}

func behind(partition *pb.StreamPartition,
	token string) *pb.ReadChangeStreamRequest_ContinuationTokens {
	return &pb.ReadChangeStreamRequest_ContinuationTokens{
		ContinuationTokens: &pb.StreamContinuationTokens{
			Tokens: []*pb.StreamContinuationToken{{Partition: partition, Token: token}}}}
}

// onePartition is the partition of row r, and a reader of it from the start of the table.
func onePartition(ctx context.Context, w *world, stub pb.BigtableClient, table string,
	start time.Time) (*changeReader, error) {
	partitions, err := partitionsOf(ctx, w, stub, table)
	if err != nil {
		return nil, err
	}
	for _, p := range partitions {
		end := string(p.RowRange.GetEndKeyOpen())
		if string(p.RowRange.GetStartKeyClosed()) <= "r" && (end == "" || "r" < end) {
			return readChanges(ctx, w, stub, table, &pb.ReadChangeStreamRequest{Partition: p,
				StartFrom: from(start), HeartbeatDuration: durationpb.New(time.Second)})
		}
	}
	return nil, fmt.Errorf("no partition has row r: %v", partitions)
}

func expectChanges(reader *changeReader, want ...string) ([]*change, error) {
	var changes []*change
	for i, text := range want {
		c, err := reader.next()
		if err != nil {
			return nil, fmt.Errorf("change %d: %w", i, err)
		}
		if err := equal(fmt.Sprintf("change %d", i), c.text, text); err != nil {
			return nil, err
		}
		changes = append(changes, c)
	}
	return changes, nil
}

func streamChanges(ctx context.Context, w *world) error {
	start := time.Now().Add(-time.Second)
	name, table, err := streamed(ctx, w, "changes")
	if err != nil {
		return err
	}
	write := set("f", "a", 2000, "one")
	write.Set("g", "b", 1000, []byte("two"))
	remove := bigtable.NewMutation()
	remove.DeleteTimestampRange("f", "a", 1000, 3000)
	remove.DeleteCellsInColumn("g", "b")
	remove.DeleteCellsInFamily("g")
	matched := bigtable.NewCondMutation(bigtable.PassAllFilter(), set("f", "c", 1000, "was"),
		set("f", "c", 1000, "was not"))
	err = all(
		func() error { return table.Apply(ctx, "r", write) },
		func() error { return table.Apply(ctx, "r", remove) },
		func() error { return table.Apply(ctx, "r", matched) },
		func() error { return putRows(ctx, table, "r") },
	)
	if err != nil {
		return err
	}
	return withStub(w, func(stub pb.BigtableClient) error {
		reading, cancel := context.WithTimeout(ctx, 90*time.Second)
		defer cancel()
		reader, err := onePartition(reading, w, stub, name, start)
		if err != nil {
			return err
		}
		_, err = expectChanges(reader,
			"r set f:a@2000=one set g:b@1000=two",
			"r delete f:a[1000,3000) delete g:b[0,0) delete g",
			"r set f:c@1000=was not",
			"r set f:q@1000=r")
		return errors.Join(err, endStream(ctx, w, name))
	})
}

func streamResume(ctx context.Context, w *world) error {
	start := time.Now().Add(-time.Second)
	name, table, err := streamed(ctx, w, "resume")
	if err != nil {
		return err
	}
	for _, value := range []string{"1", "2", "3"} {
		if err := table.Apply(ctx, "r", set("f", "q", 1000, value)); err != nil {
			return err
		}
	}
	return withStub(w, func(stub pb.BigtableClient) error {
		reading, cancel := context.WithTimeout(ctx, 90*time.Second)
		defer cancel()
		reader, err := onePartition(reading, w, stub, name, start)
		if err != nil {
			return err
		}
		seen, err := expectChanges(reader, "r set f:q@1000=1")
		if err != nil {
			return err
		}
		again, err := readChanges(reading, w, stub, name, &pb.ReadChangeStreamRequest{
			Partition: reader.partition, StartFrom: behind(reader.partition, seen[0].token)})
		if err != nil {
			return err
		}
		if _, err = expectChanges(again, "r set f:q@1000=2", "r set f:q@1000=3"); err != nil {
			return fmt.Errorf("behind a token: %w", err)
		}
		// What is written while the stream is read comes too.
		if err := table.Apply(ctx, "r", set("f", "q", 1000, "4")); err != nil {
			return err
		}
		_, err = expectChanges(again, "r set f:q@1000=4")
		return errors.Join(err, endStream(ctx, w, name))
	})
}

func streamHeartbeat(ctx context.Context, w *world) error {
	name, table, err := streamed(ctx, w, "heartbeat")
	if err != nil {
		return err
	}
	if err := table.Apply(ctx, "r", set("f", "q", 1000, "1")); err != nil {
		return err
	}
	return withStub(w, func(stub pb.BigtableClient) error {
		reading, cancel := context.WithTimeout(ctx, 90*time.Second)
		defer cancel()
		partitions, err := partitionsOf(reading, w, stub, name)
		if err != nil {
			return err
		}
		end := time.Now().Add(6 * time.Second)
		reader, err := readChanges(reading, w, stub, name, &pb.ReadChangeStreamRequest{
			Partition: partitions[0], StartFrom: from(time.Now()), EndTime: timestamppb.New(end),
			HeartbeatDuration: durationpb.New(time.Second)})
		if err != nil {
			return err
		}
		if c, err := reader.next(); err != io.EOF {
			return fmt.Errorf("a change %v from after the last, error %w", c, err)
		}
		if len(reader.heartbeats) == 0 || reader.heartbeats[0].GetToken() == "" {
			return fmt.Errorf("heartbeats %v, expected some with tokens", reader.heartbeats)
		}
		if reader.close == nil || reader.close.GetStatus().GetCode() != int32(codes.OK) {
			return fmt.Errorf("the end says %v, expected OK", reader.close)
		}
		if len(reader.close.NewPartitions) != 0 || len(reader.close.ContinuationTokens) != 0 {
			return fmt.Errorf("the end says where to go on: %v", reader.close)
		}
		return endStream(ctx, w, name)
	})
}

func streamLargeValue(ctx context.Context, w *world) error {
	start := time.Now().Add(-time.Second)
	name, table, err := streamed(ctx, w, "large")
	if err != nil {
		return err
	}
	value := noise(9, 8<<20)
	m := bigtable.NewMutation()
	m.Set("f", "q", 1000, value)
	if err := table.Apply(ctx, "r", m); err != nil {
		return err
	}
	return withStub(w, func(stub pb.BigtableClient) error {
		reading, cancel := context.WithTimeout(ctx, 90*time.Second)
		defer cancel()
		reader, err := onePartition(reading, w, stub, name, start)
		if err != nil {
			return err
		}
		c, err := reader.next()
		if err != nil {
			return err
		}
		if c.text != "r set f:q@1000="+string(value) {
			return fmt.Errorf("%d bytes that differ from the %d written", len(c.text), len(value))
		}
		return endStream(ctx, w, name)
	})
}

func streamRefused(ctx context.Context, w *world) error {
	name, _, err := w.table(ctx, "plain", "f")
	if err != nil {
		return err
	}
	return withStub(w, func(stub pb.BigtableClient) error {
		_, err := partitionsOf(ctx, w, stub, name)
		if err := expectCode("partitions", err, codes.FailedPrecondition); err != nil {
			return err
		}
		reader, err := readChanges(ctx, w, stub, name, &pb.ReadChangeStreamRequest{
			Partition: &pb.StreamPartition{RowRange: &pb.RowRange{}}, StartFrom: from(time.Now())})
		if err != nil {
			return err
		}
		_, err = reader.next()
		return expectCode("changes", err, codes.FailedPrecondition)
	})
}
