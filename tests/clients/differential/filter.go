package main

import (
	"math/rand/v2"

	pb "cloud.google.com/go/bigtable/apiv2/bigtablepb"
)

// A filterState is what holds for the cells that reach a filter, as far as it decides which filters
// may be drawn (known.go says why).
type filterState struct {
	oneFamily bool // all cells are of one family
	mixed     bool // cells of one column and time may differ
	labelled  bool // there was a label
	stripped  bool // there was a strip
	predicate bool // inside of a condition's question
}

// A filterDrawer makes random valid filters.
type filterDrawer struct{ random *rand.Rand }

func (d *filterDrawer) draw(depth int, s *filterState) *pb.RowFilter {
	if depth > 0 && d.random.IntN(3) == 0 {
		return d.composed(depth, s)
	}
	if d.random.IntN(4) == 0 {
		if f := d.counting(s); f != nil {
			return f
		}
	}
	if d.random.IntN(6) == 0 {
		if f := d.transformer(s); f != nil {
			return f
		}
	}
	return d.selecting(s)
}

func (d *filterDrawer) composed(depth int, s *filterState) *pb.RowFilter {
	switch d.random.IntN(3) {
	case 0:
		return d.chain(depth, s)
	case 1:
		return d.interleave(depth, s)
	}
	return d.condition(depth, s)
}

func (d *filterDrawer) chain(depth int, s *filterState) *pb.RowFilter {
	var filters []*pb.RowFilter
	if !s.oneFamily && d.random.IntN(2) == 0 {
		s.oneFamily = true
		filters = append(filters, familyFilter(pick(d.random, plainFamilies)))
	}
	for n := 2 + d.random.IntN(2); n > 0; n-- {
		filters = append(filters, d.draw(depth-1, s))
	}
	return &pb.RowFilter{Filter: &pb.RowFilter_Chain_{Chain: &pb.RowFilter_Chain{Filters: filters}}}
}

// merge is what holds behind branches of which each may have given the cells.
func (s *filterState) merge(branches []filterState) {
	for _, b := range branches {
		s.mixed = s.mixed || b.mixed
		s.labelled = s.labelled || b.labelled
		s.stripped = s.stripped || b.stripped
	}
}

func (d *filterDrawer) interleave(depth int, s *filterState) *pb.RowFilter {
	before := *s
	var filters []*pb.RowFilter
	var states []filterState
	for n := 2 + d.random.IntN(2); n > 0; n-- {
		branch := before
		filters = append(filters, d.draw(depth-1, &branch))
		states = append(states, branch)
	}
	s.merge(states)
	s.mixed = s.mixed || s.labelled != before.labelled || s.stripped != before.stripped
	return &pb.RowFilter{Filter: &pb.RowFilter_Interleave_{
		Interleave: &pb.RowFilter_Interleave{Filters: filters}}}
}

func (d *filterDrawer) condition(depth int, s *filterState) *pb.RowFilter {
	before := *s
	question := before
	question.predicate = true
	c := &pb.RowFilter_Condition{PredicateFilter: d.draw(depth-1, &question)}
	missing := d.random.IntN(6)
	var states []filterState
	if missing != 0 {
		branch := before
		c.TrueFilter = d.draw(depth-1, &branch)
		states = append(states, branch)
	}
	if missing != 1 {
		branch := before
		c.FalseFilter = d.draw(depth-1, &branch)
		states = append(states, branch)
	}
	s.merge(states)
	return &pb.RowFilter{Filter: &pb.RowFilter_Condition_{Condition: c}}
}

// counting gives filters that count cells, or none where the count would be arbitrary.
func (d *filterDrawer) counting(s *filterState) *pb.RowFilter {
	if s.mixed {
		return nil
	}
	n := int32(1 + d.random.IntN(3))
	switch kind := d.random.IntN(3); {
	case kind == 0:
		return &pb.RowFilter{Filter: &pb.RowFilter_CellsPerColumnLimitFilter{
			CellsPerColumnLimitFilter: n}}
	case !s.oneFamily:
		return nil
	case kind == 1:
		return &pb.RowFilter{Filter: &pb.RowFilter_CellsPerRowLimitFilter{CellsPerRowLimitFilter: n}}
	}
	return &pb.RowFilter{Filter: &pb.RowFilter_CellsPerRowOffsetFilter{CellsPerRowOffsetFilter: n}}
}

