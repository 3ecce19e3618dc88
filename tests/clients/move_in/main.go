// Tables of the official emulator, filled with the official client's stubs, move into a server with
// `bigtent move-in`, and are read from both with the same stubs.
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	adminpb "cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	pb "cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"

	"bigtent/tests/clients/target"
)

const (
	sourceTable = "moving-source"
	targetTable = "moving-target"
	rowCount    = 500
	deadline    = 2 * time.Minute
)

// A side is a tenant at a server.
type side struct {
	target *target.Target
	conn   *grpc.ClientConn
	data   pb.BigtableClient
	admin  adminpb.BigtableTableAdminClient
}

func openSide(t *target.Target) (*side, error) {
	conn, err := t.Dial()
	if err != nil {
		return nil, err
	}
	return &side{target: t, conn: conn, data: pb.NewBigtableClient(conn),
		admin: adminpb.NewBigtableTableAdminClient(conn)}, nil
}

// startEmulator runs the official emulator on a free port until stop is called.
func startEmulator(path string) (s *side, stop func(), err error) {
	command := exec.Command(path, "-address", "127.0.0.1:0")
	command.Stderr = io.Discard
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := command.Start(); err != nil {
		return nil, nil, err
	}
	stop = func() {
		_ = command.Process.Signal(os.Interrupt) // it may have ended by itself
		_ = command.Wait()                       // its exit code says nothing
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	_, address, found := strings.Cut(strings.TrimSpace(line), " running on ")
	if err != nil || !found {
		stop()
		return nil, nil, fmt.Errorf("the emulator says %q: %w", line, err)
	}
	s, err = openSide(&target.Target{Endpoint: address, Project: "p", Instance: "i", Emulated: true})
	if err != nil {
		stop()
		return nil, nil, err
	}
	return s, stop, nil
}

func set(family string, qualifier []byte, micros int64, value []byte) *pb.Mutation {
	return &pb.Mutation{Mutation: &pb.Mutation_SetCell_{SetCell: &pb.Mutation_SetCell{
		FamilyName: family, ColumnQualifier: qualifier, TimestampMicros: micros, Value: value}}}
}

// fill makes a table with binary keys, versions, an empty qualifier, empty values and a large one.
func (s *side) fill(ctx context.Context) error {
	versions := &adminpb.GcRule{Rule: &adminpb.GcRule_MaxNumVersions{MaxNumVersions: 9}}
	_, err := s.admin.CreateTable(ctx, &adminpb.CreateTableRequest{
		Parent: s.target.InstanceName(), TableId: sourceTable,
		Table: &adminpb.Table{ColumnFamilies: map[string]*adminpb.ColumnFamily{
			"f": {GcRule: versions}, "g": {}, "unused": {}}}})
	if err != nil {
		return err
	}
	for i := 0; i < rowCount; i++ {
		key := append([]byte{byte(i), 0, 0xff}, fmt.Sprintf("#%03d", i)...)
		mutations := []*pb.Mutation{
			set("f", []byte("q"), 1000, []byte(fmt.Sprintf("first %d", i))),
			set("f", []byte("q"), 2000, nil),
			set("f", []byte{0, 0xff}, 3000, []byte{0xff, 0, byte(i)}),
			set("g", nil, 0, bytes.Repeat([]byte{byte(i)}, i)),
		}
		if i == 7 {
			mutations = append(mutations, set("g", []byte("large"), 5000, make([]byte, 3<<20)))
		}
		_, err := s.data.MutateRow(ctx, &pb.MutateRowRequest{
			TableName: s.target.TableName(sourceTable), RowKey: key, Mutations: mutations})
		if err != nil {
			return err
		}
	}
	return nil
}

// cells are all cells of a table, each with its name.
func (s *side) cells(ctx context.Context, table string) (map[string]string, error) {
	stream, err := s.data.ReadRows(ctx, &pb.ReadRowsRequest{TableName: s.target.TableName(table)})
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	var key, qualifier, value []byte
	var family string
	var micros int64
	inCell := false
	for {
		response, err := stream.Recv()
		if err == io.EOF {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
		for _, chunk := range response.Chunks {
			if len(chunk.RowKey) > 0 {
				key = chunk.RowKey
			}
			if chunk.FamilyName != nil {
				family = chunk.FamilyName.Value
			}
			if chunk.Qualifier != nil {
				qualifier = chunk.Qualifier.Value
			}
			if !inCell {
				micros, value = chunk.TimestampMicros, nil
			}
			value = append(value, chunk.Value...)
			if inCell = chunk.ValueSize > 0; !inCell {
				name := fmt.Sprintf("%q %s:%q@%d", key, family, qualifier, micros)
				if _, twice := found[name]; twice {
					return nil, fmt.Errorf("%s comes twice", name)
				}
				found[name] = string(value)
			}
		}
	}
}

// move runs bigtent; what it says is the error when it does not exit with 0.
func move(args ...string) error {
	command := exec.Command("bigtent", append([]string{"move-in"}, args...)...)
	said, err := command.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(said))
	}
	return nil
}

