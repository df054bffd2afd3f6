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

// Layers returns the files of a package in layers: each file uses functions, types and
// methods of its own layer's one file and of layers before it. cycle names files that
// use each other in a circle; they have no layer. Test files are left out, and so are
// files for other systems than Linux.
func Layers(dir string) (layers [][]string, cycle []string, err error) {
	uses, err := usesBetweenFiles(dir)
	if err != nil {
		return nil, nil, err
	}
	for len(uses) > 0 {
		var layer []string
		for file, used := range uses {
			if len(used) == 0 {
				layer = append(layer, file)
			}
		}
		if len(layer) == 0 {
			return layers, slices.Sorted(maps.Keys(uses)), nil
		}
		slices.Sort(layer)
		layers = append(layers, layer)
		for _, file := range layer {
			delete(uses, file)
		}
		for _, used := range uses {
			for _, file := range layer {
				delete(used, file)
			}
		}
	}
	return layers, nil, nil
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
