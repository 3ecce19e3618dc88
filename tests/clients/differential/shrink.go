package main

import (
	"fmt"
	"strings"

	adminpb "cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	pb "cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

// shrinkRunsMax bounds the search; a program is short enough long before.
const shrinkRunsMax = 600

// shrink makes a program that differs shorter, as long as it still does.
func shrink(program []operation, differs func([]operation) (bool, error)) ([]operation, error) {
	runs := 0
	try := func(candidate []operation) (bool, error) {
		if runs++; runs > shrinkRunsMax || len(candidate) == 0 {
			return false, nil
		}
		return differs(candidate)
	}
	for changed := true; changed && runs <= shrinkRunsMax; {
		changed = false
		shorter, err := shrinkLength(program, try)
		if err != nil {
			return nil, err
		}
		simpler, err := shrinkRequests(shorter, try)
		if err != nil {
			return nil, err
		}
		changed = programText(simpler) != programText(program)
		program = simpler
	}
	return program, nil
}

// shrinkLength leaves out operations: halves, quarters, ..., single ones.
func shrinkLength(program []operation, try func([]operation) (bool, error)) ([]operation, error) {
	for size := max(len(program)/2, 1); size > 0; size /= 2 {
		for at := 0; at+size <= len(program); {
			candidate := append(append([]operation{}, program[:at]...), program[at+size:]...)
			still, err := try(candidate)
			if err != nil {
				return nil, err
			}
			if still {
				program = candidate
			} else {
				at += size
			}
		}
	}
	return program, nil
}

func shrinkRequests(program []operation, try func([]operation) (bool, error)) ([]operation, error) {
	for i := 0; i < len(program); i++ {
		simpler := simplerRequests(program[i].request)
		for at := 0; at < len(simpler); at++ {
			candidate := append([]operation{}, program...)
			candidate[i].request = simpler[at]
			still, err := try(candidate)
			if err != nil {
				return nil, err
			}
			if still {
				program = candidate
				simpler, at = simplerRequests(simpler[at]), -1
			}
		}
	}
	return program, nil
}

// changed is a copy of a request after a change of it.
func changed[T proto.Message](request T, change func(T)) proto.Message {
	clone := proto.Clone(request).(T)
	change(clone)
	return clone
}

func without[T any](list []T, at int) []T {
	return append(append([]T{}, list[:at]...), list[at+1:]...)
}

// simplerRequests are requests that ask for a little less.
func simplerRequests(request proto.Message) []proto.Message {
	var simpler []proto.Message
	switch r := request.(type) {
	case *pb.MutateRowRequest:
		for i := range r.Mutations {
			simpler = append(simpler, changed(r, func(c *pb.MutateRowRequest) {
				c.Mutations = without(c.Mutations, i)
			}))
		}
	case *pb.MutateRowsRequest:
		for i := range r.Entries {
			simpler = append(simpler, changed(r, func(c *pb.MutateRowsRequest) {
				c.Entries = without(c.Entries, i)
			}))
		}
	case *pb.ReadModifyWriteRowRequest:
		for i := range r.Rules {
			simpler = append(simpler, changed(r, func(c *pb.ReadModifyWriteRowRequest) {
				c.Rules = without(c.Rules, i)
			}))
		}
	case *pb.CheckAndMutateRowRequest:
		simpler = simplerChecks(r)
	case *pb.ReadRowsRequest:
		simpler = simplerReads(r)
	}
	return simpler
}

func simplerChecks(r *pb.CheckAndMutateRowRequest) []proto.Message {
	var simpler []proto.Message
	for _, f := range simplerFilters(r.PredicateFilter) {
		simpler = append(simpler, changed(r, func(c *pb.CheckAndMutateRowRequest) {
			c.PredicateFilter = f
		}))
	}
	for i := range r.TrueMutations {
		simpler = append(simpler, changed(r, func(c *pb.CheckAndMutateRowRequest) {
			c.TrueMutations = without(c.TrueMutations, i)
		}))
	}
	for i := range r.FalseMutations {
		simpler = append(simpler, changed(r, func(c *pb.CheckAndMutateRowRequest) {
			c.FalseMutations = without(c.FalseMutations, i)
		}))
	}
	kept := simpler[:0]
	for _, s := range simpler {
		// Without any mutation it would be another known difference.
		c := s.(*pb.CheckAndMutateRowRequest)
		if len(c.TrueMutations)+len(c.FalseMutations) > 0 {
			kept = append(kept, s)
		}
	}
	return kept
}

func simplerReads(r *pb.ReadRowsRequest) []proto.Message {
	var simpler []proto.Message
	add := func(change func(*pb.ReadRowsRequest)) { simpler = append(simpler, changed(r, change)) }
	if r.Rows != nil {
		add(func(c *pb.ReadRowsRequest) { c.Rows = nil })
	}
	for i := range r.Rows.GetRowKeys() {
		add(func(c *pb.ReadRowsRequest) { c.Rows.RowKeys = without(c.Rows.RowKeys, i) })
	}
	for i := range r.Rows.GetRowRanges() {
		add(func(c *pb.ReadRowsRequest) { c.Rows.RowRanges = without(c.Rows.RowRanges, i) })
	}
	if r.RowsLimit > 0 {
		add(func(c *pb.ReadRowsRequest) { c.RowsLimit = 0 })
	}
	if r.Reversed {
		add(func(c *pb.ReadRowsRequest) { c.Reversed = false })
	}
	for _, f := range simplerFilters(r.Filter) {
		add(func(c *pb.ReadRowsRequest) { c.Filter = f })
	}
	return simpler
}

// simplerFilters are none, each part of a filter, and a filter with one part simpler.
func simplerFilters(f *pb.RowFilter) []*pb.RowFilter {
	if f == nil {
		return nil
	}
	simpler := []*pb.RowFilter{nil}
	switch kind := f.Filter.(type) {
	case *pb.RowFilter_Chain_:
		for _, filters := range simplerLists(kind.Chain.Filters) {
			simpler = append(simpler, &pb.RowFilter{Filter: &pb.RowFilter_Chain_{
				Chain: &pb.RowFilter_Chain{Filters: filters}}})
		}
	case *pb.RowFilter_Interleave_:
		simpler = append(simpler, kind.Interleave.Filters...)
		for _, filters := range simplerLists(kind.Interleave.Filters) {
			simpler = append(simpler, &pb.RowFilter{Filter: &pb.RowFilter_Interleave_{
				Interleave: &pb.RowFilter_Interleave{Filters: filters}}})
		}
	case *pb.RowFilter_Condition_:
		for _, part := range []*pb.RowFilter{kind.Condition.TrueFilter, kind.Condition.FalseFilter} {
			if part != nil {
				simpler = append(simpler, part)
			}
		}
	}
	return simpler
}

// simplerLists leave out one filter, but never fewer than two remain: one is refused. The first of
// a chain stays, since it may be what makes the others comparable.
func simplerLists(filters []*pb.RowFilter) [][]*pb.RowFilter {
	var lists [][]*pb.RowFilter
	for i := 1; i < len(filters) && len(filters) > 2; i++ {
		lists = append(lists, without(filters, i))
	}
	return lists
}

// requestText is a request in one line, long values cut.
func requestText(request proto.Message) string {
	const longest = 600
	name := strings.TrimSuffix(string(request.ProtoReflect().Descriptor().Name()), "Request")
	text := prototext.MarshalOptions{}.Format(cut(request))
	if len(text) > longest {
		text = text[:longest] + "..."
	}
	return name + " { " + strings.Join(strings.Fields(text), " ") + " }"
}

func cut(request proto.Message) proto.Message {
	clone := proto.Clone(request)
	var mutations []*pb.Mutation
	switch r := clone.(type) {
	case *pb.MutateRowRequest:
		mutations = r.Mutations
	case *pb.MutateRowsRequest:
		for _, entry := range r.Entries {
			mutations = append(mutations, entry.Mutations...)
		}
	case *pb.CheckAndMutateRowRequest:
		mutations = append(append(mutations, r.TrueMutations...), r.FalseMutations...)
	case *adminpb.DropRowRangeRequest, *pb.ReadRowsRequest, *pb.ReadModifyWriteRowRequest:
	}
	for _, m := range mutations {
		if set := m.GetSetCell(); len(set.GetValue()) > 40 {
			set.Value = fmt.Appendf(nil, "%.8s... %d bytes", set.Value, len(set.Value))
		}
	}
	return clone
}

func programText(program []operation) string {
	var lines []string
	for i, op := range program {
		lines = append(lines, fmt.Sprintf("%4d %s", i, requestText(op.request)))
	}
	return strings.Join(lines, "\n")
}
