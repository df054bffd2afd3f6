package gitstate_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/gitstate"
)

// sshd is the system's server of ssh on loopback, for the user that runs the test.
type sshd struct {
	dir, address string
}

// serveSSH starts one. It knows the key that it makes, and no password.
func serveSSH(t *testing.T) sshd {
	t.Helper()
	server := "/usr/sbin/sshd" // it wants its whole path
	for _, program := range []string{server, "ssh", "ssh-keygen"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed: push over ssh is shown by a stand-in for ssh only (apt-get install openssh-server openssh-client)", program)
		}
	}
	who, err := user.Current()
	require.NoError(t, err)
	s := sshd{dir: t.TempDir()}
	for _, key := range []string{"host", "key", "stranger"} {
		out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", s.at(key)).CombinedOutput()
		require.NoError(t, err, string(out))
	}
	put(t, s.at("authorized"), s.read(t, "key.pub"))
	if os.Geteuid() == 0 {
		require.NoError(t, os.MkdirAll("/run/sshd", 0o755)) // sshd of root refuses to start without it
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	put(t, s.at("sshd_config"), fmt.Sprintf("HostKey %s\nAuthorizedKeysFile %s\nPidFile none\nStrictModes no\nUsePAM no\n"+
		"PermitRootLogin yes\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n", s.at("host"), s.at("authorized")))
	s.address = "ssh://" + who.Username + "@" + address
	put(t, s.at("known"), "[127.0.0.1]:"+port+" "+s.read(t, "host.pub"))
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { s.serve(server, conn.(*net.TCPConn)) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		serving.Wait()
	})
	return s
}

// serve gives a connection to a server of its own, as inetd does.
func (s sshd) serve(program string, conn *net.TCPConn) {
	file, err := conn.File()
	_ = conn.Close()
	if err != nil {
		return
	}
	cmd := exec.Command(program, "-i", "-e", "-f", s.at("sshd_config"))
	cmd.Stdin, cmd.Stdout = file, file
	_ = cmd.Run() // the client says what it came to
	_ = file.Close()
}

func (s sshd) at(name string) string { return filepath.Join(s.dir, name) }

func (s sshd) read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(s.at(name))
	require.NoError(t, err)
	return string(text)
}

// client is a configuration of git in which ssh knows a key and hosts. BatchMode is not set,
// as in a person's own: nothing else keeps ssh from asking.
func (s sshd) client(t *testing.T, key, known string) string {
	t.Helper()
	put(t, s.at("config-"+key+known), fmt.Sprintf("Host *\n IdentityFile %s\n IdentitiesOnly yes\n IdentityAgent none\n UserKnownHostsFile %s\n GlobalKnownHostsFile none\n", s.at(key), s.at(known)))
	return "[core]\n\tsshCommand = ssh -F " + s.at("config-"+key+known) + "\n"
}

// A real sshd takes a push with a key that it knows. Where ssh would ask something, the push fails
// at once with the words of ssh.
func TestAPushOverSSHUsesThePersonsKeyAndAsksNothing(t *testing.T) {
	s := serveSSH(t)
	bare := filepath.Join(t.TempDir(), "a proj.git")
	plain(t, "/", "init", "-q", "--bare", bare)
	remote := s.address + strings.ReplaceAll(bare, " ", "%20")
	there := func() string {
		return strings.TrimSpace(plain(t, bare, "for-each-ref", "--format=%(refname) %(objectname)"))
	}

	for name, config := range map[string]string{
		"Permission denied (publickey)": s.client(t, "stranger", "known"),
		"Host key verification failed":  s.client(t, "key", "unknown"),
	} {
		owner(t, config)
		_, err := push(t, pushing(t, remote))
		var not *gitstate.NotPushed
		require.ErrorAs(t, err, &not)
		require.Contains(t, not.Said, name)
		require.Empty(t, there())
	}

	owner(t, s.client(t, "key", "known"))
	dir := pushing(t, remote)
	for _, file := range []string{"a", "b"} {
		head := commit(t, dir, file, "pushed "+file)
		made, err := push(t, dir)
		require.NoError(t, err)
		require.Equal(t, head, made.After)
		require.Equal(t, "refs/heads/work "+head, there())
	}
	plain(t, dir, "reset", "-q", "--hard", "HEAD~1")
	commit(t, dir, "b", "another")
	_, err := push(t, dir)
	var not *gitstate.NotPushed
	require.ErrorAs(t, err, &not)
	require.True(t, not.Behind, not.Said)
}
