// Checks that the official Go client of Cloud Bigtable works against a server, unmodified: one line
// for each check, "ok NAME" or "not ok NAME: why", and 0 only if every one is ok.
//
//	run TOOLS_DIR [NAME...]
//
// With names, only the checks whose names begin with one of them.
package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"cloud.google.com/go/bigtable"
	pb "cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/api/option"
	"google.golang.org/grpc"

	"bigtent/tests/clients/target"
)

const checkTimeout = 2 * time.Minute

// A check is one promise; it returns what is wrong.
type check struct {
	name string
	run  func(context.Context, *world) error
}

// A world is what every check may use.
type world struct {
	target    *target.Target
	client    *bigtable.Client
	admin     *bigtable.AdminClient
	instances *bigtable.InstanceAdminClient
	// unique is in every table's name, so that two runs do not meet.
	unique string
	tables []string
	// longTable is made when first asked for.
	longTable *bigtable.Table
}

func newClient(ctx context.Context, t *target.Target,
	options ...option.ClientOption) (*bigtable.Client, error) {
	config := bigtable.ClientConfig{MetricsProvider: bigtable.NoopMetricsProvider{}}
	return bigtable.NewClientWithConfig(ctx, t.Project, t.Instance, config,
		append(t.ClientOptions(), options...)...)
}

// newClientDialling is for clients whose connection is not as usual. In plaintext the library dials
// by itself, for messages of at most 4 MiB and with nothing of ours in between, unless it is given a
// connection.
func newClientDialling(ctx context.Context, t *target.Target,
	dial ...grpc.DialOption) (*bigtable.Client, error) {
	if t.Emulated {
		conn, err := t.Dial(dial...)
		if err != nil {
			return nil, err
		}
		return newClient(ctx, t, option.WithGRPCConn(conn))
	}
	options := make([]option.ClientOption, len(dial))
	for i := range dial {
		options[i] = option.WithGRPCDialOption(dial[i])
	}
	return newClient(ctx, t, options...)
}

func newWorld(ctx context.Context, t *target.Target) (*world, error) {
	var unique [4]byte
	if _, err := rand.Read(unique[:]); err != nil {
		return nil, err
	}
	w := &world{target: t, unique: hex.EncodeToString(unique[:])}
	var err error
	if w.client, err = newClient(ctx, t); err != nil {
		return nil, fmt.Errorf("data client: %w", err)
	}
	w.admin, err = bigtable.NewAdminClient(ctx, t.Project, t.Instance, t.ClientOptions()...)
	if err != nil {
		return nil, fmt.Errorf("admin client: %w", err)
	}
	w.instances, err = bigtable.NewInstanceAdminClient(ctx, t.Project, t.ClientOptions()...)
	if err != nil {
		return nil, fmt.Errorf("instance client: %w", err)
	}
	return w, nil
}

func (w *world) fini(ctx context.Context) error {
	var left []error
	for _, table := range w.tables {
		if err := w.admin.DeleteTable(ctx, table); err != nil && !isGone(err) {
			left = append(left, fmt.Errorf("delete %s: %w", table, err))
		}
	}
	return errors.Join(left...)
}

// tableName makes a name nobody else has; the table is deleted at the end.
func (w *world) tableName(name string) string {
	table := "go-" + name + "-" + w.unique
	w.tables = append(w.tables, table)
	return table
}

// table makes a table with families that keep everything. They are made one after another, since a
// request has no order of families, and rows may have that of their making.
func (w *world) table(ctx context.Context, name string,
	families ...string) (string, *bigtable.Table, error) {
	table := w.tableName(name)
	if err := w.admin.CreateTable(ctx, table); err != nil {
		return "", nil, fmt.Errorf("create %s: %w", table, err)
	}
	keep := bigtable.Family{GCPolicy: bigtable.NoGcPolicy()}
	for _, family := range families {
		if err := w.admin.CreateColumnFamilyWithConfig(ctx, table, family, keep); err != nil {
			return "", nil, fmt.Errorf("create %s in %s: %w", family, table, err)
		}
	}
	return table, w.client.Open(table), nil
}

// withStub lends the stub the library is made of, for what the library itself does not say.
func withStub(w *world, use func(pb.BigtableClient) error) error {
	conn, err := w.target.Dial()
	if err != nil {
		return err
	}
	return errors.Join(use(pb.NewBigtableClient(conn)), conn.Close())
}

func wanted(name string, prefixes []string) bool {
	for _, prefix := range prefixes {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return len(prefixes) == 0
}

func runChecks(w *world, prefixes []string) (ran, failed int) {
	checks := [][]check{tableChecks, writeChecks, readChecks, filterChecks, rowChecks, errorChecks,
		quotaChecks, viewChecks, changeStreamChecks, backupChecks}
	if !w.target.Emulated {
		checks = append(checks, keyChecks)
	}
	for _, subject := range checks {
		for _, c := range subject {
			if !wanted(c.name, prefixes) {
				continue
			}
			ran++
			ctx, cancel := context.WithTimeout(context.Background(), checkTimeout)
			err := c.run(ctx, w)
			cancel()
			if err == nil {
				fmt.Println("ok", c.name)
				continue
			}
			failed++
			fmt.Printf("not ok %s: %s\n", c.name, strings.ReplaceAll(err.Error(), "\n", " "))
		}
	}
	return ran, failed
}

func run(prefixes []string) error {
	ctx := context.Background()
	t, err := target.FromEnvironment()
	if err != nil {
		return err
	}
	w, err := newWorld(ctx, t)
	if err != nil {
		return err
	}
	ran, failed := runChecks(w, prefixes)
	if err := w.fini(ctx); err != nil {
		return err
	}
	if ran == 0 {
		return fmt.Errorf("no check is named like that")
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d checks failed", failed, ran)
	}
	return nil
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "go:", err)
		os.Exit(1)
	}
}
