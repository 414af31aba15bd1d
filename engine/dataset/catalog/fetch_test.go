package catalog

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"dyad/internal/must"
)

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// server serves content, and cuts the first cuts answers after half of what
// remains. Answers depend on its fields.
type server struct {
	content []byte
	cuts    int
	noRange bool
	etag    string
	wrong   bool // answers a range with the wrong part
	status  int

	requests []string // the Range of each
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.requests = append(s.requests, r.Header.Get("Range"))
	if s.status != 0 {
		http.Error(w, "no", s.status)
		return
	}
	body := s.content
	if s.etag != "" {
		w.Header().Set("ETag", s.etag)
	}
	from, ok := strings.CutPrefix(r.Header.Get("Range"), "bytes=")
	start, err := strconv.Atoi(strings.TrimSuffix(from, "-"))
	switch {
	case ok && err == nil && start > len(body):
		w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
		return
	case ok && err == nil && !s.noRange && r.Header.Get("If-Range") == s.etag:
		body = body[start:]
		if s.wrong {
			start++
		}
		w.Header().Set("Content-Range", "bytes "+strconv.Itoa(start)+"-")
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(http.StatusPartialContent)
	default:
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	if s.cuts > 0 {
		s.cuts--
		_, _ = w.Write(body[:len(body)/2])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write(body)
}

func start(t *testing.T, s *server) string {
	t.Helper()
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	return h.URL
}

func content() []byte { return bytes.Repeat([]byte("0123456789abcdef"), 4096) }

func TestFetch(t *testing.T) {
	data := content()
	for _, c := range []struct {
		name     string
		server   server
		retries  int
		requests []string
	}{
		{"whole", server{content: data}, 0, []string{""}},
		{"resumed in one call", server{content: data, cuts: 2, etag: `"v1"`}, 2, []string{"", "bytes=32768-", "bytes=49152-"}},
		{"no ranges", server{content: data, cuts: 1, noRange: true, etag: `"v1"`}, 1, []string{"", "bytes=32768-"}},
		{"no version", server{content: data, cuts: 1}, 1, []string{"", ""}},
		{"wrong part", server{content: data, cuts: 1, etag: `"v1"`, wrong: true}, 2, []string{"", "bytes=32768-", ""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			url := start(t, &c.server)
			var last, most int64
			f := Fetcher{Retries: c.retries, Progress: func(done, total int64) { last, most = done, total }}
			r := must.Get(f.Fetch(context.Background(), File{Name: "x", URL: url + "/x", SHA256: sum(data)}, dir))(t)
			if !r.Checked || r.Cached || r.Bytes != int64(len(data)) || last != int64(len(data)) || most != last {
				t.Errorf("got %+v, progress %d of %d", r, last, most)
			}
			if got, err := os.ReadFile(filepath.Join(dir, "x")); err != nil || !bytes.Equal(got, data) {
				t.Errorf("the file differs (%v)", err)
			}
			must.Same(t, c.server.requests, c.requests, "ranges")
			must.Equal(t, len(must.Get(os.ReadDir(dir))(t)), 1, "files of the folder")
			// Again: from the cache, without a request.
			if r, err := f.Fetch(context.Background(), File{Name: "x", URL: url + "/x", SHA256: sum(data)}, dir); err != nil || !r.Cached || !r.Checked || len(c.server.requests) != len(c.requests) {
				t.Errorf("again: %+v, %v", r, err)
			}
		})
	}
}

// An interrupted call keeps what it got; the next call continues there.
func TestFetchResumesLater(t *testing.T) {
	s := &server{content: content(), cuts: 1, etag: `"v1"`}
	url, dir := start(t, s), t.TempDir()
	file := File{Name: "x", URL: url + "/x", SHA256: sum(s.content)}
	must.Fail(new(Fetcher).Fetch(context.Background(), file, dir))(t, "continue", "an interrupted transfer")
	must.Equal(t, must.Get(os.Stat(filepath.Join(dir, "x.part")))(t).Size(), 32768, "bytes of the part")
	if r, err := new(Fetcher).Fetch(context.Background(), file, dir); err != nil || !r.Checked {
		t.Errorf("got %+v, %v", r, err)
	}
	must.Equal(t, s.requests[1], "bytes=32768-", "ranges")
}

// A file that changed on the server between two calls is fetched anew.
func TestFetchNewVersion(t *testing.T) {
	s := &server{content: content(), cuts: 1, etag: `"v1"`}
	url, dir := start(t, s), t.TempDir()
	must.Err(new(Fetcher).Fetch(context.Background(), File{Name: "x", URL: url + "/x"}, dir))(t, "the first call must be interrupted")
	s.content, s.etag = bytes.Repeat([]byte("new"), 30000), `"v2"`
	r, err := new(Fetcher).Fetch(context.Background(), File{Name: "x", URL: url + "/x"}, dir)
	if err != nil || r.SHA256 != sum(s.content) || r.Checked {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestFetchErrors(t *testing.T) {
	data := content()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for _, c := range []struct {
		name   string
		server server
		file   File
		want   error
		text   string
	}{
		{"wrong hash", server{content: data}, File{SHA256: sum([]byte("other"))}, ErrWrongContent, "no file was kept"},
		{"404", server{status: http.StatusNotFound}, File{}, nil, "404"},
		{"503", server{status: http.StatusServiceUnavailable}, File{}, nil, "503"},
		{"offline", server{}, File{URL: gone.URL + "/x"}, ErrUnreachable, "HTTPS_PROXY"},
		{"no address", server{}, File{URL: "none"}, ErrNoAddress, ""},
		{"no zip", server{content: data}, File{URL: "/x.zip", Member: "m"}, ErrWrongContent, "damaged"},
		{"no bzip2", server{content: data}, File{URL: "/x.bz2"}, ErrWrongContent, "damaged"},
		{"damaged gzip", server{content: []byte("\x1f\x8b\x08garbage")}, File{}, ErrWrongContent, "damaged"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			url := start(t, &c.server)
			c.file.Name = "x"
			switch {
			case c.file.URL == "none":
				c.file.URL = ""
			case !strings.HasPrefix(c.file.URL, "http"):
				c.file.URL = url + c.file.URL
			}
			f := Fetcher{Client: &http.Client{Timeout: 10 * time.Second}}
			_, err := f.Fetch(context.Background(), c.file, dir)
			if err == nil || !strings.Contains(err.Error(), c.text) || c.want != nil && !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v: %q", err, c.want, c.text)
			}
			must.Err(os.Stat(filepath.Join(dir, "x")))(t, "a file was kept under its name")
			if errors.Is(err, ErrWrongContent) {
				must.Equal(t, len(must.Get(os.ReadDir(dir))(t)), 0, "files of the folder")
			}
		})
	}
}

// A file in the cache with other content is an error, not silently used.
func TestFetchChecksTheCache(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(dir, "x"), []byte("other"), 0o600))
	must.Fail(new(Fetcher).Fetch(context.Background(), File{Name: "x", URL: "http://localhost/x", SHA256: sum(content())}, dir))(t, must.All{ErrWrongContent, "delete"})
}

