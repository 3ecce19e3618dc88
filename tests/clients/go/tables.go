package main

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc/codes"
)

var tableChecks = []check{
	{"table_create_get_list_delete", tableLifeCycle},
	{"table_gc_rules_round_trip", gcRulesRoundTrip},
	{"table_gc_removes_old_versions", gcRemovesOldVersions},
	{"table_gc_union_and_intersection", gcUnionAndIntersection},
	{"table_families_create_update_drop", familiesChange},
	{"table_families_change_atomically_or_not_at_all", familiesRefused},
	{"table_aggregate_family_types", aggregateFamilyTypes},
	{"table_deletion_protection", deletionProtection},
	{"table_drop_rows_by_prefix", dropRowsByPrefix},
	{"table_drop_all_rows", dropAllRows},
	{"table_wait_for_replication", waitForReplication},
	{"table_presplit_samples", presplitSamples},
	{"instance_and_clusters", instanceAndClusters},
}

func tableLifeCycle(ctx context.Context, w *world) error {
	name, _, err := w.table(ctx, "life", "f", "g")
	if err != nil {
		return err
	}
	info, err := w.admin.TableInfo(ctx, name)
	if err != nil {
		return err
	}
	sort.Strings(info.Families)
	if err := equal("families", strings.Join(info.Families, ","), "f,g"); err != nil {
		return err
	}
	names, err := w.admin.Tables(ctx)
	if err != nil {
		return err
	}
	if !slices.Contains(names, name) {
		return fmt.Errorf("%s is not among the tables %v", name, names)
	}
	err = expectCode("create again", w.admin.CreateTable(ctx, name), codes.AlreadyExists)
	if err != nil {
		return err
	}
	if err := w.admin.DeleteTable(ctx, name); err != nil {
		return err
	}
	_, err = w.admin.TableInfo(ctx, name)
	if err := expectCode("get deleted", err, codes.NotFound); err != nil {
		return err
	}
	return expectCode("delete again", w.admin.DeleteTable(ctx, name), codes.NotFound)
}

func gcRulesRoundTrip(ctx context.Context, w *world) error {
	rules := map[string]bigtable.GCPolicy{
		"versions": bigtable.MaxVersionsPolicy(3),
		"age":      bigtable.MaxAgePolicy(36 * time.Hour),
		"union": bigtable.UnionPolicy(bigtable.MaxVersionsPolicy(2),
			bigtable.MaxAgePolicy(time.Hour)),
		"both": bigtable.IntersectionPolicy(bigtable.MaxVersionsPolicy(1),
			bigtable.MaxAgePolicy(30*time.Minute)),
		"nested": bigtable.UnionPolicy(bigtable.MaxAgePolicy(48*time.Hour),
			bigtable.IntersectionPolicy(bigtable.MaxVersionsPolicy(5),
				bigtable.MaxAgePolicy(2*time.Hour))),
	}
	conf := &bigtable.TableConf{TableID: w.tableName("rules"),
		ColumnFamilies: map[string]bigtable.Family{}}
	for name, rule := range rules {
		conf.ColumnFamilies[name] = bigtable.Family{GCPolicy: rule}
	}
	if err := w.admin.CreateTableFromConf(ctx, conf); err != nil {
		return err
	}
	info, err := w.admin.TableInfo(ctx, conf.TableID)
	if err != nil {
		return err
	}
	if err := equal("families", len(info.FamilyInfos), len(rules)); err != nil {
		return err
	}
	for _, family := range info.FamilyInfos {
		want := rules[family.Name].String()
		if err := equal("rule of "+family.Name, family.FullGCPolicy.String(), want); err != nil {
			return err
		}
	}
	return nil
}

// eventually asks until the answer is as expected: garbage collection takes its time.
func eventually(ctx context.Context, ask func() error) error {
	var err error
	for range 180 {
		if err = ask(); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(500 * time.Millisecond):
		}
	}
	return err
}

func gcRemovesOldVersions(ctx context.Context, w *world) error {
	conf := &bigtable.TableConf{TableID: w.tableName("versions"),
		ColumnFamilies: map[string]bigtable.Family{"f": {GCPolicy: bigtable.MaxVersionsPolicy(2)}}}
	if err := w.admin.CreateTableFromConf(ctx, conf); err != nil {
		return err
	}
	table := w.client.Open(conf.TableID)
	for i := range 4 {
		m := bigtable.NewMutation()
		m.Set("f", "q", bigtable.Timestamp(1000*(i+1)), []byte{byte('a' + i)})
		if err := table.Apply(ctx, "r", m); err != nil {
			return err
		}
	}
	return eventually(ctx, func() error {
		return expectRow(ctx, table, "r", "r f:q@4000=d f:q@3000=c")
	})
}

