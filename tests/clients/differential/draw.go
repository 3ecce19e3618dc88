package main

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"

	adminpb "cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	pb "cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/protobuf/proto"
)

// An operation is one request, without the name of its table.
type operation struct {
	request proto.Message
	// clock says that cells may be put at the time of now.
	clock bool
}

var (
	plainFamilies = []string{"f", "g"}
	// Bytes at the edges of order and of escaping.
	rowKeys = [][]byte{[]byte("a"), []byte("ab"), []byte("abc"), []byte("b"), []byte("b\x00"),
		[]byte("\x00"), []byte("\x00\xff"), []byte("\xff"), []byte("\xff\xff"), []byte("a\n"),
		[]byte("c"), []byte("c#1")}
	qualifiers = [][]byte{{}, []byte("a"), []byte("ab"), []byte("b"), []byte("\x00"), []byte("\xff"),
		[]byte("\x00\x01")}
	values = [][]byte{{}, []byte("a"), []byte("ab"), []byte("v"), []byte("v\n"), []byte("\x00"),
		[]byte("\xff"), bytes.Repeat([]byte("v"), 3000)}
	// Times of the past, and of a future that no clock reaches here.
	timestamps = []int64{0, 1000, 2000, 3000, 4000, 1_000_000, futureMicros, futureMicros + 1000}
)

const (
	futureMicros = 4_000_000_000_000_000
	serverTime   = -1
	counters     = "n"
	sums         = "sum"
	// largeBytes is beyond any one message of a server that splits values.
	largeBytes = 3 << 20
)

func pick[T any](random *rand.Rand, from []T) T { return from[random.IntN(len(from))] }

// ordered gives two different members, the lesser first.
func ordered(random *rand.Rand, from [][]byte) ([]byte, []byte) {
	for {
		low, high := pick(random, from), pick(random, from)
		if bytes.Compare(low, high) < 0 {
			return low, high
		}
	}
}

func timeRange(random *rand.Rand) *pb.TimestampRange {
	low, high := pick(random, timestamps), pick(random, timestamps)
	switch {
	case low == high:
		return &pb.TimestampRange{StartTimestampMicros: low}
	case low > high:
		low, high = high, low
	}
	return &pb.TimestampRange{StartTimestampMicros: low, EndTimestampMicros: high}
}

// A drawer makes random programs.
type drawer struct {
	random *rand.Rand
	clock  bool // the request being drawn uses the server's clock already
}

func drawProgram(random *rand.Rand, length int) []operation {
	d := &drawer{random: random}
	program := make([]operation, 0, length+1)
	for len(program) < length {
		d.clock = false
		request := d.request()
		program = append(program, operation{request: request, clock: d.clock})
	}
	return append(program, operation{request: &pb.ReadRowsRequest{}})
}

func (d *drawer) request() proto.Message {
	switch n := d.random.IntN(100); {
	case n < 30:
		return &pb.MutateRowRequest{RowKey: d.key(), Mutations: d.mutations(4)}
	case n < 40:
		return d.mutateRows()
	case n < 50:
		return d.checkAndMutate()
	case n < 60:
		return d.readModifyWrite()
	case n < 63:
		return d.drop()
	case n < 67:
		return d.invalid()
	}
	return d.read()
}

func (d *drawer) key() []byte { return pick(d.random, rowKeys) }

func (d *drawer) mutations(most int) []*pb.Mutation {
	mutations := make([]*pb.Mutation, 1+d.random.IntN(most))
	for i := range mutations {
		mutations[i] = d.mutation()
	}
	return mutations
}

func (d *drawer) mutation() *pb.Mutation {
	switch n := d.random.IntN(20); {
	case n < 10:
		return d.set()
	case n < 13:
		return d.deleteColumn()
	case n < 15:
		return &pb.Mutation{Mutation: &pb.Mutation_DeleteFromFamily_{
			DeleteFromFamily: &pb.Mutation_DeleteFromFamily{
				FamilyName: pick(d.random, []string{"f", "g", counters, sums})}}}
	case n < 16:
		return &pb.Mutation{Mutation: &pb.Mutation_DeleteFromRow_{
			DeleteFromRow: &pb.Mutation_DeleteFromRow{}}}
	case n < 19:
		return &pb.Mutation{Mutation: &pb.Mutation_AddToCell_{AddToCell: &pb.Mutation_AddToCell{
			FamilyName: sums, ColumnQualifier: rawValue(pick(d.random, qualifiers)),
			Timestamp: rawTime(pick(d.random, timestamps[1:4])),
			Input:     &pb.Value{Kind: &pb.Value_IntValue{IntValue: d.number()}}}}}
	}
	return &pb.Mutation{Mutation: &pb.Mutation_MergeToCell_{MergeToCell: &pb.Mutation_MergeToCell{
		FamilyName: sums, ColumnQualifier: rawValue(pick(d.random, qualifiers)),
		Timestamp: rawTime(pick(d.random, timestamps[1:4])),
		Input:     rawValue(binary.BigEndian.AppendUint64(nil, uint64(d.number())))}}}
}

