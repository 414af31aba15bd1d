package command

import (
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"dyad/engine/dataset"
	"dyad/internal/files"
)

// dataFiles holds the files of --data. Each is a file, a folder or a pattern. Several are read as one data set,
// in this order.
type dataFiles struct {
	asked []string
	names []string // names of all files after expansion
}

// Decode implements kong.MapperValue. A repeated flag adds files.
func (f *dataFiles) Decode(c *kong.DecodeContext) error {
	var name string
	if err := c.Scan.PopValueInto("file", &name); err != nil {
		return err
	}
	if name == "" { // checkTags refuses an empty name
		f.asked = append(f.asked, "")
		return nil
	}
	names, err := dataset.Expand(name)
	f.asked, f.names = append(f.asked, name), append(f.names, names...)
	if err != nil {
		return errors.New(plain(err))
	}
	return nil
}

func (f dataFiles) given() bool { return len(f.names) > 0 }

// String returns the value of the flag as it was given.
func (f dataFiles) String() string { return strings.Join(f.asked, ", ") }

// flags returns the flags that request the same files.
func (f dataFiles) flags() string {
	var all []string
	for _, name := range f.asked {
		if strings.ContainsAny(name, "*?[ ") {
			name = "'" + name + "'"
		}
		all = append(all, "--data "+name)
	}
	return strings.Join(all, " ")
}

// and returns others together with the files.
func (f dataFiles) and(others ...string) []string { return append(others, f.names...) }

// shared returns the number of files that are also in others.
func (f dataFiles) shared(others dataFiles) (n int) {
	for _, name := range f.names {
		if slices.ContainsFunc(others.names, func(other string) bool { return files.Same(name, other) }) {
			n++
		}
	}
	return n
}

// labelsFlag is the flag that names the labels file, for formats that keep labels in a second file.
type labelsFlag struct {
	Labels string `placeholder:"FILE" help:"File of the labels, for NPY and IDX. Default: as in the schema, else the usual name next to the data."`
}

// options returns o with the flag applied.
func (f labelsFlag) options(o dataset.Options) dataset.Options {
	o.LabelsFile = f.Labels
	return o
}

// readBy reads the data of a training with a schema.
type readBy func(*dataset.Schema) (*dataset.Dataset, error)

// again reports whether the files can be read twice and are not already encoded.
func (f dataFiles) again() bool {
	return !slices.ContainsFunc(f.names, func(name string) bool {
		i, err := os.Stat(name)
		return err == nil && !i.IsDir() && (!i.Mode().IsRegular() || dataset.IsPack(name))
	})
}
