// Package frontend holds the built web app.
//
// The app is built by Vite into dist/ and embedded. A build without Node finds
// only the committed placeholder there, which says how to build the app.
package frontend

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var dist embed.FS

// FS returns the files to serve, rooted so that "index.html" is the app's page.
// Where the app was not built, the placeholder is all there is. Files under assets/ carry a hash of their content in their name and
// never change; all others must be revalidated.
func FS() fs.FS {
	root, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // dist is a constant, valid path
	}
	return root
}

// Index returns the name of the page to serve for every address of the app,
// and whether it is the app itself rather than the placeholder.
func Index() (name string, built bool) {
	if _, err := fs.Stat(dist, "dist/index.html"); err == nil {
		return "index.html", true
	}
	return "placeholder.html", false
}
