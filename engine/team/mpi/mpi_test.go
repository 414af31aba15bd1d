package mpi

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"dyad/internal/must"
)

func set(variables map[string]string) func(string) string {
	return func(name string) string { return variables[name] }
}

// The library of the launcher comes first where several are installed.
func TestLibraries(t *testing.T) {
	for first, variables := range map[string]map[string]string{
		"libmpi.so.40":    {"OMPI_COMM_WORLD_SIZE": "3"},
		"libmpi_abi.so.1": {"PMI_SIZE": "3"},
	} {
		if got := libraries(set(variables)); got[0] != first || len(got) != 5 ||
			len(slices.Compact(slices.Sorted(slices.Values(got)))) != 5 {
			t.Errorf("%v: %q, want %s first", variables, got, first)
		}
		must.Equal(t, started(set(variables)), 3, "%v: processes", variables)
	}
	must.Equal(t, started(set(nil)), 0, "processes without a launcher")
}

// Every interface has all of its constants, and no two are alike.
func TestInterfaces(t *testing.T) {
	seen := map[uintptr]bool{}
	for _, i := range interfaces() {
		symbols := i.worldSymbol != "" && i.doubleSymbol != ""
		if i.name == "" || symbols == (i.world != 0 && i.double != 0) || i.inPlace == 0 || i.serialized == 0 ||
			seen[i.world] {
			t.Errorf("%+v", i)
		}
		seen[i.world] = true
	}
}

// A library that is not there is an error that says what to install.
func TestNoLibrary(t *testing.T) {
	_, err := Open(Options{Library: "/nonexistent/libmpi.so"})
	if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "nonexistent") &&
		!strings.Contains(err.Error(), "use a build for") {
		t.Errorf("got %v", err)
	}
}
