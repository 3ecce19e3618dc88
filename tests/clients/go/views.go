package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc/codes"
)

var viewChecks = []check{
	{"view_create_get_list_update_delete", viewLifeCycle},
	{"view_shows_its_part_only", viewReads},
	{"view_takes_writes_of_its_part_only", viewWrites},
	{"view_deletion_protection", viewProtection},
	{"view_of_everything_and_of_nothing", viewBounds},
}

// subset is rows a..., all of family f beginning with pub, and g:one alone.
func subset() *bigtable.SubsetViewConf {
	s := &bigtable.SubsetViewConf{}
	s.AddRowPrefix([]byte("a"))
	s.AddFamilySubsetQualifierPrefix("f", []byte("pub"))
	s.AddFamilySubsetQualifier("g", []byte("one"))
	return s
}

// viewed makes a table with two rows and a view of it.
func viewed(ctx context.Context, w *world, name string, s *bigtable.SubsetViewConf) (string,
	*bigtable.Table, bigtable.TableAPI, error) {
	id, table, err := w.table(ctx, name, "f", "g")
	if err != nil {
		return "", nil, nil, err
	}
	m := bigtable.NewMutation()
	m.Set("f", "public", 1000, []byte("1"))
	m.Set("f", "secret", 1000, []byte("2"))
	m.Set("g", "one", 1000, []byte("3"))
	m.Set("g", "oneself", 1000, []byte("4"))
	if err := bulk(ctx, table, []string{"a1", "b1"}, []*bigtable.Mutation{m, m}); err != nil {
		return "", nil, nil, err
	}
	err = w.admin.CreateAuthorizedView(ctx, &bigtable.AuthorizedViewConf{TableID: id,
		AuthorizedViewID: "view", AuthorizedView: s, DeletionProtection: bigtable.Unprotected})
	if err != nil {
		return "", nil, nil, fmt.Errorf("create view: %w", err)
	}
	// The client does not wait for the operation that creates a view.
	err = eventually(ctx, func() error {
		_, err := w.admin.AuthorizedViewInfo(ctx, id, "view")
		return err
	})
	return id, table, w.client.OpenAuthorizedView(id, "view"), err
}

func viewText(info *bigtable.AuthorizedViewInfo) (string, error) {
	s, ok := info.AuthorizedView.(*bigtable.SubsetViewInfo)
	if !ok {
		return "", fmt.Errorf("a view of type %T", info.AuthorizedView)
	}
	return fmt.Sprintf("rows %q f %q g %q", s.RowPrefixes, s.FamilySubsets["f"].QualifierPrefixes,
		s.FamilySubsets["g"].Qualifiers), nil
}

func expectView(ctx context.Context, w *world, table, want string) error {
	info, err := w.admin.AuthorizedViewInfo(ctx, table, "view")
	if err != nil {
		return fmt.Errorf("get view: %w", err)
	}
	got, err := viewText(info)
	if err != nil {
		return err
	}
	return equal("view", got, want)
}

func viewLifeCycle(ctx context.Context, w *world) error {
	id, _, view, err := viewed(ctx, w, "view", subset())
	if err != nil {
		return err
	}
	wider := subset()
	wider.AddRowPrefix([]byte("b"))
	conf := bigtable.AuthorizedViewConf{TableID: id, AuthorizedViewID: "view",
		AuthorizedView: subset(), DeletionProtection: bigtable.Unprotected}
	changed := conf
	changed.AuthorizedView = wider
	return all(
		func() error { return expectView(ctx, w, id, `rows ["a"] f ["pub"] g ["one"]`) },
		func() error {
			return expectCode("create again", w.admin.CreateAuthorizedView(ctx, &conf),
				codes.AlreadyExists)
		},
		func() error {
			names, err := w.admin.AuthorizedViews(ctx, id)
			if err != nil {
				return err
			}
			return equal("views", strings.Join(names, ","), "view")
		},
		func() error { return expectKeys(ctx, view, "narrow", bigtable.InfiniteRange(""), "a1") },
		func() error {
			return w.admin.UpdateAuthorizedView(ctx,
				bigtable.UpdateAuthorizedViewConf{AuthorizedViewConf: changed})
		},
		func() error { return expectView(ctx, w, id, `rows ["a" "b"] f ["pub"] g ["one"]`) },
		func() error { return expectKeys(ctx, view, "wide", bigtable.InfiniteRange(""), "a1,b1") },
		func() error { return w.admin.DeleteAuthorizedView(ctx, id, "view") },
		func() error {
			_, err := w.admin.AuthorizedViewInfo(ctx, id, "view")
			return expectCode("get deleted", err, codes.NotFound)
		},
		func() error {
			_, err := view.ReadRow(ctx, "a1")
			return expectCode("read through a deleted view", err, codes.NotFound)
		},
	)
}

