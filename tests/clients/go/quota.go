package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"bigtent/tests/clients/target"
)

var quotaChecks = []check{
	{"quota_refusal_is_waited_for", quotaHonoured},
}

// A refusals counts the answers RESOURCE_EXHAUSTED the client library saw and did not show.
type refusals struct{ count atomic.Int64 }

func (r *refusals) note(err error) error {
	if status.Code(err) == codes.ResourceExhausted {
		r.count.Add(1)
	}
	return err
}

func (r *refusals) call(ctx context.Context, method string, request, reply any,
	conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	return r.note(invoke(ctx, method, request, reply, conn, options...))
}

type countingStream struct {
	grpc.ClientStream
	refusals *refusals
}

func (s countingStream) RecvMsg(message any) error {
	return s.refusals.note(s.ClientStream.RecvMsg(message))
}

func (r *refusals) stream(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn,
	method string, streamer grpc.Streamer, options ...grpc.CallOption) (grpc.ClientStream, error) {
	stream, err := streamer(ctx, desc, conn, method, options...)
	if err != nil {
		return nil, err
	}
	return countingStream{stream, r}, nil
}

func quotaHonoured(ctx context.Context, w *world) error {
	limited, ok := w.target.Limited()
	if !ok {
		return errors.New("BIGTENT_LIMITED_PROJECT and BIGTENT_LIMITED_KEY are not set")
	}
	admin, err := bigtable.NewAdminClient(ctx, limited.Project, limited.Instance,
		limited.ClientOptions()...)
	if err != nil {
		return err
	}
	name := "go-quota-" + w.unique
	conf := &bigtable.TableConf{TableID: name,
		ColumnFamilies: map[string]bigtable.Family{"f": {GCPolicy: bigtable.NoGcPolicy()}}}
	if err := admin.CreateTableFromConf(ctx, conf); err != nil {
		return fmt.Errorf("create: %w", err)
	}
	err = writeUntilRefused(ctx, limited, name)
	// That takes its place among the writes, too.
	gone := eventually(ctx, func() error { return admin.DeleteTable(ctx, name) })
	return errors.Join(err, gone, admin.Close())
}

func writeUntilRefused(ctx context.Context, limited *target.Target, name string) error {
	var seen refusals
	client, err := newClientDialling(ctx, limited, grpc.WithChainUnaryInterceptor(seen.call),
		grpc.WithChainStreamInterceptor(seen.stream))
	if err != nil {
		return err
	}
	table := client.Open(name)
	alone := func(key string) error { return table.Apply(ctx, key, set("f", "q", 1000, "v")) }
	inBulk := func(key string) error {
		return putRows(ctx, table, key, key+".1", key+".2", key+".3", key+".4")
	}
	err = all(func() error { return refuse(ctx, table, "alone-", 1, &seen, alone) },
		func() error { return refuse(ctx, table, "bulk-", 5, &seen, inBulk) })
	return errors.Join(err, client.Close())
}

// refuse writes when the tenant owes seconds of writes, which the library waits for unseen.
func refuse(ctx context.Context, table *bigtable.Table, prefix string, rows int, seen *refusals,
	write func(key string) error) error {
	// One bulk passes on credit.
	const owed = 400
	keys := make([]string, owed)
	for i := range keys {
		keys[i] = fmt.Sprintf("%sowed-%03d", prefix, i)
	}
	if err := putRows(ctx, table, keys...); err != nil {
		return err
	}
	before := seen.count.Load()
	if err := write(prefix + "waits"); err != nil {
		return err
	}
	if seen.count.Load() == before {
		return fmt.Errorf("%s: nothing was refused", prefix)
	}
	found := 0
	err := table.ReadRows(ctx, bigtable.PrefixRange(prefix), func(bigtable.Row) bool {
		found++
		return true
	})
	return errors.Join(err, equal("rows of "+prefix, found, owed+rows))
}