func TestFetchUnpacks(t *testing.T) {
	var z bytes.Buffer
	w := zip.NewWriter(&z)
	m := must.Get(w.Create("bank-full.csv"))(t)
	must.Get(m.Write(content()))(t)
	must.Do(t, w.Close())
	bz2 := must.Get(hex.DecodeString("425a6839314159265359b241ad9200000259800010400010001a21c410200022000c840d03403407993a78143e2ee48a70a12164835b24"))(t)
	var g bytes.Buffer
	gz := gzip.NewWriter(&g)
	must.Get(gz.Write(content()))(t)
	must.Do(t, gz.Close())
	for name, c := range map[string]struct {
		packed []byte
		want   string
	}{"/bank.zip": {z.Bytes(), sum(content())}, "/a.bz2": {bz2, ""}, "/a.gz": {g.Bytes(), sum(content())}} {
		s := &server{content: c.packed}
		f := Fetcher{Mirror: start(t, s)}
		r := must.Get(f.Fetch(context.Background(), File{Name: "x", URL: "https://example.invalid" + name, Member: "bank-full.csv", SHA256: c.want}, t.TempDir()))(t, name)
		got := must.Get(os.ReadFile(r.Path))(t)
		switch name {
		case "/bank.zip":
			must.Same(t, got, content(), "the member")
		case "/a.gz":
			if !bytes.Equal(got, c.packed) || r.Bytes != int64(len(content())) {
				t.Error("gzip must stay, and its content be counted")
			}
		default:
			must.Equal(t, r.Bytes, 15, "bzip2: bytes of %q", got)
		}
	}
}

func TestFetchCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s := &server{content: content()}
	must.Fail((&Fetcher{Retries: 3, Pause: time.Hour}).Fetch(ctx, File{Name: "x", URL: start(t, s) + "/x"}, t.TempDir()))(t, context.Canceled)
}
