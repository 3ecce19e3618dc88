package main

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/api/iterator"
	"google.golang.org/grpc/codes"
)

const cluster = "main"

var backupChecks = []check{
	{"backup_create_get_list_update_delete", backupLifeCycle},
	{"backup_restored_into_a_new_table", backupRestore},
	{"backup_copied", backupCopy},
	{"backup_refused", backupRefused},
}

// backedUp makes a table with a row, and a backup of it with the table's name.
func backedUp(ctx context.Context, w *world, name string) (string, *bigtable.Table, error) {
	id, table, err := w.table(ctx, name, "f")
	if err != nil {
		return "", nil, err
	}
	m := bigtable.NewMutation()
	m.Set("f", "q", 1000, []byte("kept"))
	if err := table.Apply(ctx, "r", m); err != nil {
		return "", nil, err
	}
	expires := time.Now().Add(72 * time.Hour)
	if err := w.admin.CreateBackup(ctx, id, cluster, id, expires); err != nil {
		return "", nil, fmt.Errorf("create backup: %w", err)
	}
	return id, table, nil
}

// backupsOf is the names of the backups of a table, sorted.
func backupsOf(ctx context.Context, w *world, table, in string) (string, error) {
	var names []string
	all := w.admin.Backups(ctx, in)
	for {
		info, err := all.Next()
		if errors.Is(err, iterator.Done) {
			sort.Strings(names)
			return strings.Join(names, ","), nil
		}
		if err != nil {
			return "", fmt.Errorf("list backups: %w", err)
		}
		if info.SourceTable == table {
			names = append(names, info.Name)
		}
	}
}

func expectBackups(ctx context.Context, w *world, table, want string) error {
	for _, in := range []string{cluster, "-"} {
		got, err := backupsOf(ctx, w, table, in)
		if err != nil {
			return err
		}
		if err := equal("backups", got, want); err != nil {
			return err
		}
	}
	return nil
}

func backupLifeCycle(ctx context.Context, w *world) error {
	id, _, err := backedUp(ctx, w, "backup")
	if err != nil {
		return err
	}
	until := time.Now().Add(240 * time.Hour).Truncate(time.Second).UTC()
	return all(
		func() error { return expectBackups(ctx, w, id, id) },
		func() error { return w.admin.UpdateBackup(ctx, cluster, id, until) },
		func() error {
			info, err := w.admin.BackupInfo(ctx, cluster, id)
			if err != nil {
				return fmt.Errorf("get backup: %w", err)
			}
			got := fmt.Sprint(info.Name, info.SourceTable, info.State, info.ExpireTime,
				info.SizeBytes > 0, info.StartTime.After(info.EndTime), info.SourceBackup)
			return equal("backup", got, fmt.Sprint(id, id, "READY", until, true, false, ""))
		},
		func() error { return w.admin.DeleteBackup(ctx, cluster, id) },
		func() error {
			_, err := w.admin.BackupInfo(ctx, cluster, id)
			return expectCode("get deleted", err, codes.NotFound)
		},
		func() error { return expectBackups(ctx, w, id, "") },
	)
}

func backupRestore(ctx context.Context, w *world) error {
	id, table, err := backedUp(ctx, w, "restore")
	if err != nil {
		return err
	}
	restored := w.tableName("restored")
	return all(
		func() error {
			m := bigtable.NewMutation()
			m.Set("f", "q", 1000, []byte("changed"))
			return table.Apply(ctx, "r", m)
		},
		func() error { return w.admin.RestoreTable(ctx, restored, cluster, id) },
		func() error { return expectRow(ctx, w.client.Open(restored), "r", "r f:q@1000=kept") },
		func() error { return expectRow(ctx, table, "r", "r f:q@1000=changed") },
		func() error {
			return expectCode("restore again", w.admin.RestoreTable(ctx, restored, cluster, id),
				codes.AlreadyExists)
		},
		func() error { return w.admin.DeleteBackup(ctx, cluster, id) },
		func() error {
			return expectCode("restore of nothing",
				w.admin.RestoreTable(ctx, restored+"-2", cluster, id), codes.NotFound)
		},
	)
}

func backupCopy(ctx context.Context, w *world) error {
	id, _, err := backedUp(ctx, w, "copied")
	if err != nil {
		return err
	}
	t := w.target
	expires := time.Now().Add(96 * time.Hour)
	copied := id + "-c"
	return all(
		func() error {
			return w.admin.CopyBackup(ctx, cluster, id, t.Project, t.Instance, cluster, copied, expires)
		},
		func() error {
			info, err := w.admin.BackupInfo(ctx, cluster, copied)
			if err != nil {
				return fmt.Errorf("get copy: %w", err)
			}
			source := info.SourceBackup[strings.LastIndex(info.SourceBackup, "/")+1:]
			return equal("source of the copy", source, id)
		},
		func() error { return expectBackups(ctx, w, id, id+","+copied) },
		func() error {
			return expectCode("copy of a copy", w.admin.CopyBackup(ctx, cluster, copied, t.Project,
				t.Instance, cluster, id+"-d", expires), codes.FailedPrecondition)
		},
		func() error { return w.admin.DeleteBackup(ctx, cluster, copied) },
		func() error { return w.admin.DeleteBackup(ctx, cluster, id) },
	)
}

func backupRefused(ctx context.Context, w *world) error {
	id, _, err := backedUp(ctx, w, "backup-refused")
	if err != nil {
		return err
	}
	create := func(table, cluster, name string, keep time.Duration) error {
		return w.admin.CreateBackup(ctx, table, cluster, name, time.Now().Add(keep))
	}
	return all(
		func() error {
			return expectCode("twice", create(id, cluster, id, 72*time.Hour), codes.AlreadyExists)
		},
		func() error {
			return expectCode("short", create(id, cluster, id+"-s", 5*time.Hour),
				codes.InvalidArgument)
		},
		func() error {
			return expectCode("long", create(id, cluster, id+"-l", 91*24*time.Hour),
				codes.InvalidArgument)
		},
		func() error {
			return expectCode("no table", create(id+"-n", cluster, id+"-n", 72*time.Hour),
				codes.NotFound)
		},
		func() error {
			return expectCode("no cluster", create(id, "other", id+"-o", 72*time.Hour), codes.NotFound)
		},
		func() error {
			err := w.admin.CreateBackupWithOptions(ctx, id, cluster, id+"-h",
				bigtable.WithExpiry(time.Now().Add(72*time.Hour)), bigtable.WithHotBackup())
			return expectCode("hot", err, codes.Unimplemented)
		},
		func() error { return w.admin.DeleteBackup(ctx, cluster, id) },
		func() error {
			return expectCode("delete again", w.admin.DeleteBackup(ctx, cluster, id), codes.NotFound)
		},
	)
}