func rawValue(raw []byte) *pb.Value { return &pb.Value{Kind: &pb.Value_RawValue{RawValue: raw}} }

func rawTime(micros int64) *pb.Value {
	return &pb.Value{Kind: &pb.Value_RawTimestampMicros{RawTimestampMicros: micros}}
}

func (d *drawer) number() int64 { return d.random.Int64N(2001) - 1000 }

func (d *drawer) timestamp() int64 {
	if !d.clock && d.random.IntN(8) == 0 {
		d.clock = true
		return serverTime
	}
	return pick(d.random, timestamps)
}

func (d *drawer) set() *pb.Mutation {
	set := &pb.Mutation_SetCell{FamilyName: pick(d.random, plainFamilies),
		ColumnQualifier: pick(d.random, qualifiers), TimestampMicros: d.timestamp(),
		Value: pick(d.random, values)}
	switch d.random.IntN(150) {
	case 0:
		set.Value = bytes.Repeat([]byte("large "), largeBytes/6)
	case 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15:
		set.FamilyName = counters
		set.Value = binary.BigEndian.AppendUint64(nil, uint64(d.number()))
	}
	return &pb.Mutation{Mutation: &pb.Mutation_SetCell_{SetCell: set}}
}

func (d *drawer) deleteColumn() *pb.Mutation {
	del := &pb.Mutation_DeleteFromColumn{
		FamilyName:      pick(d.random, []string{"f", "g", counters, sums}),
		ColumnQualifier: pick(d.random, qualifiers)}
	if d.random.IntN(2) == 0 {
		del.TimeRange = timeRange(d.random)
	}
	return &pb.Mutation{Mutation: &pb.Mutation_DeleteFromColumn_{DeleteFromColumn: del}}
}

func (d *drawer) mutateRows() *pb.MutateRowsRequest {
	request := &pb.MutateRowsRequest{}
	for n := 1 + d.random.IntN(4); n > 0; n-- {
		entry := &pb.MutateRowsRequest_Entry{RowKey: d.key(), Mutations: d.mutations(2)}
		if d.random.IntN(12) == 0 {
			entry.Mutations = d.invalidMutations()
		}
		request.Entries = append(request.Entries, entry)
	}
	// Entries of one row are applied in any order, so a row is named once.
	seen := map[string]bool{}
	kept := request.Entries[:0]
	for _, entry := range request.Entries {
		if !seen[string(entry.RowKey)] {
			kept = append(kept, entry)
		}
		seen[string(entry.RowKey)] = true
	}
	request.Entries = kept
	return request
}

func (d *drawer) filter() *pb.RowFilter {
	drawer := &filterDrawer{random: d.random}
	return drawer.draw(3, &filterState{})
}

func (d *drawer) checkAndMutate() *pb.CheckAndMutateRowRequest {
	request := &pb.CheckAndMutateRowRequest{RowKey: d.key()}
	if d.random.IntN(4) > 0 {
		drawer := &filterDrawer{random: d.random}
		request.PredicateFilter = drawer.draw(2, &filterState{predicate: true})
	}
	which := d.random.IntN(3)
	if which != 0 {
		request.TrueMutations = d.mutations(2)
	}
	if which != 1 {
		request.FalseMutations = d.mutations(2)
	}
	return request
}

func (d *drawer) readModifyWrite() *pb.ReadModifyWriteRowRequest {
	d.clock = true
	request := &pb.ReadModifyWriteRowRequest{RowKey: d.key()}
	// A column once: the emulator asks its clock for each rule.
	for i, at := range d.random.Perm(len(qualifiers))[:1+d.random.IntN(3)] {
		rule := &pb.ReadModifyWriteRule{ColumnQualifier: qualifiers[at]}
		if (i+d.random.IntN(2))%2 == 0 {
			rule.FamilyName = pick(d.random, plainFamilies)
			rule.Rule = &pb.ReadModifyWriteRule_AppendValue{
				AppendValue: pick(d.random, values[1:len(values)-1])}
		} else {
			rule.FamilyName = counters
			rule.Rule = &pb.ReadModifyWriteRule_IncrementAmount{IncrementAmount: d.number()}
		}
		request.Rules = append(request.Rules, rule)
	}
	return request
}

