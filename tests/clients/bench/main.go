// Load for a server of Cloud Bigtable's protocol: rates of point reads, point writes and scans.
//
//	load TOOLS_DIR [-mode all] [-seconds 10] [-rows 20000]
//
// It speaks gRPC with stubs and connections of its own, so that every server gets the very same
// work from it: no channel pool, no retries. Answers are looked at once before the time is taken,
// and from then on only their size is: a client on the same machine should not be what is measured.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"

	"bigtent/tests/clients/target"
)

var (
	mode    = flag.String("mode", "all", "all, or how a mode's name begins: read, scan-1x1")
	seconds = flag.Float64("seconds", 10, "how long each mode runs")
	rows    = flag.Int("rows", 20000, "rows of 1 KiB in the table")
)

// A load is one way to ask, at so many connections with so many streams on each at a time.
type load struct {
	name        string
	connections int
	streams     int
	// ask does one request and gives how many rows it was about.
	ask func(context.Context, *table, *grpc.ClientConn, *rand.Rand) (int, error)
}

var loads = []load{
	{"read-16x32", 16, 32, readOne},
	{"read-64x1", 64, 1, readOne},
	{"write-16x32", 16, 32, writeOne},
	{"write-64x1", 64, 1, writeOne},
	{"scan-1x1", 1, 1, scanAll},
	{"scan-4x1", 4, 1, scanAll},
}

// A worker's share of the result.
type share struct {
	latencies []time.Duration
	rows      int
	err       error
}

func (l load) work(ctx context.Context, t *table, conn *grpc.ClientConn, seed uint64,
	end time.Time) share {
	random := rand.New(rand.NewPCG(1, seed))
	var s share
	for time.Now().Before(end) {
		began := time.Now()
		count, err := l.ask(ctx, t, conn, random)
		if err != nil {
			s.err = err
			return s
		}
		s.rows += count
		s.latencies = append(s.latencies, time.Since(began))
	}
	return s
}

func dialAll(t *target.Target, count int) ([]*grpc.ClientConn, func(), error) {
	var conns []*grpc.ClientConn
	closeAll := func() {
		for _, conn := range conns {
			_ = conn.Close() // nothing is under way
		}
	}
	for range count {
		conn, err := t.Dial()
		if err != nil {
			closeAll()
			return nil, nil, err
		}
		conns = append(conns, conn)
	}
	return conns, closeAll, nil
}

func (l load) run(ctx context.Context, t *table) error {
	conns, closeAll, err := dialAll(t.target, l.connections)
	if err != nil {
		return err
	}
	defer closeAll()
	for _, conn := range conns {
		// The first request opens the connection; it is not counted.
		if _, err := l.ask(ctx, t, conn, rand.New(rand.NewPCG(2, 0))); err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
	}
	began := time.Now()
	end := began.Add(time.Duration(*seconds * float64(time.Second)))
	shares := make([]share, l.connections*l.streams)
	var done sync.WaitGroup
	for i := range shares {
		done.Go(func() {
			shares[i] = l.work(ctx, t, conns[i%l.connections], uint64(i), end)
		})
	}
	done.Wait()
	return l.report(shares, time.Since(began))
}

func (l load) report(shares []share, took time.Duration) error {
	var latencies []time.Duration
	total := 0
	for _, s := range shares {
		if s.err != nil {
			return fmt.Errorf("%s: %w", l.name, s.err)
		}
		latencies = append(latencies, s.latencies...)
		total += s.rows
	}
	slices.Sort(latencies)
	at := func(share float64) time.Duration {
		return latencies[min(int(share*float64(len(latencies))), len(latencies)-1)]
	}
	rate := func(count int) float64 { return float64(count) / took.Seconds() }
	fmt.Printf("%-12s %9.0f requests/s %10.0f rows/s %8.1f MiB/s  p50 %v p99 %v\n", l.name,
		rate(len(latencies)), rate(total), rate(total)*valueBytes/(1<<20),
		at(0.5).Round(time.Microsecond), at(0.99).Round(time.Microsecond))
	return nil
}

func run(ctx context.Context) error {
	t, err := target.FromEnvironment()
	if err != nil {
		return err
	}
	var chosen []load
	for _, l := range loads {
		if *mode == "all" || strings.HasPrefix(l.name, *mode) {
			chosen = append(chosen, l)
		}
	}
	if len(chosen) == 0 || *rows < 1 || *seconds <= 0 {
		return fmt.Errorf("nothing to do: -mode %s -rows %d -seconds %g", *mode, *rows, *seconds)
	}
	table, err := newTable(ctx, t, *rows)
	if err != nil {
		return err
	}
	for _, l := range chosen {
		if err = l.run(ctx, table); err != nil {
			break
		}
	}
	if dropErr := table.drop(ctx); err == nil {
		err = dropErr
	}
	return err
}

func main() {
	flag.Parse()
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}