func (d *filterDrawer) transformer(s *filterState) *pb.RowFilter {
	if s.predicate || s.labelled {
		return nil
	}
	if d.random.IntN(2) == 0 {
		s.stripped = true
		return &pb.RowFilter{Filter: &pb.RowFilter_StripValueTransformer{StripValueTransformer: true}}
	}
	s.labelled = true
	return &pb.RowFilter{Filter: &pb.RowFilter_ApplyLabelTransformer{
		ApplyLabelTransformer: pick(d.random, []string{"a", "label-1", "0123456789-abcd"})}}
}

var expressions = []string{"a", "a.*", ".*", "[ab]+", "[^a]*", "a|b", ".", "", "(ab|b)?c?",
	"\x00.*", "\xff+", "\\x00.*", `\n?.*`, "v.*", "[\\x80-\\xff]*", ".*\n.*",
	"(?i)A.*", `a\x00?`, "b{1,2}.?"}

func (d *filterDrawer) selecting(s *filterState) *pb.RowFilter {
	expression := []byte(pick(d.random, expressions))
	switch d.random.IntN(9) {
	case 0:
		return &pb.RowFilter{Filter: &pb.RowFilter_PassAllFilter{PassAllFilter: true}}
	case 1:
		if d.random.IntN(3) == 0 {
			return &pb.RowFilter{Filter: &pb.RowFilter_BlockAllFilter{BlockAllFilter: true}}
		}
		return familyFilter(pick(d.random, []string{"f", "g", "f|sum", ".*", "[a-f]", "nobody"}))
	case 2:
		if len(expression) == 0 {
			expression = []byte(".*")
		}
		return &pb.RowFilter{Filter: &pb.RowFilter_RowKeyRegexFilter{RowKeyRegexFilter: expression}}
	case 3:
		return &pb.RowFilter{Filter: &pb.RowFilter_ColumnQualifierRegexFilter{
			ColumnQualifierRegexFilter: expression}}
	case 4:
		return &pb.RowFilter{Filter: &pb.RowFilter_ValueRegexFilter{ValueRegexFilter: expression}}
	case 5:
		s.oneFamily = true
		return d.columnRange()
	case 6:
		return d.valueRange()
	}
	return d.timestampRange()
}

func familyFilter(expression string) *pb.RowFilter {
	return &pb.RowFilter{Filter: &pb.RowFilter_FamilyNameRegexFilter{
		FamilyNameRegexFilter: expression}}
}

func (d *filterDrawer) columnRange() *pb.RowFilter {
	low, high := ordered(d.random, qualifiers)
	r := &pb.ColumnRange{FamilyName: pick(d.random, plainFamilies)}
	switch d.random.IntN(3) {
	case 0:
		r.StartQualifier = &pb.ColumnRange_StartQualifierClosed{StartQualifierClosed: low}
	case 1:
		r.StartQualifier = &pb.ColumnRange_StartQualifierOpen{StartQualifierOpen: low}
	}
	switch d.random.IntN(3) {
	case 0:
		r.EndQualifier = &pb.ColumnRange_EndQualifierClosed{EndQualifierClosed: high}
	case 1:
		r.EndQualifier = &pb.ColumnRange_EndQualifierOpen{EndQualifierOpen: high}
	}
	return &pb.RowFilter{Filter: &pb.RowFilter_ColumnRangeFilter{ColumnRangeFilter: r}}
}

func (d *filterDrawer) valueRange() *pb.RowFilter {
	low, high := ordered(d.random, values)
	r := &pb.ValueRange{}
	switch d.random.IntN(3) {
	case 0:
		r.StartValue = &pb.ValueRange_StartValueClosed{StartValueClosed: low}
	case 1:
		r.StartValue = &pb.ValueRange_StartValueOpen{StartValueOpen: low}
	}
	switch d.random.IntN(3) {
	case 0:
		r.EndValue = &pb.ValueRange_EndValueClosed{EndValueClosed: high}
	case 1:
		r.EndValue = &pb.ValueRange_EndValueOpen{EndValueOpen: high}
	}
	return &pb.RowFilter{Filter: &pb.RowFilter_ValueRangeFilter{ValueRangeFilter: r}}
}

func (d *filterDrawer) timestampRange() *pb.RowFilter {
	return &pb.RowFilter{Filter: &pb.RowFilter_TimestampRangeFilter{
		TimestampRangeFilter: timeRange(d.random)}}
}
