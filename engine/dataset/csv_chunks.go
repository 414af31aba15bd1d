package dataset

import (
	"bytes"
	"io"
	"runtime"

	"dyad/internal/tasks"
)

// csvChunkBytes is the text of a chunk, unless a row is longer; text and records stay in
// the cache of a processor.
const csvChunkBytes = 1 << 16

// csvChunk is whole rows of a file, which a worker encodes.
type csvChunk struct {
	text []byte
	line int   // lines before it
	end  error // what follows the text: nil for another chunk, io.EOF or an error of reading
	done chan struct{}

	// What a worker makes of it, unless a row breaks a rule: then broken is set and the
	// rows are read again in order, which says what is wrong first.
	part    *table
	broken  bool
	numbers []int // of the rows, if they have ids, groups or persons
	texts   []byte
	ends    []int // in texts, of these fields of each row
	labels  labelMemo
}

// csvCutter cuts a file at the ends of rows.
type csvCutter struct {
	src  *source
	rows *csvReader // says what a row is
	rest []byte     // read and not handed out yet
}

// next fills a chunk.
func (k *csvCutter) next(c *csvChunk) {
	buffer := append(c.text[:0], k.rest...)
	for size := csvChunkBytes; ; size *= 2 {
		buffer, c.end = k.read(buffer, size)
		cut := len(buffer)
		if c.end == nil {
			var long bool
			if cut, long = k.rows.cut(buffer); cut == 0 && !long {
				continue
			} else if long && cut == 0 {
				cut = len(buffer) // holds the row that is too long
			}
		}
		c.text, c.line = buffer[:cut], k.src.line
		k.src.line += bytes.Count(c.text, []byte{'\n'})
		k.rest = append(k.rest[:0], buffer[cut:]...)
		return
	}
}

// read reads until there are size bytes, or to the end.
func (k *csvCutter) read(b []byte, size int) ([]byte, error) {
	if cap(b) < size {
		b = append(make([]byte, 0, size), b...)
	}
	for len(b) < size {
		n, err := k.src.r.Read(b[len(b):size])
		if b = b[:len(b)+n]; err != nil {
			return b, err
		}
	}
	return b, nil
}

// cut is the length of the whole rows of a text that goes on. long says that the row after
// them is longer than a row may be.
func (r *csvReader) cut(text []byte) (end int, long bool) {
	if bytes.IndexByte(text, '"') < 0 {
		end = bytes.LastIndexByte(text, '\n') + 1
		return end, len(text)-end > maxRowBytes
	}
	for at, open, length := 0, atStart, 0; ; {
		k := bytes.IndexByte(text[at:], '\n')
		if k < 0 {
			return end, len(text)-at > maxRowBytes || length > maxRowBytes
		}
		line := bytes.TrimSuffix(text[at:at+k], []byte{'\r'})
		if open == quoted || bytes.IndexByte(line, '"') >= 0 && !r.isComment(line) {
			open = r.scan(open, line)
		}
		at, length = at+k+1, length+len(line)+1
		if open != quoted {
			end, open, length = at, atStart, 0
		}
	}
}

// addChunks adds the rest of a file. Chunks are encoded in parallel and added in order by
// this goroutine, which also reads the file, so that nothing is read after it returns.
func (t *table) addChunks(l *layout, src *source) error {
	workers, plan := runtime.GOMAXPROCS(0), t.plan(l)
	cutter := &csvCutter{src: src, rows: newCSVReader(src, &t.e.schema.CSV)}
	todo := make(chan *csvChunk, 2*workers)
	var all tasks.Group
	defer all.Wait()
	defer close(todo)
	for range workers {
		all.Go(func() {
			for c := range todo {
				all.Try(func() { t.encodeChunk(l, plan, src, c) })
				close(c.done)
			}
		})
	}
	var free, queue []*csvChunk // in the order of the file
	for more := true; more || len(queue) > 0; {
		if more && len(queue) < 2*workers {
			c := &csvChunk{}
			if n := len(free); n > 0 {
				c, free = free[n-1], free[:n-1]
			}
			cutter.next(c)
			c.done = make(chan struct{})
			todo <- c
			queue, more = append(queue, c), c.end == nil
			continue
		}
		c := queue[0]
		queue = queue[1:]
		<-c.done
		if err := t.addChunk(l, src, c); err != nil {
			return err
		}
		free = append(free, c)
	}
	return nil
}

// reader reads the rows of a chunk.
func (c *csvChunk) reader(t *table, src *source) *csvReader {
	return newCSVReader(&source{name: src.name, r: src.r, line: c.line, block: c.text, end: c.end, blocked: true}, &t.e.schema.CSV)
}

// encodeChunk encodes features and labels with a table of the chunk's own and keeps the
// texts of what depends on the rows before.
func (t *table) encodeChunk(l *layout, plan *csvPlan, src *source, c *csvChunk) {
	if c.part == nil {
		c.part = newTable(t.name, t.e, Options{Labels: t.o.Labels, Persons: IgnorePersons}, nil)
		c.part.hasLabels = t.hasLabels
	}
	p := c.part
	p.rows, p.seen, p.positives = 0, 0, 0
	if lines := bytes.Count(c.text, []byte{'\n'}) + 1; p.dense != nil && lines*t.e.dim <= cap(p.dense.last) {
		p.dense.reset()
		p.label.reset()
	} else {
		p.allocate(sizes{rows: lines, bytes: int64(len(c.text))}, len(l.fields))
	}
	c.numbers, c.texts, c.ends, c.broken = c.numbers[:0], c.texts[:0], c.ends[:0], true
	identifies := l.identifies()
	anonymous := l.anonymous()
	if bytes.IndexByte(c.text, '"') >= 0 {
		plan = nil
	}
	for r := c.reader(t, src); ; {
		line, err := r.nextLine()
		if err == nil && plan != nil {
			if !plan.addLine(p, c, line, r.row) {
				return
			}
			continue
		}
		var row [][]byte
		if err == nil {
			row, err = r.cutFields(line)
		}
		if err == io.EOF || err == nil && len(row) != len(l.fields) {
			c.broken = err == nil
			return
		}
		rows := p.rows
		if err != nil || p.addRow(anonymous, row, nil, r.row) != nil {
			return
		}
		if identifies && p.rows > rows {
			c.numbers = append(c.numbers, r.row)
			for i, f := range l.fields {
				if identity(f.role) {
					c.texts = append(c.texts, row[i]...)
					c.ends = append(c.ends, len(c.texts))
				}
			}
		}
	}
}

// anonymous is l without ids, groups and persons.
func (l *layout) anonymous() *layout {
	out := *l
	out.fields = append([]field(nil), l.fields...)
	for i := range out.fields {
		if identity(out.fields[i].role) {
			out.fields[i].role = RoleIgnore
		}
	}
	return &out
}

// addChunk adds the rows of a chunk that was encoded.
func (t *table) addChunk(l *layout, src *source, c *csvChunk) error {
	if c.broken {
		return t.addCSVRows(l, c.reader(t, src))
	}
	t.dense.append(c.part.dense)
	t.label.append(c.part.label)
	t.rows += c.part.rows
	t.positives += c.part.positives
	if err := t.flush(flushFloats); err != nil {
		return err
	}
	begin, at := 0, 0
	for _, number := range c.numbers {
		for i, f := range l.fields {
			if !identity(f.role) {
				continue
			}
			if err := t.addIdentity(f.role, c.texts[begin:c.ends[at]], number, i+1); err != nil {
				return err
			}
			begin = c.ends[at]
			at++
		}
	}
	return t.count(c.part.seen)
}
