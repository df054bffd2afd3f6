package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestALookUpWithoutNetworkIsUnknownAndAFindingFails(t *testing.T) {
	var missing unknownError
	_, err := readAudit([]byte(`{"message":"request to https://example.org failed"}`), errors.New("exit status 1"))
	require.ErrorAs(t, err, &missing)
	_, err = readAudit([]byte(`{"auditReportVersion":2,"vulnerabilities":{"a":{"severity":"high"},"b":{"severity":"low"}}}`), errors.New("exit status 1"))
	require.EqualError(t, err, "a (high)")
	said, err := readAudit([]byte(`{"auditReportVersion":2,"vulnerabilities":{"b":{"severity":"low"}}}`), nil)
	require.NoError(t, err)
	require.Equal(t, "1 below high", said)

	_, err = vulnerableGo("/nonexistent/govulncheck")
	require.Error(t, err)
	require.False(t, errors.As(err, &missing), "a tool that is missing is no lack of network")
	require.True(t, noNetwork.MatchString("govulncheck: fetching vulnerabilities: dial tcp: lookup vuln.go.dev: no such host"))
}

func TestOnlyAcceptedLicencesPass(t *testing.T) {
	for _, ok := range []string{"MIT", "(MIT OR GPL-3.0)", "BSD-3-Clause", "Apache-2.0"} {
		require.True(t, accepted(ok), ok)
	}
	for _, bad := range []string{"", "GPL-3.0", "MIT AND GPL-3.0", "SEE LICENSE IN x"} {
		require.False(t, accepted(bad), bad)
	}
	_, err := licences([]part{{"a", "1", "", "GPL-3.0"}}, nil)
	require.ErrorContains(t, err, "a@1 (GPL-3.0)")
	require.False(t, strings.Contains(licenceIn(t.TempDir()), "MIT"))
}
