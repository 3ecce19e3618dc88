// Package target says which server the programs of tests/clients talk to, from the environment:
// BIGTENT_ENDPOINT, BIGTENT_CA and BIGTENT_KEY, or BIGTABLE_EMULATOR_HOST alone; and
// BIGTENT_PROJECT and BIGTENT_INSTANCE in both cases.
package target

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"

	"golang.org/x/oauth2"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// MessageBytesMax is what official clients accept in one message.
const MessageBytesMax = 1 << 28

// Target is one tenant at one server.
type Target struct {
	Endpoint string
	Project  string
	Instance string
	// Emulated means no TLS and no key.
	Emulated bool

	key   string
	roots *x509.CertPool
}

// FromEnvironment reads where the server is and who the tenant is.
func FromEnvironment() (*Target, error) {
	t := &Target{
		Project:  os.Getenv("BIGTENT_PROJECT"),
		Instance: os.Getenv("BIGTENT_INSTANCE"),
		Endpoint: os.Getenv("BIGTENT_ENDPOINT"),
		key:      os.Getenv("BIGTENT_KEY"),
	}
	if t.Project == "" {
		return nil, errors.New("BIGTENT_PROJECT is not set")
	}
	if t.Instance == "" {
		t.Instance = "main"
	}
	if emulator := os.Getenv("BIGTABLE_EMULATOR_HOST"); emulator != "" {
		if t.Endpoint != "" {
			return nil, errors.New("both BIGTENT_ENDPOINT and BIGTABLE_EMULATOR_HOST are set")
		}
		t.Endpoint, t.Emulated = emulator, true
		return t, nil
	}
	if t.Endpoint == "" || t.key == "" {
		return nil, errors.New("BIGTENT_ENDPOINT and BIGTENT_KEY, or BIGTABLE_EMULATOR_HOST")
	}
	return t, t.readRoots(os.Getenv("BIGTENT_CA"))
}

func (t *Target) readRoots(path string) error {
	pem, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("BIGTENT_CA: %w", err)
	}
	t.roots = x509.NewCertPool()
	if !t.roots.AppendCertsFromPEM(pem) {
		return fmt.Errorf("BIGTENT_CA: no certificate in %s", path)
	}
	return nil
}

// Limited is the tenant with a low rate of writes, if the environment names one.
func (t *Target) Limited() (*Target, bool) {
	limited := *t
	limited.Project = os.Getenv("BIGTENT_LIMITED_PROJECT")
	limited.key = os.Getenv("BIGTENT_LIMITED_KEY")
	return &limited, limited.Project != "" && (limited.key != "" || t.Emulated)
}

// WithKey is the same tenant called upon with another key.
func (t *Target) WithKey(key string) *Target {
	other := *t
	other.key = key
	return &other
}

// WithProject is another project called upon with the same key.
func (t *Target) WithProject(project string) *Target {
	other := *t
	other.Project = project
	return &other
}

// InstanceName is projects/P/instances/I.
func (t *Target) InstanceName() string {
	return "projects/" + t.Project + "/instances/" + t.Instance
}

// TableName is the full name of a table.
func (t *Target) TableName(table string) string {
	return t.InstanceName() + "/tables/" + table
}

func (t *Target) transport() credentials.TransportCredentials {
	if t.Emulated {
		return insecure.NewCredentials()
	}
	return credentials.NewTLS(&tls.Config{RootCAs: t.roots, MinVersion: tls.VersionTLS12})
}

// ClientOptions are the options of an official client. With BIGTABLE_EMULATOR_HOST the client needs
// none: it reads the variable itself.
func (t *Target) ClientOptions() []option.ClientOption {
	if t.Emulated {
		return nil
	}
	return []option.ClientOption{
		option.WithEndpoint(t.Endpoint),
		option.WithTokenSource(oauth2.StaticTokenSource(&oauth2.Token{AccessToken: t.key})),
		option.WithGRPCDialOption(grpc.WithTransportCredentials(t.transport())),
	}
}

type bearer string

func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}

func (b bearer) RequireTransportSecurity() bool { return true }

// Dial opens one connection for generated stubs, with nothing of a client library around it.
func (t *Target) Dial(more ...grpc.DialOption) (*grpc.ClientConn, error) {
	options := append([]grpc.DialOption{
		grpc.WithTransportCredentials(t.transport()),
		grpc.WithDefaultCallOptions(grpc.MaxCallSendMsgSize(MessageBytesMax),
			grpc.MaxCallRecvMsgSize(MessageBytesMax)),
	}, more...)
	if !t.Emulated {
		options = append(options, grpc.WithPerRPCCredentials(bearer(t.key)))
	}
	return grpc.NewClient(t.Endpoint, options...)
}
