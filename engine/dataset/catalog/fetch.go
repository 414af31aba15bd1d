package catalog

import (
	"archive/zip"
	"compress/bzip2"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"dyad/internal/create"
)

// Errors returned by Fetch.
var (
	// ErrUnreachable means that the server cannot be reached.
	ErrUnreachable = errors.New("catalog: cannot reach the server")
	// ErrWrongContent means that the downloaded bytes differ from the file of the catalogue.
	ErrWrongContent = errors.New("catalog: wrong content")
	// ErrNoAddress means that the file has no public address.
	ErrNoAddress = errors.New("catalog: no public address")
)

// Fetcher downloads files. The zero value is ready to use.
type Fetcher struct {
	// Client sends the requests. If it is nil, a client is used that honours HTTP_PROXY and HTTPS_PROXY and
	// waits at most one minute for a response.
	Client *http.Client
	// Mirror, if set, is the address of a folder with copies of the files. A file's name there is the last part
	// of its original address.
	Mirror string
	// Progress, if not nil, is called with the number of bytes received and the total number, which is 0 if unknown.
	Progress func(done, total int64)
	// Retries is the number of further attempts after an interrupted transfer. Each attempt continues where the
	// transfer stopped, after waiting for Pause.
	Retries int
	Pause   time.Duration
}

// Result describes a file in the cache.
type Result struct {
	Path    string `json:"path"`
	SHA256  string `json:"sha256"`  // SHA-256 of the uncompressed bytes, in hex
	Bytes   int64  `json:"bytes"`   // number of uncompressed bytes
	Checked bool   `json:"checked"` // the SHA-256 agrees with the catalogue
	Cached  bool   `json:"cached"`  // the file was already in the cache
}

// Fetch makes sure that folder dir has the file. It downloads a missing file under a name that ends in .part,
// checks it, unpacks it and then renames it. If a .part file exists already, the download continues it. A file
// with wrong content is never kept under its final name.
func (f *Fetcher) Fetch(ctx context.Context, file File, dir string) (Result, error) {
	final := filepath.Join(dir, file.Name)
	if _, err := os.Stat(final); err == nil {
		r, err := check(file, final)
		r.Path, r.Cached = final, true
		if errors.Is(err, ErrWrongContent) {
			err = fmt.Errorf("%w; delete %s to fetch it again", err, final)
		}
		return r, err
	}
	address := file.URL
	if address == "" {
		return Result{}, fmt.Errorf("%w: %s", ErrNoAddress, file.Name)
	}
	if f.Mirror != "" {
		address = strings.TrimSuffix(f.Mirror, "/") + "/" + path.Base(file.URL)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return Result{}, fmt.Errorf("catalog: cannot create the cache: %w", err)
	}
	part := final + ".part"
	if err := f.download(ctx, address, part, final); err != nil {
		return Result{}, err
	}
	ready := part
	if file.packing() != "" {
		ready = final + ".unpacked"
		defer os.Remove(ready)
		if err := unpack(file, part, ready); err != nil {
			discard(part)
			return Result{}, fmt.Errorf("%w: %s is damaged: %w; fetch it again", ErrWrongContent, address, err)
		}
	}
	r, err := check(file, ready)
	if err != nil {
		discard(part)
		return Result{}, fmt.Errorf("%w (downloaded from %s; no file was kept)", err, address)
	}
	if err := os.Rename(ready, final); err != nil {
		return Result{}, fmt.Errorf("catalog: %w", err)
	}
	discard(part)
	r.Path = final
	return r, nil
}

// check compares a file with the catalogue.
func check(file File, path string) (Result, error) {
	sum, size, err := Hash(path)
	if err != nil {
		return Result{}, fmt.Errorf("%w: %w", ErrWrongContent, err)
	}
	r := Result{SHA256: sum, Bytes: size}
	switch {
	case !file.Known():
	case !strings.EqualFold(sum, file.SHA256):
		return r, fmt.Errorf("%w: %s has SHA-256 %s, want %s", ErrWrongContent, file.Name, sum, file.SHA256)
	default:
		r.Checked = true
	}
	return r, nil
}

// tagFile returns the name of the file that stores the version (ETag) of a partial download.
func tagFile(part string) string { return part + ".etag" }

func discard(part string) {
	os.Remove(part)
	os.Remove(tagFile(part))
}

func (f *Fetcher) download(ctx context.Context, address, part, final string) error {
	for attempt := 0; ; attempt++ {
		again, err := f.transfer(ctx, address, part)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, ErrUnreachable):
			return fmt.Errorf("%w; repeat the command when online, or save %s as %s", err, address, final)
		case !again:
			return err
		case attempt >= f.Retries:
			return fmt.Errorf("%w; run the same command again to continue, or save %s as %s yourself", err, address, final)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(f.Pause):
		}
	}
}

