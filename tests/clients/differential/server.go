package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sort"
	"strings"
	"time"

	adminpb "cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	pb "cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"bigtent/tests/clients/target"
)

const requestTimeout = time.Minute

// A server answers programs.
type server struct {
	target *target.Target
	conn   *grpc.ClientConn
	data   pb.BigtableClient
	admin  adminpb.BigtableTableAdminClient
	// forgetful is a planted fault: requests lose the mutations that delete a family.
	forgetful bool
}

func openServer(t *target.Target) (*server, error) {
	conn, err := t.Dial()
	if err != nil {
		return nil, err
	}
	return &server{target: t, conn: conn, data: pb.NewBigtableClient(conn),
		admin: adminpb.NewBigtableTableAdminClient(conn)}, nil
}

// startEmulator runs the official emulator on a free port until stop is called.
func startEmulator(path, project string) (s *server, stop func(), err error) {
	command := exec.Command(path, "-address", "127.0.0.1:0")
	command.Stderr = io.Discard // it logs every invalid expression
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := command.Start(); err != nil {
		return nil, nil, err
	}
	stop = func() {
		_ = command.Process.Signal(os.Interrupt) // it may have ended by itself
		_ = command.Wait()                       // its exit code says nothing
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	_, address, found := strings.Cut(strings.TrimSpace(line), " running on ")
	if err != nil || !found {
		stop()
		return nil, nil, fmt.Errorf("the emulator says %q: %w", line, err)
	}
	s, err = openServer(&target.Target{Endpoint: address, Project: project, Instance: "main",
		Emulated: true})
	if err != nil {
		stop()
		return nil, nil, err
	}
	return s, stop, nil
}

func (s *server) createTable(ctx context.Context, name string) error {
	sum := &adminpb.Type{Kind: &adminpb.Type_AggregateType{AggregateType: &adminpb.Type_Aggregate{
		InputType: &adminpb.Type{Kind: &adminpb.Type_Int64Type{Int64Type: &adminpb.Type_Int64{
			Encoding: &adminpb.Type_Int64_Encoding{
				Encoding: &adminpb.Type_Int64_Encoding_BigEndianBytes_{
					BigEndianBytes: &adminpb.Type_Int64_Encoding_BigEndianBytes{}}}}}},
		Aggregator: &adminpb.Type_Aggregate_Sum_{Sum: &adminpb.Type_Aggregate_Sum{}}}}}
	_, err := s.admin.CreateTable(ctx, &adminpb.CreateTableRequest{
		Parent: s.target.InstanceName(), TableId: name,
		Table: &adminpb.Table{ColumnFamilies: map[string]*adminpb.ColumnFamily{
			"f": {}, "g": {}, counters: {}, sums: {ValueType: sum}}}})
	return err
}

func (s *server) deleteTable(ctx context.Context, name string) error {
	_, err := s.admin.DeleteTable(ctx,
		&adminpb.DeleteTableRequest{Name: s.target.TableName(name)})
	return err
}

// run gives the answers to a program in a table of its own.
func (s *server) run(ctx context.Context, table string, program []operation) ([]string, error) {
	if err := s.createTable(ctx, table); err != nil {
		return nil, fmt.Errorf("create %s at %s: %w", table, s.target.Endpoint, err)
	}
	answers := make([]string, len(program))
	for i, op := range program {
		if op.clock {
			// So that times of now differ from request to request, at both servers.
			time.Sleep(2 * time.Millisecond)
		}
		request, cancel := context.WithTimeout(ctx, requestTimeout)
		answers[i] = s.answer(request, s.target.TableName(table), proto.Clone(op.request))
		cancel()
	}
	if err := s.deleteTable(ctx, table); err != nil {
		return nil, fmt.Errorf("delete %s at %s: %w", table, s.target.Endpoint, err)
	}
	return answers, nil
}

func (s *server) answer(ctx context.Context, table string, request proto.Message) string {
	switch r := request.(type) {
	case *pb.MutateRowRequest:
		r.TableName = table
		if r.Mutations = s.forget(r.Mutations); r.Mutations == nil {
			return "done"
		}
		_, err := s.data.MutateRow(ctx, r)
		return s.outcome("done", err)
	case *pb.MutateRowsRequest:
		r.TableName = table
		return s.mutateRows(ctx, r)
	case *pb.CheckAndMutateRowRequest:
		r.TableName = table
		response, err := s.data.CheckAndMutateRow(ctx, r)
		return s.outcome(fmt.Sprintf("matched: %v", response.GetPredicateMatched()), err)
	case *pb.ReadModifyWriteRowRequest:
		r.TableName = table
		response, err := s.data.ReadModifyWriteRow(ctx, r)
		return s.outcome(modifiedText(response.GetRow()), err)
	case *pb.ReadRowsRequest:
		r.TableName = table
		return s.readRows(ctx, r)
	case *adminpb.DropRowRangeRequest:
		r.Name = table
		_, err := s.admin.DropRowRange(ctx, r)
		return s.outcome("done", err)
	}
	return fmt.Sprintf("cannot run %T", request)
}

func (s *server) forget(mutations []*pb.Mutation) []*pb.Mutation {
	if !s.forgetful || len(mutations) == 0 {
		return mutations
	}
	var kept []*pb.Mutation
	for _, m := range mutations {
		if m.GetDeleteFromFamily() == nil {
			kept = append(kept, m)
		}
	}
	return kept
}

// outcome is an answer, or the code of a refusal; what an emulator says wrong is put right.
func (s *server) outcome(text string, err error) string {
	switch {
	case err == nil:
		return text
	case s.target.Emulated:
		return "refused: " + expectedCode(status.Convert(err)).String()
	}
	return "refused: " + status.Code(err).String()
}

func (s *server) mutateRows(ctx context.Context, r *pb.MutateRowsRequest) string {
	stream, err := s.data.MutateRows(ctx, r)
	if err != nil {
		return s.outcome("", err)
	}
	entries := make([]string, len(r.Entries))
	for {
		response, err := stream.Recv()
		if err == io.EOF {
			return strings.Join(entries, ", ")
		}
		if err != nil {
			return s.outcome("", err)
		}
		for _, e := range response.Entries {
			if e.Index < 0 || e.Index >= int64(len(entries)) || e.Status == nil ||
				entries[e.Index] != "" {
				return fmt.Sprintf("a wrong entry: %v", e)
			}
			entries[e.Index] = s.outcome("done", status.FromProto(e.Status).Err())
		}
	}
}

func (s *server) readRows(ctx context.Context, r *pb.ReadRowsRequest) string {
	features, err := proto.Marshal(&pb.FeatureFlags{ReverseScans: true})
	if err != nil {
		return err.Error()
	}
	ctx = metadata.AppendToOutgoingContext(ctx, "bigtable-features",
		base64.URLEncoding.EncodeToString(features))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := s.data.ReadRows(ctx, r)
	if err != nil {
		return s.outcome("", err)
	}
	merger := rowMerger{reversed: r.Reversed}
	for {
		response, err := stream.Recv()
		if err == io.EOF {
			return merger.end()
		}
		if err != nil {
			return s.outcome("", err)
		}
		for _, chunk := range response.Chunks {
			if err := merger.add(chunk); err != nil {
				return err.Error()
			}
		}
	}
}

// A rowMerger puts rows together from chunks, by the rules of the protocol.
type rowMerger struct {
	reversed  bool
	rows      []string
	last      []byte
	key       []byte
	family    string
	qualifier []byte
	current   *cell
	cells     []cell
}

type cell struct {
	family    string
	qualifier []byte
	micros    int64
	labels    []string
	value     []byte
}

func (m *rowMerger) add(chunk *pb.ReadRowsResponse_CellChunk) error {
	if chunk.GetResetRow() {
		m.key, m.cells, m.current = nil, nil, nil
		return nil
	}
	if m.current == nil {
		if err := m.begin(chunk); err != nil {
			return err
		}
	}
	m.current.value = append(m.current.value, chunk.Value...)
	if chunk.ValueSize > 0 {
		return nil
	}
	m.cells, m.current = append(m.cells, *m.current), nil
	if chunk.GetCommitRow() {
		m.rows = append(m.rows, rowText(m.key, m.cells))
		m.last, m.key, m.cells = m.key, nil, nil
	}
	return nil
}

func (m *rowMerger) begin(chunk *pb.ReadRowsResponse_CellChunk) error {
	if m.key == nil {
		if len(chunk.RowKey) == 0 || chunk.FamilyName == nil || chunk.Qualifier == nil {
			return fmt.Errorf("a row begins without key, family or qualifier: %v", chunk)
		}
		if order := bytes.Compare(m.last, chunk.RowKey); m.last != nil &&
			(order == 0 || (order < 0) == m.reversed) {
			return fmt.Errorf("row %q behind %q", chunk.RowKey, m.last)
		}
		m.key = chunk.RowKey
	} else if len(chunk.RowKey) > 0 && !bytes.Equal(chunk.RowKey, m.key) {
		return fmt.Errorf("row %q begins inside of %q", chunk.RowKey, m.key)
	}
	if chunk.FamilyName != nil {
		if chunk.Qualifier == nil {
			return errors.New("a family begins without a qualifier")
		}
		m.family = chunk.FamilyName.Value
	}
	if chunk.Qualifier != nil {
		m.qualifier = chunk.Qualifier.Value
	}
	m.current = &cell{family: m.family, qualifier: m.qualifier, micros: chunk.TimestampMicros,
		labels: chunk.Labels}
	return nil
}

func (m *rowMerger) end() string {
	if m.key != nil || m.current != nil {
		return fmt.Sprintf("the stream ends inside of row %q", m.key)
	}
	if len(m.rows) == 0 {
		return "no rows"
	}
	return strings.Join(m.rows, "\n       ")
}

func modifiedText(row *pb.Row) string {
	var cells []cell
	for _, family := range row.GetFamilies() {
		for _, column := range family.Columns {
			for _, c := range column.Cells {
				cells = append(cells, cell{family: family.Name, qualifier: column.Qualifier,
					micros: c.TimestampMicros, labels: c.Labels, value: c.Value})
			}
		}
	}
	return rowText(row.GetKey(), cells)
}

// rowText is a row in one line, families sorted, and duplicates among themselves.
func rowText(key []byte, cells []cell) string {
	texts := make([]string, len(cells))
	for i, c := range cells {
		texts[i] = fmt.Sprintf("%s=%s%q", timeText(c.micros), valueText(c.value), c.labels)
	}
	order := make([]int, len(cells))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(i, j int) bool {
		a, b := cells[order[i]], cells[order[j]]
		if a.family != b.family {
			return a.family < b.family
		}
		same := bytes.Equal(a.qualifier, b.qualifier) && a.micros == b.micros
		return same && texts[order[i]] < texts[order[j]]
	})
	words := []string{fmt.Sprintf("%q", key)}
	for _, at := range order {
		words = append(words, fmt.Sprintf("%s:%q%s", cells[at].family, cells[at].qualifier, texts[at]))
	}
	return strings.Join(words, " ")
}

func timeText(micros int64) string {
	if micros > timestamps[len(timestamps)-3] && micros < futureMicros {
		return "@now"
	}
	return fmt.Sprintf("@%d", micros)
}

func valueText(value []byte) string {
	const shown = 40
	if len(value) <= shown {
		return fmt.Sprintf("%q", value)
	}
	return fmt.Sprintf("%d bytes %x", len(value), sha256.Sum256(value))[:shown]
}
