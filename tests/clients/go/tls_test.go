package clients

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"apus.test/clients/server"
	"github.com/redis/go-redis/v9"
)

// authority signs certificates for one test; its own is the file ca.crt in dir.
type authority struct {
	dir         string
	key         *ecdsa.PrivateKey
	certificate *x509.Certificate
	pool        *x509.CertPool
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{dir: t.TempDir(), pool: x509.NewCertPool()}
	a.certificate = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Test authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a.key = a.issue(t, "ca", a.certificate, nil)
	a.pool.AddCert(a.certificate)
	return a
}

// issue writes NAME.crt and NAME.key, signed by the authority, or by itself when there is no signer yet.
func (a *authority) issue(t *testing.T, name string, template *x509.Certificate, signer *ecdsa.PrivateKey) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	if signer == nil {
		signer = key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), signer)
	must(t, err)
	if a.key == nil {
		a.certificate, err = x509.ParseCertificate(der)
		must(t, err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	a.write(t, name+".crt", "CERTIFICATE", der)
	a.write(t, name+".key", "PRIVATE KEY", secret)
	return key
}

func (a *authority) leaf(t *testing.T, name string) {
	t.Helper()
	a.issue(t, name, &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}, a.key)
}

func (a *authority) path(name string) string { return filepath.Join(a.dir, name) }

func (a *authority) write(t *testing.T, name, kind string, der []byte) {
	t.Helper()
	text := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	must(t, os.WriteFile(a.path(name), text, 0o600))
}

func TestTLS(t *testing.T) {
	a := newAuthority(t)
	a.leaf(t, "server")
	a.leaf(t, "alice")
	port := server.FreePort(t)
	start(t, "--tls-port", port, "--tls-cert-file", a.path("server.crt"), "--tls-key-file", a.path("server.key"),
		"--tls-ca-cert-file", a.path("ca.crt"), "--tls-auth-clients", "optional", "--tls-auth-clients-user", "CN")
	shown, err := tls.LoadX509KeyPair(a.path("alice.crt"), a.path("alice.key"))
	must(t, err)

	client := func(protocol int, config *tls.Config) *redis.Client {
		r := redis.NewClient(&redis.Options{
			Addr: net.JoinHostPort("127.0.0.1", port), Protocol: protocol, MaxRetries: -1, TLSConfig: config,
			DialTimeout: patience, ReadTimeout: patience, WriteTimeout: patience, PoolTimeout: patience,
		})
		t.Cleanup(func() { _ = r.Close() })
		return r
	}
	for _, protocol := range []int{2, 3} {
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			t.Run(fmt.Sprintf("resp%d %s", protocol, tls.VersionName(version)), func(t *testing.T) {
				ctx, cancel := context.WithTimeout(context.Background(), patience)
				defer cancel()
				config := &tls.Config{
					RootCAs: a.pool, ServerName: "localhost", MinVersion: version, MaxVersion: version,
					ClientSessionCache: tls.NewLRUClientSessionCache(10),
				}
				r := client(protocol, config)
				must(t, r.FlushAll(ctx).Err())
				value := bytes.Repeat(everyByte(), 10_000)
				same(t, r.Set(ctx, "big", value, 0), "OK")
				same(t, r.Get(ctx, "big"), string(value))
				replies, err := r.Pipelined(ctx, func(p redis.Pipeliner) error {
					for range 5_000 {
						p.Incr(ctx, "n")
					}
					return nil
				})
				must(t, err)
				if last := replies[4_999].(*redis.IntCmd).Val(); last != 5_000 {
					t.Fatalf("the last INCR gave %d", last)
				}
				same(t, r.ACLWhoAmI(ctx), "default")

				// A second connection goes on with the session of the first; with TLS 1.2, Go can only do so with
				// tickets, and there are none.
				resumed := false
				config = config.Clone()
				config.VerifyConnection = func(state tls.ConnectionState) error {
					resumed = state.DidResume
					return nil
				}
				same(t, client(protocol, config).Ping(ctx), "PONG")
				if resumed != (version == tls.VersionTLS13) {
					t.Fatalf("resumed: %v", resumed)
				}

				must(t, r.Do(ctx, "ACL", "SETUSER", "alice", "reset", "on", "~*", "+@all").Err())
				named := &tls.Config{RootCAs: a.pool, ServerName: "localhost", Certificates: []tls.Certificate{shown}}
				same(t, client(protocol, named).ACLWhoAmI(ctx), "alice")
				if err := client(protocol, &tls.Config{ServerName: "localhost"}).Ping(ctx).Err(); err == nil {
					t.Fatal("a client that does not know the authority was content")
				}
			})
		}
	}
}
