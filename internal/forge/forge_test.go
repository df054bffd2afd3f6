package forge_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/forge"
)

func TestThePageOfAPullRequestByTheRemotesAddress(t *testing.T) {
	const (
		gitHub    = "https://github.com/ann/pot/compare/main...work/a%23b?body=why&expand=1&title=Trim+it"
		gitLab    = "/-/merge_requests/new?merge_request%5Bdescription%5D=why&merge_request%5Bsource_branch%5D=work%2Fa%23b&merge_request%5Btarget_branch%5D=main&merge_request%5Btitle%5D=Trim+it"
		bitbucket = "https://bitbucket.org/ann/pot/pull-requests/new?description=why&dest=main&source=work%2Fa%23b&title=Trim+it"
	)
	for _, one := range []struct{ remote, kind, want string }{
		{"https://github.com/ann/pot.git", "", gitHub},
		{"https://ann:hunter2@github.com/ann/pot", "", gitHub},
		{"git@github.com:ann/pot.git", "", gitHub},
		{"ssh://git@ssh.github.com:443/ann/pot.git", "", gitHub},
		{"git@gitlab.com:group/sub/group/pot.git", "", "https://gitlab.com/group/sub/group/pot" + gitLab},
		{"https://gitlab.com/ann/pot/", "", "https://gitlab.com/ann/pot" + gitLab},
		{"https://codeberg.org/ann/pot.git", "", strings.Replace(gitHub, "github.com", "codeberg.org", 1)},
		{"ssh://git@bitbucket.org/ann/pot.git", "", bitbucket},
		{"https://ann@bitbucket.org/ann/pot.git", "", bitbucket},
		{"https://git.example.org:3000/ann/pot.git", "", ""},
		{"https://me:hunter2@git.example.org:3000/ann/pot.git", "gitea", strings.Replace(gitHub, "github.com", "git.example.org:3000", 1)},
		{"ssh://git@git.example.org:2222/ann/pot.git", "gitlab", "https://git.example.org/ann/pot" + gitLab},
		{"git@github.com:ann/pot.git", "gitlab", gitHub},
		{"https://github.com/pot", "", ""}, {"/srv/git/pot", "gitlab", ""}, {"../pot", "gitlab", ""}, {"file:///srv/a.b/c", "gitlab", ""}, {"ext::sh -c x", "github", ""}, {"", "github", ""},
	} {
		got := forge.PullRequest{Remote: one.remote, Kind: one.kind, Branch: "work/a#b", Base: "main", Title: "Trim it", Body: "why"}.Page()
		require.Equal(t, one.want, got, one.remote)
	}
	short := forge.PullRequest{Remote: "git@github.com:ann/pot", Branch: "work"}.Page()
	require.Equal(t, "https://github.com/ann/pot/compare/work?expand=1", short)

	long, err := url.Parse(forge.PullRequest{Remote: "git@github.com:ann/pot", Branch: "work", Title: "t", Body: strings.Repeat("é", 9000)}.Page())
	require.NoError(t, err)
	require.LessOrEqual(t, len(long.String()), 6000)
	require.Regexp(t, "^é{500,}…$", long.Query().Get("body"))
}
