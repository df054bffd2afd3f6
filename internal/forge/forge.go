// Package forge knows the pages of the hosts of git repositories.
package forge

import (
	"net/url"
	"strings"
)

// The kinds of hosts.
const (
	GitHub    = "github"
	GitLab    = "gitlab"
	Gitea     = "gitea" // and Forgejo
	Bitbucket = "bitbucket"
)

// Kinds lists the kinds of hosts.
func Kinds() []string { return []string{GitHub, GitLab, Gitea, Bitbucket} }

// mostAddress bounds a page's address, in bytes; hosts refuse longer ones.
const mostAddress = 6000

// PullRequest is a request to merge a branch.
type PullRequest struct {
	// Remote is the address of the repository. User and password in it are left out.
	Remote string
	// Branch is to be merged into Base; empty is the repository's main branch.
	Branch, Base string
	Title, Body  string
	// Kind is that of a host which is not known by its name.
	Kind string
}

// Page is the page that makes the request, filled in; empty for a host that is not known.
// A long body is cut.
func (p PullRequest) Page() string {
	page := p.page()
	for body := []rune(p.Body); len(page) > mostAddress && len(body) > 0; page = p.page() {
		body = body[:len(body)*3/4]
		p.Body = string(body) + "…"
		if len(body) == 0 {
			p.Body = ""
		}
	}
	return page
}

func (p PullRequest) page() string {
	web := Web(p.Remote)
	page, err := url.Parse(web)
	if web == "" || err != nil || strings.Count(strings.Trim(page.Path, "/"), "/") < 1 {
		return ""
	}
	kind := kindOf(page.Hostname())
	if kind == "" {
		kind = p.Kind
	}
	var fields map[string]string
	switch kind {
	case GitHub, Gitea:
		between := p.Branch
		if p.Base != "" {
			between = p.Base + "..." + p.Branch
		}
		page.Path += "/compare/" + between
		fields = map[string]string{"expand": "1", "title": p.Title, "body": p.Body}
	case GitLab:
		page.Path += "/-/merge_requests/new"
		fields = map[string]string{
			"merge_request[source_branch]": p.Branch, "merge_request[target_branch]": p.Base,
			"merge_request[title]": p.Title, "merge_request[description]": p.Body,
		}
	case Bitbucket:
		page.Path += "/pull-requests/new"
		fields = map[string]string{"source": p.Branch, "dest": p.Base, "title": p.Title, "description": p.Body}
	default:
		return ""
	}
	query := url.Values{}
	for name, value := range fields {
		if value != "" {
			query.Set(name, value)
		}
	}
	page.RawQuery = query.Encode()
	return page.String()
}

// Web is the page of a repository by its remote's address, without user and password;
// empty where that is no host's.
func Web(remote string) string {
	host, path := hostAndPath(remote)
	path = strings.TrimSuffix(strings.Trim(path, "/"), ".git")
	if host == "" || path == "" || !strings.Contains(host, ".") || strings.HasPrefix(remote, "/") || strings.HasPrefix(remote, ".") || strings.HasPrefix(remote, "file:") {
		return ""
	}
	page := url.URL{Scheme: "https", Host: host, Path: "/" + path}
	if u, err := url.Parse(remote); err == nil && (u.Scheme == "http" || u.Scheme == "https") {
		page.Scheme, page.Host = u.Scheme, u.Host // a port of ssh is not one of the web
	}
	return page.String()
}

// kindOf is the kind of a well-known host; empty for others.
func kindOf(host string) string {
	return map[string]string{
		"github.com": GitHub, "gitlab.com": GitLab, "codeberg.org": Gitea, "gitea.com": Gitea, "bitbucket.org": Bitbucket,
	}[host]
}

// hostAndPath takes a remote's address apart: a URL, or [user@]host:path.
func hostAndPath(remote string) (host, path string) {
	if strings.Contains(remote, "://") {
		u, err := url.Parse(remote)
		if err != nil {
			return "", ""
		}
		host, path = u.Hostname(), u.Path
	} else {
		host, path, _ = strings.Cut(remote, ":")
		host = host[strings.LastIndex(host, "@")+1:]
	}
	// Hosts of ssh over the port of https.
	if web, ok := map[string]string{"ssh.github.com": "github.com", "altssh.gitlab.com": "gitlab.com", "altssh.bitbucket.org": "bitbucket.org"}[host]; ok {
		host = web
	}
	return host, path
}
