// Random programs, run on the official emulator and on a server: every answer must be the same.
//
//	run TOOLS_DIR [-list] [-operations 40]
//
// COUNT programs (200) from SEED (the clock, printed). A difference is made as short as can be and
// printed. Where the emulator is wrong on purpose is in known.go; -list prints it.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"time"

	"bigtent/tests/clients/target"
)

var (
	emulatorPath = flag.String("emulator", "", "the program of the official emulator")
	list         = flag.Bool("list", false, "print the known differences as rows of a Markdown table")
	operations   = flag.Int("operations", 40, "operations of a program")
)

// A pair of servers that should answer alike.
type pair struct {
	emulator, other *server
	unique          string
	tables          int
}

// A difference is the first answer that is not the same.
type difference struct {
	at        int
	emulator  string
	candidate string
}

func (p *pair) compare(ctx context.Context, program []operation) (*difference, error) {
	p.tables++
	table := fmt.Sprintf("diff-%s-%d", p.unique, p.tables)
	expected, err := p.emulator.run(ctx, table, program)
	if err != nil {
		return nil, err
	}
	got, err := p.other.run(ctx, table, program)
	if err != nil {
		return nil, err
	}
	for i := range program {
		if expected[i] != got[i] {
			return &difference{i, expected[i], got[i]}, nil
		}
	}
	return nil, nil
}

// search runs programs until one differs; it gives that one, as short as can be.
func (p *pair) search(ctx context.Context, seed uint64, count int) (string, error) {
	for i := range count {
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		program := drawProgram(random, *operations)
		first, err := p.compare(ctx, program)
		if err != nil {
			return "", err
		}
		if first == nil {
			continue
		}
		return p.explain(ctx, program[:first.at+1], i)
	}
	return "", nil
}

func (p *pair) explain(ctx context.Context, program []operation, number int) (string, error) {
	short, err := shrink(program, func(candidate []operation) (bool, error) {
		d, err := p.compare(ctx, candidate)
		return d != nil, err
	})
	if err != nil {
		return "", err
	}
	d, err := p.compare(ctx, short)
	if err != nil {
		return "", err
	}
	if d == nil {
		return fmt.Sprintf("program %d differs now and then:\n%s", number, programText(program)), nil
	}
	return fmt.Sprintf("program %d, shrunk to %d operations:\n%s\n     answer %d\nemulator %s\n"+
		"  server %s", number, len(short), programText(short), d.at, d.emulator, d.candidate), nil
}

func numberFromEnvironment(name string, fallback uint64) (uint64, error) {
	text := os.Getenv(name)
	if text == "" {
		return fallback, nil
	}
	return strconv.ParseUint(text, 10, 64)
}

// noticesPlanted runs two emulators against one another, one of which is made to forget.
func noticesPlanted(ctx context.Context, emulator *server, unique string, seed uint64) error {
	forgetful, stop, err := startEmulator(*emulatorPath, emulator.target.Project)
	if err != nil {
		return err
	}
	defer stop()
	forgetful.forgetful = true
	p := &pair{emulator: emulator, other: forgetful, unique: unique + "p"}
	report, err := p.search(ctx, seed, 50)
	if err != nil {
		return err
	}
	if report == "" {
		return fmt.Errorf("a server that forgets mutations passed")
	}
	return nil
}

func result(name string, err error) bool {
	if err != nil {
		fmt.Printf("not ok %s: %v\n", name, err)
		return false
	}
	fmt.Println("ok", name)
	return true
}

func compareServers(ctx context.Context) (bool, error) {
	count, err := numberFromEnvironment("COUNT", 200)
	if err != nil {
		return false, fmt.Errorf("COUNT: %w", err)
	}
	seed, err := numberFromEnvironment("SEED", uint64(time.Now().UnixNano()))
	if err != nil {
		return false, fmt.Errorf("SEED: %w", err)
	}
	t, err := target.FromEnvironment()
	if err != nil {
		return false, err
	}
	other, err := openServer(t)
	if err != nil {
		return false, err
	}
	emulator, stop, err := startEmulator(*emulatorPath, t.Project)
	if err != nil {
		return false, err
	}
	defer stop()
	unique := strconv.FormatInt(time.Now().UnixNano(), 36)
	fmt.Printf("# COUNT=%d SEED=%d\n", count, seed)
	noticed := result("differential_notices_a_planted_difference",
		noticesPlanted(ctx, emulator, unique, seed))
	noticed = result("differential_known_differences_hold",
		claimsHold(ctx, other, unique)) && noticed
	p := &pair{emulator: emulator, other: other, unique: unique}
	report, err := p.search(ctx, seed, int(count))
	if err == nil && report != "" {
		err = fmt.Errorf("SEED=%d: %s", seed, report)
	}
	return result("differential_programs_answer_alike", err) && noticed, nil
}

func main() {
	flag.Parse()
	if *list {
		listKnown()
		return
	}
	ok, err := compareServers(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, "differential:", err)
	}
	if !ok {
		os.Exit(1)
	}
}