func gcUnionAndIntersection(ctx context.Context, w *world) error {
	versions, age := bigtable.MaxVersionsPolicy(1), bigtable.MaxAgePolicy(time.Hour)
	conf := &bigtable.TableConf{TableID: w.tableName("nested"),
		ColumnFamilies: map[string]bigtable.Family{
			"any": {GCPolicy: bigtable.UnionPolicy(versions, age)},
			"all": {GCPolicy: bigtable.IntersectionPolicy(versions, age)},
		}}
	if err := w.admin.CreateTableFromConf(ctx, conf); err != nil {
		return err
	}
	now := bigtable.Now().TruncateToMilliseconds()
	young, old := now-60_000_000, now-7_200_000_000
	m := bigtable.NewMutation()
	for _, family := range []string{"any", "all"} {
		m.Set(family, "q", now, []byte("new"))
		m.Set(family, "q", young, []byte("young"))
		m.Set(family, "q", old, []byte("old"))
		m.Set(family, "lone", old, []byte("old"))
	}
	table := w.client.Open(conf.TableID)
	if err := table.Apply(ctx, "r", m); err != nil {
		return err
	}
	want := fmt.Sprintf("r all:lone@%d=old all:q@%d=new all:q@%d=young any:q@%d=new",
		old, now, young, now)
	return eventually(ctx, func() error { return expectRow(ctx, table, "r", want) })
}

func familiesChange(ctx context.Context, w *world) error {
	name, table, err := w.table(ctx, "families", "f", "g")
	if err != nil {
		return err
	}
	now := bigtable.Now().TruncateToMilliseconds()
	m := bigtable.NewMutation()
	m.Set("f", "q", now, []byte("young"))
	m.Set("f", "q", 1000, []byte("older than the age f will have"))
	m.Set("g", "q", now, []byte("gone with g"))
	left := fmt.Sprintf("r f:q@%d=young", now)
	return all(
		func() error { return table.Apply(ctx, "r", m) },
		func() error { return w.admin.CreateColumnFamily(ctx, name, "h") },
		func() error {
			return w.admin.SetGCPolicy(ctx, name, "h", bigtable.MaxVersionsPolicy(7))
		},
		func() error {
			return w.admin.UpdateFamily(ctx, name, "f",
				bigtable.Family{GCPolicy: bigtable.MaxAgePolicy(72 * time.Hour)})
		},
		func() error { return w.admin.DeleteColumnFamily(ctx, name, "g") },
		func() error { return expectRow(ctx, table, "r", left) },
		func() error { return w.admin.CreateColumnFamily(ctx, name, "g") },
		func() error { return expectRow(ctx, table, "r", left) },
		func() error {
			info, err := w.admin.TableInfo(ctx, name)
			if err != nil {
				return err
			}
			var lines []string
			for _, family := range info.FamilyInfos {
				lines = append(lines, family.Name+" "+family.GCPolicy)
			}
			sort.Strings(lines)
			return equal("families", strings.Join(lines, ", "),
				"f age() > 3d, g <never>, h versions() > 7")
		},
	)
}

func familiesRefused(ctx context.Context, w *world) error {
	name, _, err := w.table(ctx, "refused", "f")
	if err != nil {
		return err
	}
	return all(
		func() error {
			return expectCode("create f again", w.admin.CreateColumnFamily(ctx, name, "f"),
				codes.AlreadyExists)
		},
		func() error {
			return expectCode("drop unknown", w.admin.DeleteColumnFamily(ctx, name, "nobody"),
				codes.NotFound)
		},
		func() error {
			return expectCode("update unknown",
				w.admin.SetGCPolicy(ctx, name, "nobody", bigtable.MaxVersionsPolicy(1)),
				codes.NotFound)
		},
		func() error {
			return expectCode("a name with a colon", w.admin.CreateColumnFamily(ctx, name, "a:b"),
				codes.InvalidArgument)
		},
	)
}

func aggregateFamilyTypes(ctx context.Context, w *world) error {
	sum := bigtable.AggregateType{Input: bigtable.Int64Type{}, Aggregator: bigtable.SumAggregator{}}
	low := bigtable.AggregateType{Input: bigtable.Int64Type{}, Aggregator: bigtable.MinAggregator{}}
	conf := &bigtable.TableConf{TableID: w.tableName("types"),
		ColumnFamilies: map[string]bigtable.Family{"sum": {ValueType: sum}, "low": {ValueType: low},
			"plain": {}}}
	if err := w.admin.CreateTableFromConf(ctx, conf); err != nil {
		return err
	}
	info, err := w.admin.TableInfo(ctx, conf.TableID)
	if err != nil {
		return err
	}
	if err := equal("families", len(info.FamilyInfos), 3); err != nil {
		return err
	}
	for _, family := range info.FamilyInfos {
		aggregate, ok := family.ValueType.(bigtable.AggregateType)
		if err := equal("aggregate "+family.Name, ok, family.Name != "plain"); err != nil {
			return err
		}
		if !ok {
			continue
		}
		want := conf.ColumnFamilies[family.Name].ValueType.(bigtable.AggregateType).Aggregator
		got := fmt.Sprintf("%T", aggregate.Aggregator)
		if err := equal("aggregator of "+family.Name, got, fmt.Sprintf("%T", want)); err != nil {
			return err
		}
	}
	return nil
}

