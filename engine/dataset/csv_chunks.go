package dataset

import (
	"bytes"
	"io"
	"runtime"

	"dyad/engine/dataset/csv"
	"dyad/engine/dataset/schema"
	"dyad/engine/dataset/source"
	"dyad/internal/tasks"
)

// addChunks adds the remaining rows of a file. Chunks are encoded in parallel and added in order by the calling
// goroutine. The same goroutine reads the file, so no read happens after addChunks returns.
func (t *table) addChunks(l *layout, src *source.Lines) error {
	workers, plan := runtime.GOMAXPROCS(0), t.plan(l)
	cutter := t.csvReader(src).Cutter()
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
			c.text, c.line, c.end = cutter.Next(c.text)
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

// reader returns a CSV reader of the rows of a chunk.
func (c *csvChunk) reader(t *table, src *source.Lines) *csv.Reader {
	return t.csvReader(src.Part(c.text, c.line, c.end))
}

// encodeChunk encodes features and labels into a table of the chunk's own. For fields that depend on earlier
// rows it stores the texts.
func (t *table) encodeChunk(l *layout, plan *csvPlan, src *source.Lines, c *csvChunk) {
	if c.part == nil {
		c.part = newTable(t.name, t.e, Options{Labels: t.o.Labels, Persons: IgnorePersons}, nil)
		c.part.hasLabels = t.hasLabels
	}
	p := c.part
	p.rows, p.seen, p.positives = 0, 0, 0
	if lines := bytes.Count(c.text, []byte{'\n'}) + 1; p.dense != nil && lines*t.e.Dim() <= cap(p.dense.last) {
		p.dense.reset()
		p.label.reset()
	} else {
		p.allocate(source.Sizes{Rows: lines, Bytes: int64(len(c.text))}, len(l.fields))
	}
	c.numbers, c.texts, c.ends, c.broken = c.numbers[:0], c.texts[:0], c.ends[:0], true
	identifies := l.identifies()
	anonymous := l.anonymous()
	if bytes.IndexByte(c.text, '"') >= 0 {
		plan = nil
	}
	for r := c.reader(t, src); ; {
		line, err := r.NextLine()
		if err == nil && plan != nil {
			if !plan.addLine(p, c, line, r.Row) {
				return
			}
			continue
		}
		var row [][]byte
		if err == nil {
			row, err = r.CutFields(line)
		}
		if err == io.EOF || err == nil && len(row) != len(l.fields) {
			c.broken = err == nil
			return
		}
		rows := p.rows
		if err != nil || p.addRow(anonymous, row, nil, r.Row) != nil {
			return
		}
		if identifies && p.rows > rows {
			c.numbers = append(c.numbers, r.Row)
			for i, f := range l.fields {
				if identity(f.role) {
					c.texts = append(c.texts, row[i]...)
					c.ends = append(c.ends, len(c.texts))
				}
			}
		}
	}
}

// anonymous returns a copy of l without ids, groups and persons.
func (l *layout) anonymous() *layout {
	out := *l
	out.fields = append([]field(nil), l.fields...)
	for i := range out.fields {
		if identity(out.fields[i].role) {
			out.fields[i].role = schema.RoleIgnore
		}
	}
	return &out
}

// addChunk adds the rows of an encoded chunk.
func (t *table) addChunk(l *layout, src *source.Lines, c *csvChunk) error {
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
