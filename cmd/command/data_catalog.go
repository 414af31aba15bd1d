package command

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"dyad/engine/dataset/catalog"
	"dyad/internal/page"
)

// cacheFlag is the --dir flag of the commands that use the cache.
type cacheFlag struct {
	Dir string `placeholder:"DIR" help:"Folder of the data sets. Default: $XDG_CACHE_HOME/dyad, else ~/.cache/dyad."`
}

// folder returns the folder of a data set.
func (f cacheFlag) folder(name string) (string, error) {
	if f.Dir != "" {
		return filepath.Join(f.Dir, name), nil
	}
	cache, err := catalog.Cache()
	return filepath.Join(cache, name), err
}

type dataListCmd struct{}

// Run lists the catalogue.
func (c *dataListCmd) Run(a *app) error {
	t := page.Table{Head: []string{"name", "rows", "features", "positive class", "terms", "checked"}}
	for _, e := range catalog.Entries() {
		t.Add(e.Name, e.Rows, e.Features, e.Positive, e.Terms, checkedText(e))
	}
	return a.emit(catalog.Entries(),
		t.Text()+"\ndyad data fetch NAME fetches one; ready schemas are in bench/schemas.\n")
}

// checkedText states whether downloaded files can be checked.
func checkedText(e catalog.Entry) string {
	text := "not fetched"
	for _, f := range e.Files {
		if f.URL != "" {
			if !f.Known() {
				return "SHA-256 not known"
			}
			text = "SHA-256"
		}
	}
	return text
}

type dataFetchCmd struct {
	Name   string `arg:"" help:"Data set; \"dyad data list\" names them."`
	Mirror string `placeholder:"URL" help:"Fetch from the folder at this address, not from the public address."`
	DryRun bool   `help:"Only print the files that would be fetched, with source and destination."`
	cacheFlag
}

type fetchResult struct {
	Name   string           `json:"name"`
	Terms  string           `json:"terms"`
	Schema string           `json:"schema,omitempty"`
	DryRun bool             `json:"dry_run,omitempty"`
	Files  []catalog.Result `json:"files"`
}

// Run fetches the files.
func (c *dataFetchCmd) Run(a *app) error {
	e, ok := catalog.Find(c.Name)
	if !ok {
		return badInput("there is no data set %q; \"dyad data list\" names the data sets", c.Name)
	}
	dir, err := c.folder(e.Name)
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\nterms   %s (%s)\n", e.Name, e.Title, e.Terms, e.Page)
	if e.Note != "" {
		fmt.Fprintf(&b, "note    %s\n", e.Note)
	}
	r := fetchResult{Name: e.Name, Terms: e.Terms, Schema: e.Schema, DryRun: c.DryRun}
	for _, f := range e.Files {
		switch {
		case f.URL == "":
			continue
		case c.DryRun:
			path := filepath.Join(dir, f.Name)
			r.Files = append(r.Files, catalog.Result{Path: path, SHA256: f.SHA256, Bytes: f.Bytes})
			fmt.Fprintf(&b, "file    %s\n        from %s\n", path, f.URL)
			continue
		}
		got, err := c.fetch(a, f, dir)
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		r.Files = append(r.Files, got)
		fmt.Fprintf(&b, "file    %s (%s, %d bytes uncompressed)\n        %s: %s\n", got.Path,
			pick(got.Cached, "in the cache", "fetched"), got.Bytes,
			pick(got.Checked, "SHA-256 checked", "NOT CHECKED: the catalogue has no SHA-256 of this file"), got.SHA256)
	}
	if len(r.Files) == 0 {
		return badInput("%s cannot be fetched: %s (%s)", e.Name, e.Note, e.Page)
	}
	if e.Schema != "" {
		fmt.Fprintf(&b, "schema  bench/schemas/%s.yaml\n", e.Schema)
	}
	return a.emit(r, b.String())
}

// fetchRetries and fetchPause apply to interrupted transfers.
const (
	fetchRetries = 3
	fetchPause   = time.Second
)

func (c *dataFetchCmd) fetch(a *app, f catalog.File, dir string) (catalog.Result, error) {
	t := a.tracker("fetching " + f.Name)
	fetcher := catalog.Fetcher{Mirror: c.Mirror, Retries: fetchRetries, Pause: fetchPause, Progress: func(done, total int64) {
		if total > 0 {
			t.Step(int(done), int(total))
		}
	}}
	r, err := fetcher.Fetch(a.ctx, f, dir)
	if err != nil && a.ctx.Err() != nil {
		err = a.ctx.Err()
	}
	return r, err
}

type dataVerifyCmd struct {
	What string `arg:"" optional:"" name:"file-or-name" help:"A file, or a data set in the cache. Default: all of the cache."`
	cacheFlag
}

type verifyResult struct {
	Files []verifiedFile `json:"files"`
}

type verifiedFile struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
	Status string `json:"status"` // "ok", "differs", "unknown", "unreadable"
	Is     string `json:"is,omitempty"`
}

// Run verifies files.
func (c *dataVerifyCmd) Run(a *app) error {
	r := verifyResult{Files: []verifiedFile{}}
	e, isName := catalog.Find(c.What)
	_, statErr := os.Stat(c.What)
	switch {
	case c.What == "" || isName && statErr != nil:
		entries := catalog.Entries()
		if c.What != "" {
			entries = []catalog.Entry{e}
		}
		for _, e := range entries {
			dir, err := c.folder(e.Name)
			if err != nil {
				return err
			}
			for _, f := range e.Files {
				if path := filepath.Join(dir, f.Name); exists(path) {
					r.Files = append(r.Files, verify(path, f))
				}
			}
		}
		if len(r.Files) == 0 && c.What != "" {
			return fmt.Errorf("%s is not in the cache; \"dyad data fetch %s\" fetches it: %w", e.Name, e.Name, fs.ErrNotExist)
		}
	case statErr != nil:
		return badInput("%s is neither a file nor a data set of the catalogue (\"dyad data list\")", c.What)
	default:
		v := verify(c.What, catalog.File{})
		if v.Is == "" {
			v.Status = "unknown"
		}
		r.Files = append(r.Files, v)
	}
	bad := false
	var b strings.Builder
	for _, v := range r.Files {
		fmt.Fprintf(&b, "%-10s  %s\n            SHA-256 %s, %d bytes uncompressed (%s)\n", v.Status, v.Path,
			v.SHA256, v.Bytes, cmp.Or(v.Is, "in no entry of the catalogue"))
		bad = bad || v.Status == "differs" || v.Status == "unreadable" || v.Status == "unknown" && c.What != "" && !isName
	}
	if len(r.Files) == 0 {
		b.WriteString("the cache is empty; \"dyad data list\" shows what can be fetched\n")
	}
	return a.emitCheck(r, b.String(), !bad)
}

// verify compares a file with f. If f is empty, it compares the file with the whole catalogue.
func verify(path string, f catalog.File) verifiedFile {
	v := verifiedFile{Path: path, Status: "ok"}
	var err error
	if v.SHA256, v.Bytes, err = catalog.Hash(path); err != nil {
		v.Status = "unreadable"
		return v
	}
	e, found, ok := catalog.Match(v.SHA256)
	if ok {
		v.Is = e.Name + ": " + found.Name
	}
	switch {
	case f.Name != "" && !f.Known():
		v.Status = "unknown"
	case f.Name != "" && !strings.EqualFold(v.SHA256, f.SHA256):
		v.Status = "differs"
	}
	return v
}