func viewReads(ctx context.Context, w *world) error {
	_, _, view, err := viewed(ctx, w, "viewread", subset())
	if err != nil {
		return err
	}
	return all(
		func() error { return expectRow(ctx, view, "a1", "a1 f:public@1000=1 g:one@1000=3") },
		func() error { return expectKeys(ctx, view, "scan", bigtable.InfiniteRange(""), "a1") },
		func() error {
			return expectKeys(ctx, view, "reversed", bigtable.InfiniteRange(""), "a1",
				bigtable.ReverseScan())
		},
		func() error { return expectRow(ctx, view, "b1", "none") },
		func() error {
			return expectKeys(ctx, view, "a filter that would see more", bigtable.InfiniteRange(""), "",
				bigtable.RowFilter(bigtable.ColumnFilter("secret")))
		},
		func() error {
			got, err := scanText(ctx, view, bigtable.InfiniteRange(""),
				bigtable.RowFilter(bigtable.CellsPerRowOffsetFilter(1)))
			if err != nil {
				return err
			}
			return equal("cells hidden do not count", got, "a1 g:one@1000=3")
		},
		func() error {
			keys, err := view.SampleRowKeys(ctx)
			if err != nil {
				return err
			}
			for _, key := range keys {
				if key != "" && !strings.HasPrefix(key, "a") && key != "b" {
					return fmt.Errorf("sample %q is outside of the view", key)
				}
			}
			return nil
		},
	)
}

func viewWrites(ctx context.Context, w *world) error {
	_, table, view, err := viewed(ctx, w, "viewwrite", subset())
	if err != nil {
		return err
	}
	denied := func(what, key string, m *bigtable.Mutation) func() error {
		return func() error {
			return expectCode(what, view.Apply(ctx, key, m), codes.PermissionDenied)
		}
	}
	wipe := bigtable.NewMutation()
	wipe.DeleteRow()
	rmw := bigtable.NewReadModifyWrite()
	rmw.AppendValue("f", "secret", []byte("x"))
	return all(
		func() error { return view.Apply(ctx, "a2", set("f", "pub", 1000, "new")) },
		func() error { return expectRow(ctx, table, "a2", "a2 f:pub@1000=new") },
		denied("a row outside", "b2", set("f", "pub", 1000, "no")),
		denied("a column outside", "a2", set("f", "secret", 1000, "no")),
		denied("a qualifier that only begins like it", "a2", set("g", "one1", 1000, "no")),
		denied("a whole row", "a2", wipe),
		func() error {
			_, err := view.ApplyReadModifyWrite(ctx, "a1", rmw)
			return expectCode("a column outside to append to", err, codes.PermissionDenied)
		},
		func() error {
			errs, err := view.ApplyBulk(ctx, []string{"a3", "b3"}, []*bigtable.Mutation{
				set("g", "one", 1000, "yes"), set("g", "one", 1000, "no")})
			if err != nil {
				return err
			}
			if len(errs) != 2 || errs[0] != nil {
				return fmt.Errorf("bulk: %w", errors.Join(errs...))
			}
			return expectCode("bulk outside", errs[1], codes.PermissionDenied)
		},
		func() error {
			return expectKeys(ctx, table, "table", bigtable.InfiniteRange(""), "a1,a2,a3,b1")
		},
		func() error {
			return expectRow(ctx, table, "b1",
				"b1 f:public@1000=1 f:secret@1000=2 g:one@1000=3 g:oneself@1000=4")
		},
	)
}

func viewProtection(ctx context.Context, w *world) error {
	id, _, _, err := viewed(ctx, w, "viewkept", subset())
	if err != nil {
		return err
	}
	protect := func(p bigtable.DeletionProtection) error {
		conf := bigtable.AuthorizedViewConf{TableID: id, AuthorizedViewID: "view",
			DeletionProtection: p}
		return w.admin.UpdateAuthorizedView(ctx,
			bigtable.UpdateAuthorizedViewConf{AuthorizedViewConf: conf})
	}
	return all(
		func() error { return protect(bigtable.Protected) },
		func() error {
			return expectCode("delete a protected view", w.admin.DeleteAuthorizedView(ctx, id, "view"),
				codes.FailedPrecondition)
		},
		func() error { return expectView(ctx, w, id, `rows ["a"] f ["pub"] g ["one"]`) },
		func() error { return protect(bigtable.Unprotected) },
		func() error { return w.admin.DeleteAuthorizedView(ctx, id, "view") },
	)
}

func viewBounds(ctx context.Context, w *world) error {
	everything := &bigtable.SubsetViewConf{}
	everything.AddRowPrefix([]byte(""))
	everything.AddFamilySubsetQualifierPrefix("f", []byte(""))
	_, _, view, err := viewed(ctx, w, "viewall", everything)
	if err != nil {
		return err
	}
	want := "f:public@1000=1 f:secret@1000=2"
	got, err := scanText(ctx, view, bigtable.InfiniteRange(""))
	if err != nil {
		return err
	}
	if err := equal("prefix of nothing", got, "a1 "+want+"\nb1 "+want); err != nil {
		return err
	}
	nothing := &bigtable.SubsetViewConf{}
	nothing.AddFamilySubsetQualifierPrefix("f", []byte(""))
	_, _, view, err = viewed(ctx, w, "viewnone", nothing)
	if err != nil {
		return err
	}
	return expectKeys(ctx, view, "no prefix", bigtable.InfiniteRange(""), "")
}
