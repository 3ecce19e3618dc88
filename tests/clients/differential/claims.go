package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	adminpb "cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	pb "cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/protobuf/proto"
)

// A claim is what a known difference says of the server: the answer to the last of some requests.
type claim struct {
	of       string // the name in knownDifferences
	requests []proto.Message
	want     string
}

func setCell(family string, micros int64, value string) *pb.Mutation {
	return &pb.Mutation{Mutation: &pb.Mutation_SetCell_{SetCell: &pb.Mutation_SetCell{
		FamilyName: family, ColumnQualifier: []byte("q"), TimestampMicros: micros,
		Value: []byte(value)}}}
}

func mutateRow(key string, mutations ...*pb.Mutation) *pb.MutateRowRequest {
	return &pb.MutateRowRequest{RowKey: []byte(key), Mutations: mutations}
}

func modifyRow(rule *pb.ReadModifyWriteRule) *pb.ReadModifyWriteRowRequest {
	rule.ColumnQualifier = []byte("q")
	return &pb.ReadModifyWriteRowRequest{RowKey: []byte("r"),
		Rules: []*pb.ReadModifyWriteRule{rule}}
}

func readRange(bounds *pb.RowRange) *pb.ReadRowsRequest {
	return &pb.ReadRowsRequest{Rows: &pb.RowSet{RowRanges: []*pb.RowRange{bounds}}}
}

func readFiltered(filters ...*pb.RowFilter) *pb.ReadRowsRequest {
	if len(filters) == 1 {
		return &pb.ReadRowsRequest{Filter: filters[0]}
	}
	return &pb.ReadRowsRequest{Filter: &pb.RowFilter{Filter: &pb.RowFilter_Chain_{
		Chain: &pb.RowFilter_Chain{Filters: filters}}}}
}

func mutationClaims() []claim {
	put := mutateRow("r", setCell("f", 1000, "v"))
	input := &pb.Value{Kind: &pb.Value_IntValue{IntValue: 1}}
	column := &pb.Value{Kind: &pb.Value_RawValue{RawValue: []byte("q")}}
	at := &pb.Value{Kind: &pb.Value_RawTimestampMicros{RawTimestampMicros: 1000}}
	add := &pb.Mutation{Mutation: &pb.Mutation_AddToCell_{AddToCell: &pb.Mutation_AddToCell{
		FamilyName: "f", ColumnQualifier: column, Timestamp: at, Input: input}}}
	deleteNobody := &pb.Mutation{Mutation: &pb.Mutation_DeleteFromFamily_{
		DeleteFromFamily: &pb.Mutation_DeleteFromFamily{FamilyName: "nobody"}}}
	increment := func(family string) proto.Message {
		return modifyRow(&pb.ReadModifyWriteRule{FamilyName: family,
			Rule: &pb.ReadModifyWriteRule_IncrementAmount{IncrementAmount: 1}})
	}
	entries := &pb.MutateRowsRequest{Entries: []*pb.MutateRowsRequest_Entry{
		{RowKey: []byte("a"), Mutations: []*pb.Mutation{setCell("f", 1000, "v")}},
		{RowKey: []byte("b"), Mutations: []*pb.Mutation{setCell("nobody", 1000, "v")}},
		{RowKey: []byte("c"), Mutations: []*pb.Mutation{setCell("f", 1001, "v")}}}}
	const invalid, notFound = "refused: InvalidArgument", "refused: NotFound"
	return []claim{
		{"unknown family", []proto.Message{mutateRow("r", setCell("nobody", 1000, "v"))}, notFound},
		{"increment of a value that is not 8 bytes", []proto.Message{put, increment("f")},
			"refused: FailedPrecondition"},
		{"refused entry of MutateRows", []proto.Message{entries},
			"done, " + notFound + ", " + invalid},
		{"aggregate mutation of a plain family", []proto.Message{mutateRow("r", add)}, invalid},
		{"mutations before an invalid one", []proto.Message{
			mutateRow("r", setCell("f", 1000, "v"), setCell("nobody", 1000, "v")),
			&pb.ReadRowsRequest{}}, "no rows"},
		{"delete of an unknown family", []proto.Message{mutateRow("r", deleteNobody)}, notFound},
		{"CheckAndMutateRow without mutations",
			[]proto.Message{&pb.CheckAndMutateRowRequest{RowKey: []byte("r")}}, invalid},
		{"limits of keys, qualifiers, filters, labels",
			[]proto.Message{mutateRow(strings.Repeat("k", 4097), setCell("f", 1000, "v"))}, invalid},
		{"SetCell and ReadModifyWriteRow in an aggregate family",
			[]proto.Message{mutateRow("r", setCell(sums, 1000, "8 bytes!"))}, invalid},
		{"SetCell and ReadModifyWriteRow in an aggregate family",
			[]proto.Message{increment(sums)}, invalid},
		{"empty prefix to drop", []proto.Message{&adminpb.DropRowRangeRequest{
			Target: &adminpb.DropRowRangeRequest_RowKeyPrefix{RowKeyPrefix: []byte{}}}}, invalid},
	}
}

