package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"path"
	"strings"
	"time"

	"dyad"
)

// file is a file of an archive, or an archive.
type file struct {
	name string
	text []byte
	mode int64
}

// epoch is the time of everything in an archive.
var epoch = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// pack returns the archive of a target: .zip for Windows, .tar.gz for other systems.
func pack(name string, t target, files []file) (file, error) {
	if t.system != "windows" {
		for i := range files {
			files[i].name = name + "/" + files[i].name
		}
		text, err := tarball(files)
		return file{name: name + ".tar.gz", text: text}, err
	}
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range files {
		at := f.name
		if at == "dyad" {
			at += ".exe"
		}
		to, err := w.CreateHeader(&zip.FileHeader{Name: name + "/" + at, Method: zip.Deflate, Modified: epoch})
		if err != nil {
			return file{}, err
		}
		if _, err := to.Write(f.text); err != nil {
			return file{}, err
		}
	}
	err := w.Close()
	return file{name: name + ".zip", text: b.Bytes()}, err
}

// tarball returns a .tar.gz of files and of their folders.
func tarball(files []file) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(z)
	add := func(h tar.Header, text []byte) error {
		h.ModTime, h.Format = epoch, tar.FormatUSTAR
		if err := w.WriteHeader(&h); err != nil {
			return err
		}
		_, err := w.Write(text)
		return err
	}
	made := map[string]bool{".": true, "/": true}
	for _, f := range files {
		var folders []string
		for at := path.Dir(f.name); !made[at]; at = path.Dir(at) {
			folders, made[at] = append([]string{at}, folders...), true
		}
		for _, at := range folders {
			if err := add(tar.Header{Typeflag: tar.TypeDir, Name: at + "/", Mode: 0o755}, nil); err != nil {
				return nil, err
			}
		}
		header := tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: f.mode, Size: int64(len(f.text))}
		if err := add(header, f.text); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	err = z.Close()
	return b.Bytes(), err
}

// debianPlaces are the folders of a Debian package for the folders of an archive.
var debianPlaces = map[string]string{
	"man1/":            "./usr/share/man/man1/",
	"completion/bash/": "./usr/share/bash-completion/completions/",
	"completion/zsh/":  "./usr/share/zsh/vendor-completions/",
	"completion/fish/": "./usr/share/fish/vendor_completions.d/",
}

// debian returns a package of the program (deb(5)): an ar archive of a version, the control files and the files.
func debian(t target, program []byte, papers []file) (file, error) {
	files := []file{{"./usr/bin/dyad", program, 0o755}}
	size := len(program)
	for _, p := range papers {
		at := "./usr/share/doc/dyad/" + p.name
		if p.name == "LICENSE" {
			at = "./usr/share/doc/dyad/copyright"
		}
		for folder, place := range debianPlaces {
			if strings.HasPrefix(p.name, folder) {
				at = place + strings.TrimPrefix(p.name, folder)
			}
		}
		files = append(files, file{at, p.text, 0o644})
		size += len(p.text)
	}
	control := fmt.Sprintf("Package: dyad\nVersion: %s\nArchitecture: %s\nMaintainer: the authors of "+
		"Dyad\nInstalled-Size: %d\nDepends: libc6\nSection: science\nPriority: optional\nDescription: pairwise learning "+
		"with differential privacy\n Trains ranking, metric and pairwise models with differential privacy,\n keeps a ledger "+
		"of what was spent, and audits its own claims.\n", dyad.Version, t.processor, (size+1023)/1024)
	data, err := tarball(files)
	if err != nil {
		return file{}, err
	}
	meta, err := tarball([]file{{"./control", []byte(control), 0o644}})
	if err != nil {
		return file{}, err
	}
	var b strings.Builder
	b.WriteString("!<arch>\n")
	for _, f := range []file{{name: "debian-binary", text: []byte("2.0\n")}, {name: "control.tar.gz", text: meta},
		{name: "data.tar.gz", text: data}} {
		fmt.Fprintf(&b, "%-16s%-12d%-6d%-6d%-8s%-10d`\n%s", f.name, epoch.Unix(), 0, 0, "100644", len(f.text), f.text)
		if len(f.text)%2 == 1 {
			b.WriteByte('\n')
		}
	}
	return file{name: "dyad_" + dyad.Version + "_" + t.processor + ".deb", text: []byte(b.String())}, nil
}
