package dataset

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dyad/engine/dataset/source"
)

// Rules for names that stand for several files.
const (
	ruleNoMatch = "no file name matches this pattern; correct the pattern (* stands for any part of a name, ? for " +
		"one character)"
	ruleNoFiles   = "the folder has no files (names that begin with . or _ do not count); correct the folder's name"
	ruleSubfolder = "this folder must not be in a folder of data; name all files by a pattern (DIR/*/*.parquet), " +
		"or move this folder out"
	ruleTable = "this folder is a Delta Lake or Hudi table, which keeps old rows; write the table to plain files " +
		"first"
	ruleTwice     = "the file is given twice, also as %s; name the file once"
	ruleTwicePack = "%s has the same name except for the compression, so its rows may be the same; move one of the " +
		"two files away"
	ruleListLabels = "one labels file cannot serve several data files; put labels next to each data file (y-1.npy " +
		"for X-1.npy), or write NPZ files"
	ruleOwnLabels  = "only NPY and IDX data take a labels file; remove labels_file or --labels"
	rulePackInList = "a pack cannot be read with other files; make one pack of all data files with dyad data pack"
	ruleListMixed  = "only some files have labels; label all files, or no file"
)

// Expand replaces names by the names of the files to read, in the order in which their rows are read. An
// element of names is the name of a file, the name of a folder or a pattern (path/filepath.Match). The name of
// a folder stands for the files in the folder. Files of one folder or pattern are sorted by name, byte by
// byte, so part-10 comes before part-2. This order does not depend on the machine. File names that begin with
// a dot or an underscore, such as _SUCCESS, are skipped unless the pattern begins in the same way. The name of
// a missing file is returned unchanged. Expand returns a *ParseError for a folder inside of a folder, and for
// names that stand for no file or for one file twice.
func Expand(names ...string) ([]string, error) {
	var files []string
	for _, name := range names {
		found, err := expand(name)
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	return files, distinct(files)
}

func expand(name string) ([]string, error) {
	var names []string
	info, err := os.Stat(name)
	folder := err == nil && info.IsDir()
	switch {
	case folder:
		entries, err := os.ReadDir(name)
		if err != nil {
			return nil, fmt.Errorf("dataset: cannot read data: %w", err)
		}
		for _, e := range entries {
			if e.Name() == "_delta_log" || e.Name() == ".hoodie" {
				return nil, &source.ParseError{File: name, Rule: ruleTable}
			}
			names = append(names, filepath.Join(name, e.Name()))
		}
	case err == nil || !strings.ContainsAny(name, "*?["):
		return []string{name}, nil
	default:
		if names, err = filepath.Glob(name); err != nil {
			return nil, &source.ParseError{File: name, Rule: ruleNoMatch}
		}
	}
	hidden := func(path string) bool {
		first := filepath.Base(path)[0]
		return (first == '.' || first == '_') && (folder || filepath.Base(name)[0] != first)
	}
	names = slices.DeleteFunc(names, hidden)
	if len(names) == 0 && folder {
		return nil, &source.ParseError{File: name, Rule: ruleNoFiles}
	} else if len(names) == 0 {
		return nil, &source.ParseError{File: name, Rule: ruleNoMatch}
	}
	for _, n := range names {
		if info, err := os.Stat(n); err == nil && info.IsDir() {
			return nil, &source.ParseError{File: n, Rule: ruleSubfolder}
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(filepath.ToSlash(a), filepath.ToSlash(b)) })
	return names, nil
}

// distinct returns an error if a file occurs twice. Otherwise one person's row could become two records, and
// the sensitivity would be twice the claimed value.
func distinct(files []string) error {
	if len(files) < 2 {
		return nil
	}
	type key struct {
		size, time int64
	}
	plain, alike := map[string]string{}, map[key][]int{}
	infos := make([]fs.FileInfo, len(files))
	for i, name := range files {
		stem := strings.TrimSuffix(strings.TrimSuffix(filepath.Clean(name), ".gz"), ".zst")
		info, err := os.Stat(name)
		if err == nil {
			infos[i] = info
			k := key{info.Size(), info.ModTime().UnixNano()}
			for _, j := range alike[k] {
				if os.SameFile(infos[j], info) {
					return &source.ParseError{File: name, Rule: fmt.Sprintf(ruleTwice, files[j])}
				}
			}
			alike[k] = append(alike[k], i)
		}
		if other, ok := plain[stem]; ok {
			return &source.ParseError{File: name, Rule: fmt.Sprintf(ruleTwicePack, other)}
		}
		plain[stem] = name
	}
	return nil
}

// listName returns the name of a list of files for errors about all of its rows.
func listName(files []string) string {
	if len(files) == 1 {
		return files[0]
	}
	return fmt.Sprintf("%s and %d more files", files[0], len(files)-1)
}