func readClaims() []claim {
	put := mutateRow("r", setCell("f", 1000, "\xff"))
	label := &pb.RowFilter{Filter: &pb.RowFilter_ApplyLabelTransformer{ApplyLabelTransformer: "l"}}
	strip := &pb.RowFilter{Filter: &pb.RowFilter_StripValueTransformer{StripValueTransformer: true}}
	sink := &pb.RowFilter{Filter: &pb.RowFilter_Sink{Sink: true}}
	block := &pb.RowFilter{Filter: &pb.RowFilter_BlockAllFilter{BlockAllFilter: true}}
	value := func(pattern string) *pb.RowFilter {
		return &pb.RowFilter{Filter: &pb.RowFilter_ValueRegexFilter{
			ValueRegexFilter: []byte(pattern)}}
	}
	mask := func(bits string) *pb.RowFilter {
		return &pb.RowFilter{Filter: &pb.RowFilter_ValueBitmaskFilter{
			ValueBitmaskFilter: &pb.ValueBitmask{Mask: []byte(bits)}}}
	}
	open := &pb.RowRange{StartKey: &pb.RowRange_StartKeyClosed{StartKeyClosed: []byte("r")},
		EndKey: &pb.RowRange_EndKeyOpen{EndKeyOpen: []byte("r")}}
	closed := &pb.RowRange{StartKey: &pb.RowRange_StartKeyClosed{StartKeyClosed: []byte("r")},
		EndKey: &pb.RowRange_EndKeyClosed{EndKeyClosed: []byte("r")}}
	const invalid = "refused: InvalidArgument"
	const row = `"r" f:"q"@1000="\xff"[]`
	return []claim{
		{"empty row key to read", []proto.Message{
			&pb.ReadRowsRequest{Rows: &pb.RowSet{RowKeys: [][]byte{{}}}}}, invalid},
		{"range that ends where it begins", []proto.Message{put, readRange(open)}, invalid},
		{"range that ends where it begins", []proto.Message{put, readRange(closed)}, row},
		{"strip behind a label", []proto.Message{put, readFiltered(label, strip)},
			`"r" f:"q"@1000=""["l"]`},
		{"sink", []proto.Message{put, readFiltered(label, sink, block)},
			`"r" f:"q"@1000="\xff"["l"]`},
		{"value_bitmask_filter", []proto.Message{put, readFiltered(mask("\x81"))}, row},
		{"value_bitmask_filter", []proto.Message{
			mutateRow("r", setCell("f", 1000, "\x80")), readFiltered(mask("\x81"))}, "no rows"},
		{`\C in a regular expression`, []proto.Message{put, readFiltered(value(`\C`))}, row},
		{"invalid filter without rows to filter", []proto.Message{readFiltered(value("("))}, invalid},
	}
}

func isKnown(name string) bool {
	for _, known := range knownDifferences {
		if known.name == name {
			return true
		}
	}
	return false
}

// claimsHold asks the server what the list of known differences says it answers. What is left out
// there is no answer to one request: orders, chances, clocks.
func claimsHold(ctx context.Context, s *server, unique string) error {
	var wrong []string
	for i, c := range append(mutationClaims(), readClaims()...) {
		if !isKnown(c.of) {
			return fmt.Errorf("%s is not in the list", c.of)
		}
		program := make([]operation, len(c.requests))
		for j, request := range c.requests {
			program[j].request = request
		}
		answers, err := s.run(ctx, fmt.Sprintf("claim-%s-%d", unique, i), program)
		if err != nil {
			return err
		}
		if got := answers[len(answers)-1]; got != c.want {
			wrong = append(wrong, fmt.Sprintf("%s: %s, expected %s", c.of, got, c.want))
		}
	}
	if len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "; "))
	}
	return nil
}