func compare(ctx context.Context, source, there *side) error {
	wanted, err := source.cells(ctx, sourceTable)
	if err != nil {
		return err
	}
	found, err := there.cells(ctx, targetTable)
	if err != nil {
		return err
	}
	if len(wanted) != 4*rowCount+1 || len(found) != len(wanted) {
		return fmt.Errorf("%d cells moved, of %d", len(found), len(wanted))
	}
	for name, value := range wanted {
		if other, there := found[name]; !there || other != value {
			return fmt.Errorf("%s differs", name)
		}
	}
	return nil
}

func compareRules(ctx context.Context, there *side) error {
	table, err := there.admin.GetTable(ctx, &adminpb.GetTableRequest{
		Name: there.target.TableName(targetTable), View: adminpb.Table_SCHEMA_VIEW})
	if err != nil {
		return err
	}
	families := table.ColumnFamilies
	if len(families) != 3 || families["f"].GetGcRule().GetMaxNumVersions() != 9 {
		return fmt.Errorf("the table has the families %v", families)
	}
	return nil
}

// check prints what came of one; the others make no sense behind a failure.
func check(name string, err error) error {
	if err != nil {
		fmt.Printf("not ok %s: %s\n", name, strings.ReplaceAll(err.Error(), "\n", "; "))
		return err
	}
	fmt.Printf("ok %s\n", name)
	return nil
}

func moveAll(ctx context.Context, there *side, emulator, mapPath string) error {
	source, stop, err := startEmulator(emulator)
	if err != nil {
		return check("emulator_starts", err)
	}
	defer stop()
	text := fmt.Sprintf("sources: [{from_table: %s, tenant: %s, table: %s}]\n",
		source.target.TableName(sourceTable), there.target.Project, targetTable)
	if err := os.WriteFile(mapPath, []byte(text), 0o600); err != nil {
		return check("mapping_is_written", err)
	}
	from := []string{mapPath, "--from-service", "http://" + source.target.Endpoint}
	defer func() {
		// It may not have been made.
		_, _ = there.admin.DeleteTable(context.Background(),
			&adminpb.DeleteTableRequest{Name: there.target.TableName(targetTable)})
	}()
	for _, step := range []struct {
		name string
		run  func() error
	}{
		{"emulator_is_filled", func() error { return source.fill(ctx) }},
		{"move_in_rehearses", func() error { return move(append(from, "--dry-run")...) }},
		{"move_in_moves_and_verifies", func() error { return move(append(from, "--verify")...) }},
		{"moved_cells_are_the_emulators", func() error { return compare(ctx, source, there) }},
		{"moved_table_has_the_emulators_rules", func() error { return compareRules(ctx, there) }},
		{"move_in_verifies_again", func() error {
			return move(append(from, "--resume", "--verify")...)
		}},
	} {
		if err := check(step.name, step.run()); err != nil {
			return err
		}
	}
	return nil
}

// In plaintext there is no key to move anything with.
func refuseCredential(mapPath string) error {
	if err := os.WriteFile(mapPath, []byte("any-credential\n"), 0o600); err != nil {
		return check("credential_is_written", err)
	}
	err := move(mapPath, "--from-service", "http://"+os.Getenv("BIGTABLE_EMULATOR_HOST"),
		"--from-key-file", mapPath, "--key-file", mapPath)
	if err == nil || !strings.Contains(err.Error(), "goes with https only") {
		return check("credential_is_not_sent_in_plaintext", errors.Join(errors.New("it is"), err))
	}
	return check("credential_is_not_sent_in_plaintext", nil)
}

func run(emulator string) error {
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	directory, err := os.MkdirTemp("", "bigtent-move-in-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(directory)
	here, err := target.FromEnvironment()
	if err != nil {
		return err
	}
	mapPath := filepath.Join(directory, "map.yaml")
	if here.Emulated {
		return refuseCredential(mapPath)
	}
	there, err := openSide(here)
	if err != nil {
		return err
	}
	return moveAll(ctx, there, emulator, mapPath)
}

func main() {
	emulator := flag.String("emulator", "", "the official emulator's program")
	flag.Parse()
	if err := run(*emulator); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
