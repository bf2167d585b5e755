package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// identities are the users that the API server knows by a token, with their groups. RBAC has roles for the
// components already; user-N has no rights until a test gives it some.
const (
	plainUsers      = 20
	certificateLife = 10 * 365 * 24 * time.Hour
)

var identities = func() map[string]string {
	all := map[string]string{
		"admin":                          "system:masters",
		"system:kube-controller-manager": "",
		"system:kube-scheduler":          "",
		"kwok":                           "system:masters",
	}
	for n := 1; n <= plainUsers; n++ {
		all[fmt.Sprintf("user-%d", n)] = ""
	}
	return all
}()

// credentials are the files that prove who is who in one cluster.
type credentials struct {
	dir    string
	tokens map[string]string // by user
	caPEM  []byte
}

func (c *credentials) path(name string) string { return filepath.Join(c.dir, name) }

func newCredentials(dir string) (*credentials, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	c := &credentials{dir: dir, tokens: map[string]string{}}
	return c, errors.Join(c.writeTokens(), c.writeServingCertificate(), c.writeServiceAccountKey())
}

func (c *credentials) writeTokens() error {
	var table strings.Builder
	for user, groups := range identities {
		secret := make([]byte, 16)
		rand.Read(secret)
		c.tokens[user] = hex.EncodeToString(secret)
		fmt.Fprintf(&table, "%s,%s,%s,%q\n", c.tokens[user], user, user, groups)
	}
	return os.WriteFile(c.path("tokens.csv"), []byte(table.String()), 0o600)
}

// writeServingCertificate makes an authority and a certificate under it. They are two, because strict clients
// accept no authority as a server.
func (c *credentials) writeServingCertificate() error {
	authorityKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	authority := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "testbed-ca"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(certificateLife),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign,
	}
	if c.caPEM, err = signedPEM(authority, authority, authorityKey, authorityKey); err != nil {
		return err
	}
	serverKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	server, err := signedPEM(&x509.Certificate{
		SerialNumber: big.NewInt(2),
		Subject:      pkix.Name{CommonName: "testbed"},
		NotBefore:    authority.NotBefore,
		NotAfter:     authority.NotAfter,
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:     []string{"localhost"},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
	}, authority, serverKey, authorityKey)
	return errors.Join(err,
		os.WriteFile(c.path("ca.crt"), c.caPEM, 0o600),
		os.WriteFile(c.path("server.crt"), server, 0o600),
		writeKey(c.path("server.key"), serverKey),
	)
}

func signedPEM(certificate, parent *x509.Certificate, key, parentKey *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.CreateCertificate(rand.Reader, certificate, parent, key.Public(), parentKey)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), err
}

func (c *credentials) writeServiceAccountKey() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	return writeKey(c.path("service-accounts.key"), key)
}

func writeKey(path string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600)
}

// writeKubeconfigs makes one file per identity in a folder and returns their paths by user.
func (c *credentials) writeKubeconfigs(dir, server string) (map[string]string, error) {
	paths := map[string]string{}
	for user, token := range c.tokens {
		paths[user] = filepath.Join(dir, strings.ReplaceAll(user, ":", "-")+".kubeconfig")
		if err := c.writeKubeconfig(paths[user], server, user, token); err != nil {
			return nil, err
		}
	}
	return paths, nil
}

func (c *credentials) writeKubeconfig(path, server, user, token string) error {
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters:
- name: testbed
  cluster:
    server: %s
    certificate-authority-data: %s
users:
- name: %q
  user:
    token: %s
contexts:
- name: testbed
  context:
    cluster: testbed
    user: %q
current-context: testbed
`, server, base64.StdEncoding.EncodeToString(c.caPEM), user, token, user)
	return os.WriteFile(path, []byte(text), 0o600)
}
