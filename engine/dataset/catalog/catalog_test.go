package catalog

import (
	"bytes"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"dyad/engine/dataset/catalog/schemas"
	"dyad/internal/must"
)

// TestSchemasOfTheLaboratory: each ready schema is read by the path that documents and results name, too.
func TestSchemasOfTheLaboratory(t *testing.T) {
	names, err := fs.Glob(schemas.Files, "*.yaml")
	if err != nil || len(names) < 10 {
		t.Fatalf("%d schemas, %v", len(names), err)
	}
	for _, name := range names {
		want := must.Get(schemas.Files.ReadFile(name))(t)
		if got, err := os.ReadFile(filepath.Join("../../../bench/schemas", name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("bench/schemas/%s is not the same file, %v: ln -s ../../engine/dataset/catalog/schemas/%[1]s bench/schemas/", name, err)
		}
	}
}

func TestEntries(t *testing.T) {
	names, sums := map[string]bool{}, map[string]bool{}
	for _, e := range Entries() {
		if names[e.Name] || e.Title == "" || e.Terms == "" || e.Rows == "" || e.Features == "" || e.Positive == "" {
			t.Errorf("%+v: a name twice or a field empty", e)
		}
		names[e.Name] = true
		if e.Schema != "" {
			must.Check(schemas.Files.Open(e.Schema+".yaml"))(t, e.Name)
		}
		for _, f := range e.Files {
			if f.Known() && (sums[f.SHA256] || !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(f.SHA256) || f.Bytes == 0) {
				t.Errorf("%s: hash %q of %s", e.Name, f.SHA256, f.Name)
			}
			sums[f.SHA256] = true
			if u, err := url.Parse(f.URL); err != nil || f.URL != "" && (u.Scheme != "https" || u.Host == "") || f.URL == "" && !f.Known() {
				t.Errorf("%s: address %q", e.Name, f.URL)
			}
			must.Equal(t, f.packing() == ".zip", f.Member != "", "%s: member %q of %s", e.Name, f.Member, f.URL)
		}
	}
	if _, ok := Find("PIMA"); !ok {
		t.Error("pima was not found")
	}
	if _, ok := Find("nothing"); ok {
		t.Error("nothing was found")
	}
}

// The hashes of the catalogue are the hashes of the real files.
func TestHashesOfRealFiles(t *testing.T) {
	const real = "../../../../shared/data"
	files, _ := filepath.Glob(real + "/*/*")
	if len(files) == 0 {
		t.Skip("real data not present")
	}
	found := map[string]bool{}
	for _, path := range files {
		sum, size := must.Get2(Hash(path))(t)
		if e, f, ok := Match(sum); ok {
			found[f.Name] = true
			if e.Name != filepath.Base(filepath.Dir(path)) || f.Bytes != size {
				t.Errorf("%s is %s of %s with %d bytes, want %d", path, f.Name, e.Name, size, f.Bytes)
			}
		}
	}
	for _, e := range Entries() {
		for _, f := range e.Files {
			if f.Known() && !found[f.Name] {
				t.Errorf("no real file has the hash of %s", f.Name)
			}
		}
	}
}