func (d *drawer) drop() *adminpb.DropRowRangeRequest {
	if d.random.IntN(4) == 0 {
		return &adminpb.DropRowRangeRequest{
			Target: &adminpb.DropRowRangeRequest_DeleteAllDataFromTable{DeleteAllDataFromTable: true}}
	}
	return &adminpb.DropRowRangeRequest{
		Target: &adminpb.DropRowRangeRequest_RowKeyPrefix{RowKeyPrefix: d.key()}}
}

func (d *drawer) invalidMutations() []*pb.Mutation {
	set := &pb.Mutation_SetCell{FamilyName: "f", ColumnQualifier: []byte("a"),
		Value: []byte("never")}
	mutation := &pb.Mutation{Mutation: &pb.Mutation_SetCell_{SetCell: set}}
	switch d.random.IntN(5) {
	case 0:
		set.FamilyName = "nobody"
	case 1:
		set.TimestampMicros = 1001
	case 2:
		set.TimestampMicros = -2
	case 3:
		mutation.Mutation = &pb.Mutation_AddToCell_{AddToCell: &pb.Mutation_AddToCell{
			FamilyName: "f", ColumnQualifier: rawValue([]byte("a")), Timestamp: rawTime(1000),
			Input: &pb.Value{Kind: &pb.Value_IntValue{IntValue: 1}}}}
	case 4:
		mutation.Mutation = &pb.Mutation_DeleteFromColumn_{
			DeleteFromColumn: &pb.Mutation_DeleteFromColumn{FamilyName: "nobody",
				ColumnQualifier: []byte("a")}}
	}
	return append([]*pb.Mutation{mutation}, d.set())
}

func (d *drawer) invalid() proto.Message {
	switch d.random.IntN(5) {
	case 0:
		return &pb.MutateRowRequest{Mutations: []*pb.Mutation{d.set()}}
	case 1:
		return &pb.MutateRowRequest{RowKey: d.key()}
	case 2:
		low, high := ordered(d.random, rowKeys)
		return &pb.ReadRowsRequest{Rows: &pb.RowSet{RowRanges: []*pb.RowRange{{
			StartKey: &pb.RowRange_StartKeyClosed{StartKeyClosed: high},
			EndKey:   &pb.RowRange_EndKeyOpen{EndKeyOpen: low}}}}}
	case 3:
		return &pb.ReadModifyWriteRowRequest{RowKey: d.key(), Rules: []*pb.ReadModifyWriteRule{{
			FamilyName: "nobody", ColumnQualifier: []byte("a"),
			Rule: &pb.ReadModifyWriteRule_AppendValue{AppendValue: []byte("never")}}}}
	}
	return &pb.MutateRowRequest{RowKey: d.key(), Mutations: d.invalidMutations()}
}

func (d *drawer) read() *pb.ReadRowsRequest {
	request := &pb.ReadRowsRequest{Reversed: d.random.IntN(4) == 0}
	if d.random.IntN(2) == 0 {
		request.Rows = d.rowSet()
	}
	if d.random.IntN(5) > 0 {
		request.Filter = d.filter()
	}
	if d.random.IntN(3) == 0 {
		request.RowsLimit = 1 + d.random.Int64N(4)
	}
	return request
}

func (d *drawer) rowSet() *pb.RowSet {
	set := &pb.RowSet{}
	for n := d.random.IntN(4); n > 0; n-- {
		set.RowKeys = append(set.RowKeys, d.key())
	}
	for n := d.random.IntN(3); n > 0; n-- {
		set.RowRanges = append(set.RowRanges, d.rowRange())
	}
	return set
}

func (d *drawer) rowRange() *pb.RowRange {
	low, high := ordered(d.random, rowKeys)
	r := &pb.RowRange{}
	if d.random.IntN(8) == 0 {
		r.StartKey = &pb.RowRange_StartKeyClosed{StartKeyClosed: low}
		r.EndKey = &pb.RowRange_EndKeyClosed{EndKeyClosed: low}
		return r
	}
	switch d.random.IntN(3) {
	case 0:
		r.StartKey = &pb.RowRange_StartKeyClosed{StartKeyClosed: low}
	case 1:
		r.StartKey = &pb.RowRange_StartKeyOpen{StartKeyOpen: low}
	}
	switch d.random.IntN(3) {
	case 0:
		r.EndKey = &pb.RowRange_EndKeyClosed{EndKeyClosed: high}
	case 1:
		r.EndKey = &pb.RowRange_EndKeyOpen{EndKeyOpen: high}
	}
	return r
}
