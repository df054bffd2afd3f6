package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// Circle returns the files of a package's largest circle, in which each file uses all
// the others, directly or through others. It is empty if the package's files are
// layers. Test files are left out, and so are files for other systems than Linux.
func Circle(dir string) ([]string, error) {
	uses, err := usesBetweenFiles(dir)
	if err != nil {
		return nil, err
	}
	reached := make(map[string]map[string]bool, len(uses))
	for file := range uses {
		reached[file] = reachable(uses, file)
	}
	var largest []string
	for _, file := range slices.Sorted(maps.Keys(uses)) {
		var circle []string
		for other := range reached[file] {
			if reached[other][file] {
				circle = append(circle, other)
			}
		}
		if len(circle) > len(largest) {
			largest = circle
		}
	}
	slices.Sort(largest)
	return largest, nil
}

// reachable returns the files that a file uses, directly or through others.
func reachable(uses map[string]map[string]bool, from string) map[string]bool {
	reached := map[string]bool{}
	for next := []string{from}; len(next) > 0; {
		file := next[len(next)-1]
		next = next[:len(next)-1]
		for used := range uses[file] {
			if !reached[used] {
				reached[used] = true
				next = append(next, used)
			}
		}
	}
	return reached
}

// usesBetweenFiles returns for each file of a package the others it uses.
func usesBetweenFiles(dir string) (map[string]map[string]bool, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	var files []*ast.File
	uses := map[string]map[string]bool{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "_other.go") {
			continue
		}
		file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
		uses[filepath.Base(name)] = map[string]bool{}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no Go files in %s", dir)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	// Names of other packages are not resolved. Only uses between these files count.
	conf := types.Config{Importer: emptyPackages{}, Error: func(error) {}}
	pkg, _ := conf.Check(dir, fset, files, info)
	for name, object := range info.Uses {
		if object.Pkg() != pkg || !shared(object, pkg) {
			continue
		}
		from, to := filepath.Base(fset.Position(name.Pos()).Filename), filepath.Base(fset.Position(object.Pos()).Filename)
		if from != to {
			uses[from][to] = true
		}
	}
	return uses, nil
}

// shared reports whether an object is of the package's scope, or a method.
func shared(object types.Object, pkg *types.Package) bool {
	_, function := object.(*types.Func)
	return function || object.Parent() == pkg.Scope()
}

// emptyPackages imports every package as one without any names.
type emptyPackages struct{}

func (emptyPackages) Import(path string) (*types.Package, error) {
	p := types.NewPackage(path, filepath.Base(path))
	p.MarkComplete()
	return p, nil
}
