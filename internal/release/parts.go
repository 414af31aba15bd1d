package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"dyad"
)

// part is a module that the program contains on some target, or Go's own library.
type part struct {
	name, version string
	spdx          string            // the licences, joined by AND
	texts         map[string]string // the licence files, by their path below the module
}

// partsOf lists the parts of the program in the module at root, on all targets, by name. It returns an error for a
// part without a licence file, or with a licence that is not known to permit distribution.
func partsOf(root string) ([]part, error) {
	all := map[string]part{}
	for _, t := range targets {
		c := exec.Command("go", "list", "-deps", "-json=Dir,Standard,Module", "./cmd/dyad")
		c.Dir = root
		c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+t.system, "GOARCH="+t.processor)
		out, err := c.Output()
		if err != nil {
			return nil, fmt.Errorf("go list for %v: %w", t, err)
		}
		for d := json.NewDecoder(bytes.NewReader(out)); ; {
			var p struct {
				Dir      string
				Standard bool
				Module   *struct {
					Path, Version, Dir string
					Main               bool
				}
			}
			if err := d.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, err
			}
			if p.Standard || p.Module == nil || p.Module.Main {
				continue
			}
			a, ok := all[p.Module.Path]
			if !ok {
				a = part{name: p.Module.Path, version: p.Module.Version, texts: map[string]string{}}
			}
			if err := a.read(p.Module.Dir, p.Dir); err != nil {
				return nil, err
			}
			all[p.Module.Path] = a
		}
	}
	library := part{name: "std", version: strings.TrimPrefix(runtime.Version(), "go"), texts: map[string]string{}}
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, err
	}
	if err := library.read(strings.TrimSpace(string(goroot)), strings.TrimSpace(string(goroot))); err != nil {
		return nil, err
	}
	parts := append(slices.Collect(maps.Values(all)), library)
	slices.SortFunc(parts, func(a, b part) int { return strings.Compare(a.name, b.name) })
	for i := range parts {
		if parts[i].spdx, err = parts[i].licence(); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)`)

// read adds the licence files of a folder of the module and of the folders above it.
func (p *part) read(module, dir string) error {
	for at := dir; strings.HasPrefix(at, module); at = filepath.Dir(at) {
		files, err := os.ReadDir(at)
		if err != nil {
			return err
		}
		for _, f := range files {
			name := f.Name()
			if p.name == "github.com/golang/freetype" && name == "licenses" {
				name = "licenses/ftl.txt" // of the two that it offers
			} else if !licenceFile.MatchString(name) || f.IsDir() || strings.HasSuffix(name, ".go") {
				continue
			}
			text, err := os.ReadFile(filepath.Join(at, filepath.FromSlash(name)))
			if err != nil {
				return err
			}
			below, err := filepath.Rel(module, filepath.Join(at, name))
			if err != nil {
				return err
			}
			p.texts[filepath.ToSlash(below)] = strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n"))
		}
	}
	return nil
}

// licences are the licences that permit distributing a program with its parts, each with words that occur only
// in this licence.
var licences = []struct{ spdx, words string }{
	{"Apache-2.0", "Apache License"},
	{"MIT", "Permission is hereby granted, free of charge"},
	{"BSD-3-Clause", "Neither the name"},
	{"BSD-3-Clause", "may be used to endorse"},
	{"BSD-2-Clause", "Redistributions in binary form must reproduce"},
	{"OFL-1.1", "SIL OPEN FONT LICENSE"},
	{"FTL", "The FreeType Project LICENSE"},
	{"CC-BY-4.0", "Creative Commons Attribution 4.0 International Public License"},
}

// licence returns the SPDX expression of a part.
func (p *part) licence() (string, error) {
	var found []string
	for name, text := range p.texts {
		text = strings.Join(strings.Fields(text), " ")
		base := strings.ToLower(filepath.Base(name))
		known := strings.HasPrefix(base, "patents") || strings.HasPrefix(base, "notice") ||
			strings.HasPrefix(base, "license-link") ||
			strings.Contains(text, "your choice of exactly one") // FreeType's, which names both
		for _, l := range licences {
			// which begins like it
			if strings.Contains(text, l.words) && !(l.spdx == "MIT" && strings.Contains(text, "SIL OPEN FONT LICENSE")) {
				known = true
				if !slices.Contains(found, l.spdx) {
					found = append(found, l.spdx)
				}
			}
		}
		if !known {
			return "", fmt.Errorf("%s has the licence %s, which this program does not know; read the licence, and add it "+
				"if it is permissive", p.name, name)
		}
	}
	if slices.Contains(found, "BSD-3-Clause") {
		found = slices.DeleteFunc(found, func(l string) bool { return l == "BSD-2-Clause" })
	}
	if len(found) == 0 {
		return "", fmt.Errorf("%s %s has no licence file", p.name, p.version)
	}
	slices.Sort(found)
	return strings.Join(found, " AND "), nil
}

// notice returns the text of NOTICE: every part, then every licence text once.
func notice(parts []part) []byte {
	var b, texts strings.Builder
	b.WriteString("The program dyad contains the modules below, each under its own licence; the texts follow. This file " +
		"is generated:\ngo generate ./internal/release\n\n")
	at := map[string]int{}
	for _, p := range parts {
		var numbers []string
		for _, name := range slices.Sorted(maps.Keys(p.texts)) {
			text := p.texts[name]
			if at[text] == 0 {
				at[text] = len(at) + 1
				fmt.Fprintf(&texts, "\n%s\n[%d]\n\n%s\n", strings.Repeat("=", 80), at[text], text)
			}
			numbers = append(numbers, fmt.Sprintf("[%d]", at[text]))
		}
		version := p.version
		if p.name == "std" {
			version = "(Go's library)" // of whichever version the program is built with
		}
		fmt.Fprintf(&b, "%s %s: %s %s\n", p.name, version, p.spdx, strings.Join(numbers, " "))
	}
	return []byte(b.String() + texts.String())
}

// sbom returns the list of parts in CycloneDX 1.5. It contains no time, and its serial number is a hash of the
// other content. So the list is the same wherever it is made.
func sbom(parts []part) ([]byte, error) {
	type licence struct {
		Expression string `json:"expression"`
	}
	type component struct {
		Type     string    `json:"type"`
		Ref      string    `json:"bom-ref"`
		Name     string    `json:"name"`
		Version  string    `json:"version"`
		Licences []licence `json:"licenses,omitempty"`
		PURL     string    `json:"purl"`
	}
	of := func(kind, name, version, spdx string) component {
		c := component{Type: kind, Name: name, Version: version, PURL: "pkg:golang/" + name + "@" +
			strings.ReplaceAll(version, "+", "%2B")}
		c.Ref = c.PURL
		if spdx != "" {
			c.Licences = []licence{{spdx}}
		}
		return c
	}
	type metadata struct {
		Component component `json:"component"`
	}
	type dependency struct {
		Ref string   `json:"ref"`
		On  []string `json:"dependsOn"`
	}
	bom := struct {
		Format       string       `json:"bomFormat"`
		Spec         string       `json:"specVersion"`
		Serial       string       `json:"serialNumber"`
		Version      int          `json:"version"`
		Metadata     metadata     `json:"metadata"`
		Components   []component  `json:"components"`
		Dependencies []dependency `json:"dependencies"`
	}{Format: "CycloneDX", Spec: "1.5", Version: 1, Metadata: metadata{of("application", "dyad", dyad.Version, "")}}
	on := dependency{Ref: bom.Metadata.Component.Ref}
	for _, p := range parts {
		c := of("library", p.name, p.version, p.spdx)
		bom.Components, on.On = append(bom.Components, c), append(on.On, c.Ref)
	}
	bom.Dependencies = []dependency{on}
	text, err := json.Marshal(bom)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80 // a UUID of version 8
	h := hex.EncodeToString(sum[:16])
	bom.Serial = fmt.Sprintf("urn:uuid:%s-%s-%s-%s-%s", h[:8], h[8:12], h[12:16], h[16:20], h[20:])
	text, err = json.MarshalIndent(bom, "", "  ")
	return append(text, '\n'), err
}