func (f *Fetcher) client() *http.Client {
	if f.Client != nil {
		return f.Client
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.ResponseHeaderTimeout = time.Minute
	return &http.Client{Transport: t}
}

// transfer downloads the missing bytes and appends them to part. again reports whether another attempt may help.
func (f *Fetcher) transfer(ctx context.Context, address, part string) (again bool, err error) {
	out, err := create.Kept(part, 0o644)
	if err != nil {
		return false, fmt.Errorf("catalog: %w", err)
	}
	defer out.Close()
	have, err := out.Seek(0, io.SeekEnd)
	if err != nil {
		return false, fmt.Errorf("catalog: %w", err)
	}
	tag, _ := os.ReadFile(tagFile(part))
	if len(tag) == 0 && have > 0 { // the version of this part is unknown
		have = 0
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return false, fmt.Errorf("catalog: %w", err)
	}
	request.Header.Set("Accept-Encoding", "identity") // without a content encoding
	if have > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", have))
		request.Header.Set("If-Range", string(tag))
	}
	response, err := f.client().Do(request)
	if err != nil {
		return false, unreachable(address, err)
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusPartialContent:
		if !strings.HasPrefix(response.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", have)) || have == 0 {
			discard(part)
			return true, fmt.Errorf("catalog: %s sent a part of the file that was not requested", address)
		}
	case http.StatusOK:
		have = 0
	case http.StatusRequestedRangeNotSatisfiable:
		discard(part)
		return true, fmt.Errorf("catalog: %s cannot continue the partial download, which was discarded", address)
	default:
		again := response.StatusCode >= 500 || response.StatusCode == http.StatusTooManyRequests
		return again, fmt.Errorf("catalog: %s answered %q; the address may have changed; see the page of the data set",
			address, response.Status)
	}
	if err := errors.Join(out.Truncate(have), saveTag(part, response.Header)); err != nil {
		return false, fmt.Errorf("catalog: %w", err)
	}
	if _, err := out.Seek(have, io.SeekStart); err != nil {
		return false, fmt.Errorf("catalog: %w", err)
	}
	total := int64(0)
	if response.ContentLength >= 0 {
		total = have + response.ContentLength
	}
	if _, err := io.Copy(&meter{w: out, done: have, total: total, report: f.Progress}, response.Body); err != nil {
		var full *os.PathError
		if errors.As(err, &full) {
			return false, fmt.Errorf("catalog: %w", err)
		}
		return true, fmt.Errorf("catalog: the transfer from %s was interrupted: %w", address, err)
	}
	if err := errors.Join(out.Sync(), out.Close()); err != nil {
		return false, fmt.Errorf("catalog: %w", err)
	}
	return false, nil
}

// saveTag stores the ETag, with which a later Range request asks for the same version. A weak ETag is not
// stored, because it does not guarantee identical bytes (RFC 9110, 13.1.5).
func saveTag(part string, h http.Header) error {
	tag := h.Get("ETag")
	if tag == "" || strings.HasPrefix(tag, "W/") {
		tag = h.Get("Last-Modified")
	}
	f, err := create.Kept(tagFile(part), 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(tag)
	return errors.Join(err, f.Truncate(int64(len(tag))), f.Close())
}

func unreachable(address string, err error) error {
	host := address
	if u, parseErr := url.Parse(address); parseErr == nil {
		host = u.Host
	}
	var inner *url.Error
	if errors.As(err, &inner) {
		err = inner.Err
	}
	return fmt.Errorf("%w: %s: %w; behind a proxy, set HTTPS_PROXY", ErrUnreachable, host, err)
}

// meter is a writer that reports the number of bytes written.
type meter struct {
	w           io.Writer
	done, total int64
	report      func(done, total int64)
}

func (m *meter) Write(b []byte) (int, error) {
	n, err := m.w.Write(b)
	m.done += int64(n)
	if m.report != nil {
		m.report(m.done, m.total)
	}
	return n, err
}

// maxUnpacked is the largest accepted size of an unpacked file, in bytes.
const maxUnpacked = 16 << 30

// unpack writes the content of the packed file to the file ready.
func unpack(file File, packed, ready string) (err error) {
	_ = os.Remove(ready) // a killed program may have left the file
	out, err := create.New(ready, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	in, err := os.Open(packed)
	if err != nil {
		return err
	}
	defer in.Close()
	var content io.Reader = bzip2.NewReader(in)
	if file.packing() == ".zip" {
		info, err := in.Stat()
		if err != nil {
			return err
		}
		archive, err := zip.NewReader(in, info.Size())
		if err != nil {
			return err
		}
		member, err := archive.Open(file.Member)
		if err != nil {
			return err
		}
		defer member.Close()
		content = member
	}
	n, err := io.Copy(out, io.LimitReader(content, maxUnpacked))
	if err == nil && n == maxUnpacked {
		err = fmt.Errorf("more than %d bytes", int64(maxUnpacked))
	}
	return err
}
