package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"time"

	adminpb "cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	pb "cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"bigtent/tests/clients/target"
)

const (
	valueBytes = 1024
	fillBatch  = 500
	readRows   = "/google.bigtable.v2.Bigtable/ReadRows"
	mutateRow  = "/google.bigtable.v2.Bigtable/MutateRow"
)

// A table of rows with one cell of 1 KiB each.
type table struct {
	target *target.Target
	conn   *grpc.ClientConn
	id     string
	name   string
	rows   int
	// scanBytes is what the messages of a scan of everything have together.
	scanBytes int
}

// sizeCodec sends messages as usual; of what comes it gives the size alone.
type sizeCodec struct{}

func (sizeCodec) Name() string { return "proto" }

func (sizeCodec) Marshal(message any) (mem.BufferSlice, error) {
	raw, err := proto.Marshal(message.(proto.Message))
	return mem.BufferSlice{mem.SliceBuffer(raw)}, err
}

func (sizeCodec) Unmarshal(data mem.BufferSlice, size any) error {
	*size.(*int) = data.Len()
	return nil
}

func rowKey(i int) []byte { return fmt.Appendf(nil, "row-%010d", i) }

// value is bytes that do not compress.
func value(seed uint64) []byte {
	random := rand.NewPCG(seed, 0)
	var raw bytes.Buffer
	for raw.Len() < valueBytes {
		raw.WriteString(strconv.FormatUint(random.Uint64(), 36))
	}
	return raw.Bytes()[:valueBytes]
}

func setCell(seed uint64) []*pb.Mutation {
	return []*pb.Mutation{{Mutation: &pb.Mutation_SetCell_{SetCell: &pb.Mutation_SetCell{
		FamilyName: "f", ColumnQualifier: []byte("q"), TimestampMicros: 1000, Value: value(seed)}}}}
}

func newTable(ctx context.Context, t *target.Target, rows int) (*table, error) {
	conn, err := t.Dial()
	if err != nil {
		return nil, err
	}
	made := &table{target: t, conn: conn, rows: rows,
		id: "bench-" + strconv.FormatInt(time.Now().UnixNano(), 36)}
	made.name = t.TableName(made.id)
	_, err = adminpb.NewBigtableTableAdminClient(conn).CreateTable(ctx, &adminpb.CreateTableRequest{
		Parent: t.InstanceName(), TableId: made.id,
		Table: &adminpb.Table{ColumnFamilies: map[string]*adminpb.ColumnFamily{"f": {}}}})
	if err != nil {
		return nil, fmt.Errorf("create table: %w", err)
	}
	if err := made.fill(ctx); err != nil {
		return nil, fmt.Errorf("fill: %w", err)
	}
	return made, made.look(ctx)
}

func (t *table) drop(ctx context.Context) error {
	_, err := adminpb.NewBigtableTableAdminClient(t.conn).DeleteTable(ctx,
		&adminpb.DeleteTableRequest{Name: t.name})
	if err != nil {
		return fmt.Errorf("delete table: %w", err)
	}
	return t.conn.Close()
}

func (t *table) fill(ctx context.Context) error {
	stub := pb.NewBigtableClient(t.conn)
	for start := 0; start < t.rows; start += fillBatch {
		request := &pb.MutateRowsRequest{TableName: t.name}
		for i := start; i < min(start+fillBatch, t.rows); i++ {
			request.Entries = append(request.Entries, &pb.MutateRowsRequest_Entry{RowKey: rowKey(i),
				Mutations: setCell(uint64(i))})
		}
		stream, err := stub.MutateRows(ctx, request)
		if err != nil {
			return err
		}
		if err := drain(stream); err != nil {
			return err
		}
	}
	return nil
}

func drain(stream pb.Bigtable_MutateRowsClient) error {
	for {
		response, err := stream.Recv()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		for _, entry := range response.Entries {
			if entry.GetStatus().GetCode() != 0 {
				return fmt.Errorf("entry %d: %v", entry.Index, entry.Status)
			}
		}
	}
}

// look reads everything once, cell by cell, so that afterwards sizes are proof enough.
func (t *table) look(ctx context.Context) error {
	stream, err := pb.NewBigtableClient(t.conn).ReadRows(ctx, &pb.ReadRowsRequest{TableName: t.name})
	if err != nil {
		return err
	}
	found, cell := 0, []byte(nil)
	for {
		response, err := stream.Recv()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		t.scanBytes += proto.Size(response)
		for _, chunk := range response.Chunks {
			cell = append(cell, chunk.Value...)
			if !chunk.GetCommitRow() {
				continue
			}
			if !bytes.Equal(cell, value(uint64(found))) {
				return fmt.Errorf("row %d is not what was written", found)
			}
			found, cell = found+1, nil
		}
	}
	if found != t.rows {
		return fmt.Errorf("%d rows of %d", found, t.rows)
	}
	return nil
}

// stream sends a ReadRows and gives the sum of the sizes of its messages.
func (t *table) stream(ctx context.Context, conn *grpc.ClientConn,
	request *pb.ReadRowsRequest) (int, error) {
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, readRows,
		grpc.ForceCodecV2(sizeCodec{}))
	if err != nil {
		return 0, err
	}
	if err := stream.SendMsg(request); err != nil {
		return 0, err
	}
	if err := stream.CloseSend(); err != nil {
		return 0, err
	}
	total := 0
	for {
		size := 0
		if err := stream.RecvMsg(&size); err == io.EOF {
			return total, nil
		} else if err != nil {
			return 0, err
		}
		total += size
	}
}

func readOne(ctx context.Context, t *table, conn *grpc.ClientConn,
	random *rand.Rand) (int, error) {
	request := &pb.ReadRowsRequest{TableName: t.name, RowsLimit: 1,
		Rows: &pb.RowSet{RowKeys: [][]byte{rowKey(random.IntN(t.rows))}}}
	size, err := t.stream(ctx, conn, request)
	if err == nil && size < valueBytes {
		err = fmt.Errorf("an answer of %d bytes is no row", size)
	}
	return 1, err
}

func writeOne(ctx context.Context, t *table, conn *grpc.ClientConn,
	random *rand.Rand) (int, error) {
	i := random.IntN(t.rows)
	request := &pb.MutateRowRequest{TableName: t.name, RowKey: rowKey(i),
		Mutations: setCell(uint64(i))}
	var size int
	return 1, conn.Invoke(ctx, mutateRow, request, &size, grpc.ForceCodecV2(sizeCodec{}))
}

func scanAll(ctx context.Context, t *table, conn *grpc.ClientConn, _ *rand.Rand) (int, error) {
	size, err := t.stream(ctx, conn, &pb.ReadRowsRequest{TableName: t.name})
	// Servers may cut a scan into messages as they like, so a little may differ from scan to scan.
	if err == nil && size < t.rows*valueBytes {
		err = fmt.Errorf("a scan of %d bytes misses rows; the first had %d", size, t.scanBytes)
	}
	return t.rows, err
}