func deletionProtection(ctx context.Context, w *world) error {
	conf := &bigtable.TableConf{TableID: w.tableName("kept"),
		ColumnFamilies: map[string]bigtable.Family{"f": {}}, DeletionProtection: bigtable.Protected}
	if err := w.admin.CreateTableFromConf(ctx, conf); err != nil {
		return err
	}
	info, err := w.admin.TableInfo(ctx, conf.TableID)
	if err != nil {
		return err
	}
	return all(
		func() error { return equal("protection", info.DeletionProtection, bigtable.Protected) },
		func() error {
			return expectCode("delete a protected table", w.admin.DeleteTable(ctx, conf.TableID),
				codes.FailedPrecondition)
		},
		func() error {
			return expectCode("drop a family of it",
				w.admin.DeleteColumnFamily(ctx, conf.TableID, "f"), codes.FailedPrecondition)
		},
		func() error {
			return w.admin.UpdateTableWithDeletionProtection(ctx, conf.TableID, bigtable.Unprotected)
		},
		func() error { return w.admin.DeleteTable(ctx, conf.TableID) },
	)
}

func dropRowsByPrefix(ctx context.Context, w *world) error {
	name, table, err := w.table(ctx, "prefix", "f")
	if err != nil {
		return err
	}
	return all(
		func() error { return putRows(ctx, table, "a", "b", "b#1", "b#2", "b\xff", "c") },
		func() error { return w.admin.DropRowRange(ctx, name, "b#") },
		func() error {
			return expectKeys(ctx, table, "after b#", bigtable.InfiniteRange(""), "a,b,b\xff,c")
		},
		func() error { return putRows(ctx, table, "b#1") },
		func() error {
			return expectKeys(ctx, table, "written again", bigtable.PrefixRange("b#"), "b#1")
		},
		func() error { return w.admin.DropRowRange(ctx, name, "b") },
		func() error { return expectKeys(ctx, table, "after b", bigtable.InfiniteRange(""), "a,c") },
		func() error {
			return expectCode("an empty prefix", w.admin.DropRowRange(ctx, name, ""),
				codes.InvalidArgument)
		},
	)
}

func dropAllRows(ctx context.Context, w *world) error {
	name, table, err := w.table(ctx, "all", "f")
	if err != nil {
		return err
	}
	return all(
		func() error { return putRows(ctx, table, "a", "b", "\xff\xff") },
		func() error { return w.admin.DropAllRows(ctx, name) },
		func() error { return expectKeys(ctx, table, "dropped", bigtable.InfiniteRange(""), "") },
		func() error { return putRows(ctx, table, "b") },
		func() error { return expectKeys(ctx, table, "again", bigtable.InfiniteRange(""), "b") },
		func() error {
			return expectCode("no such table", w.admin.DropAllRows(ctx, name+"x"), codes.NotFound)
		},
	)
}

func waitForReplication(ctx context.Context, w *world) error {
	name, _, err := w.table(ctx, "token", "f")
	if err != nil {
		return err
	}
	if err := w.admin.WaitForReplication(ctx, name); err != nil {
		return err
	}
	return expectCode("no such table", w.admin.WaitForReplication(ctx, name+"x"), codes.NotFound)
}

func presplitSamples(ctx context.Context, w *world) error {
	name := w.tableName("split")
	if err := w.admin.CreatePresplitTable(ctx, name, []string{"d", "h", "p"}); err != nil {
		return err
	}
	keys, err := w.client.Open(name).SampleRowKeys(ctx)
	if err != nil {
		return err
	}
	// The library leaves out the end of the table.
	return equal("samples", strings.Join(keys, ","), "d,h,p")
}

func instanceAndClusters(ctx context.Context, w *world) error {
	instances, err := w.instances.Instances(ctx)
	if err != nil {
		return fmt.Errorf("instances: %w", err)
	}
	if err := equal("instances", len(instances), 1); err != nil {
		return err
	}
	if err := equal("instance", instances[0].Name, w.target.Instance); err != nil {
		return err
	}
	info, err := w.instances.InstanceInfo(ctx, w.target.Instance)
	if err != nil {
		return err
	}
	if err := equal("instance", info.Name, w.target.Instance); err != nil {
		return err
	}
	clusters, err := w.instances.Clusters(ctx, w.target.Instance)
	if err != nil {
		return fmt.Errorf("clusters: %w", err)
	}
	if len(clusters) != 1 {
		return fmt.Errorf("%d clusters, expected 1", len(clusters))
	}
	_, err = w.instances.InstanceInfo(ctx, "nobody")
	return expectCode("unknown instance", err, codes.NotFound)
}
